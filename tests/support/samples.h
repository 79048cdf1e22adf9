#pragma once
// Whole, valid values of everything that crosses the link or lies in a ledger: the same on every
// run. Each field differs from its default and from its neighbours, so that a field that is dropped
// or swapped shows.

#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/message.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/snapshot.h"

namespace pawl::test {

Configuration SampleConfiguration();  // a knob of each type
Order SampleOrder();                  // a matmul on the host: three arms, two of one source
Order SampleAudit();                  // of a cuda kernel: a memset, two launches, scratch, headers
Report SampleReport();                // that answers it
Report SampleGpuReport();             // the same, with what its GPU went through
TrackSpec SampleSpec();
TrackState SampleTrack();
Snapshot SampleSnapshot();

struct NamedMessage {
  std::string name;
  Message message;
};
std::vector<NamedMessage>
SampleMessages();  // one of each type, in order, named by it in lower case

struct NamedEvent {
  std::string name;
  Event event;
};
std::vector<NamedEvent> SampleEvents();  // one of each kind, in order

}  // namespace pawl::test
