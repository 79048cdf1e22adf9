#pragma once
// RapidCheck generators of valid values: whatever they yield, the codec takes and gives back. They
// lean towards what breaks codecs: empty lists, zeros, largest numbers, denormals, non-ASCII text.

#include <rapidcheck.h>

#include <ostream>

#include "schema/configuration.h"
#include "schema/event.h"
#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/snapshot.h"

namespace pawl::test {

rc::Gen<std::string> AnyWord();  // printable, without blanks: a name
rc::Gen<std::string> AnyLine();  // UTF-8 text for people, also empty
rc::Gen<double> AnyFinite();
rc::Gen<double> AnyPositive();
rc::Gen<Digest> AnyDigest();  // also zero
rc::Gen<KnobValue> AnyKnobValue();
rc::Gen<Configuration> AnyConfiguration();  // also empty
rc::Gen<Order> AnyOrder();
rc::Gen<Report> AnyReport();
rc::Gen<Message> AnyMessage();
rc::Gen<Message> AnyMessageOfType(std::size_t index);  // into Message
rc::Gen<TrackSpec> AnySpec();
rc::Gen<Event> AnyEvent();
rc::Gen<Snapshot> AnySnapshot();

}  // namespace pawl::test

namespace rc {

#define PAWL_ARBITRARY(Type, generator)                                    \
  template <>                                                              \
  struct Arbitrary<pawl::Type> {                                           \
    static Gen<pawl::Type> arbitrary() { return pawl::test::generator(); } \
  }
PAWL_ARBITRARY(Digest, AnyDigest);
PAWL_ARBITRARY(Configuration, AnyConfiguration);
PAWL_ARBITRARY(Order, AnyOrder);
PAWL_ARBITRARY(Report, AnyReport);
PAWL_ARBITRARY(Message, AnyMessage);
PAWL_ARBITRARY(Event, AnyEvent);
PAWL_ARBITRARY(Snapshot, AnySnapshot);
#undef PAWL_ARBITRARY

}  // namespace rc
