#pragma once
// What the codec's own files share; nothing else may include it.
//
// Read* takes a Cap'n Proto reader and the Place it stands at, and returns a value type. What is
// not allowed is noted once, for the whole payload, with its place; reading then goes on with
// harmless values to its end, and Unpack (codec_bytes.h) returns the error instead of the value.
// Write* is the other direction.

#include <capnp/message.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schema/configuration.h"
#include "schema/digest.h"
#include "schema/event.h"
#include "schema/message.h"
#include "schema/order.capnp.h"
#include "schema/order.h"
#include "schema/report.capnp.h"
#include "schema/report.h"

namespace pawl::codec {

// Bytes of text and elements of lists.
inline constexpr std::size_t kMaxNameBytes =
    128;  // of one name: a worker, a knob, a kernel, a file
inline constexpr std::size_t kMaxLineBytes = 4096;  // of one line for people
inline constexpr std::size_t kMaxLogBytes = 4096;   // of a compiler's output
inline constexpr std::size_t kMaxKnobs = 128;
inline constexpr std::size_t kMaxArms = 16;
inline constexpr std::size_t kMaxInputSets = 64;
inline constexpr std::size_t kMaxRounds = 4096;
inline constexpr std::size_t kMaxVisits = 256;          // of one round
inline constexpr std::size_t kMaxOrderVisits = 16'384;  // of all rounds: their report fits the link
inline constexpr std::uint32_t kMaxDurationMs = 7 * 24 * 3'600'000;

// "order.arms[2].source": names, built only when something is refused.
class Place {
 public:
  // `problem` receives the first refusal below this root.
  Place(const char* root, std::optional<std::string>* problem) : name_(root), problem_(problem) {}

  // A place holds on to the one it was made from, so it is never made from a temporary.
  Place operator/(const char* field) const& { return Place(this, field, 0); }
  Place operator[](std::size_t index) const& { return Place(this, nullptr, index); }
  Place operator/(const char* field) const&& = delete;
  Place operator[](std::size_t index) const&& = delete;

  bool failed() const { return problem_->has_value(); }
  std::string Path() const;
  void Refuse(std::string_view seen, std::string_view allowed) const;

  // Each returns its argument, or a harmless value once it has refused it.
  template <typename Int>
  Int Within(Int value, std::type_identity_t<Int> low, std::type_identity_t<Int> high) const {
    if (value >= low && value <= high) return value;
    RefuseNumber(std::to_string(value), std::to_string(low), std::to_string(high));
    return low;
  }
  // Below `count`, the number of `what`.
  std::uint32_t Index(std::uint32_t value, std::size_t count, const char* what) const;
  // Numbered from 1.
  template <typename Id>
  Id Counted(decltype(Id::value) value) const {
    if (value == 0) Refuse("0", "1 or above");
    return Id(value);
  }
  double Finite(double value) const;
  double Positive(double value) const;     // above 0, finite
  double NotNegative(double value) const;  // 0 or above, finite
  double NotNegativeOrInfinite(double value) const;
  std::size_t Count(std::size_t count, std::size_t low, std::size_t high) const;  // 0 once refused

  // A Cap'n Proto enumerator's number is the value type's; `last` is the last one known.
  template <typename Enum, typename Wire>
  Enum Known(Wire wire, Enum last) const {
    return static_cast<Enum>(
        Enumerator(static_cast<std::uint16_t>(wire), static_cast<std::uint16_t>(last)));
  }

  std::string Identifier(capnp::Text::Reader text) const;  // [A-Za-z_][A-Za-z0-9_]*
  std::string Word(capnp::Text::Reader text) const;        // printable ASCII, no blank, not empty
  std::string WordOrNothing(capnp::Text::Reader text) const;
  std::string FileName(capnp::Text::Reader text) const;    // [A-Za-z0-9._+-], no dot in front
  std::string FilePath(capnp::Text::Reader text) const;    // file names with '/' between them
  std::string LedgerName(capnp::Text::Reader text) const;  // 32 lower-case hex digits
  std::string Line(capnp::Text::Reader text) const;        // UTF-8, no control characters
  std::string NotEmptyLine(capnp::Text::Reader text) const;
  std::string Lines(capnp::Text::Reader text) const;  // also '\n' and '\t'
  std::string Bytes(capnp::Data::Reader bytes, std::size_t most) const;
  Digest AnyDigest(capnp::Data::Reader bytes) const;  // empty: zero

 private:
  Place(const Place* parent, const char* name, std::size_t index)
      : parent_(parent), name_(name), index_(index), problem_(parent->problem_) {}

  std::uint16_t Enumerator(std::uint16_t value, std::uint16_t last) const;
  void RefuseNumber(const std::string& seen, const std::string& low, const std::string& high) const;

  const Place* parent_ = nullptr;
  const char* name_ = nullptr;  // nullptr: an index
  std::size_t index_ = 0;
  std::optional<std::string>* problem_;
};

// The list's elements by `read(element, place)`, or nothing once the count is refused.
template <typename List, typename Read>
auto ReadList(List list, const Place& at, std::size_t low, std::size_t high, Read read) {
  using Value = decltype(read(list[0], at));
  std::vector<Value> values;
  const std::size_t count = at.Count(list.size(), low, high);
  values.reserve(count);
  for (std::size_t i = 0; i < count && !at.failed(); ++i) {
    values.push_back(read(list[static_cast<unsigned>(i)], at[i]));
  }
  return values;
}

template <typename Values, typename List, typename Write>
void WriteList(const Values& values, List list, Write write) {
  unsigned i = 0;
  for (const auto& value : values) write(value, list[i++]);
}

// For lists of numbers.
template <typename Values, typename List>
void SetList(const Values& values, List list) {
  unsigned i = 0;
  for (const auto& value : values) list.set(i++, value);
}

// Refuses the second of two elements with equal keys. For short lists.
template <typename Values, typename Key>
void RefuseRepeats(const Values& values, const Place& at, const char* field, Key key) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (key(values[i]) == key(values[j])) {
        const Place element = at[i];
        (element / field).Refuse('\'' + std::string(key(values[i])) + '\'', "each only once");
        return;
      }
    }
  }
}

// Of an order's arms: one of each role, and any number of rivals.
template <typename Values, typename Role>
void RefuseRepeatedRoles(const Values& values, const Place& at, Role role) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned bit = 1u << static_cast<unsigned>(role(values[i]));
    if ((seen & bit) != 0 && role(values[i]) != ArmRole::kRival) {
      at[i].Refuse("a second " + std::string(Name(role(values[i]))),
                   "one arm of each role but rival");
      return;
    }
    seen |= bit;
  }
}

// Names are written as they are and refused by the reader where they are none. Text for people
// comes from compilers, drivers and exceptions, so it is made fit instead: what is no UTF-8 becomes
// '?', what is a control character a blank, and what is too long is cut and ends in "...".
std::string FitLine(std::string_view text);
std::string FitLines(std::string_view text);

inline capnp::Text::Reader AsText(const std::string& text) { return {text.c_str(), text.size()}; }
inline capnp::Data::Reader AsData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
inline unsigned Size(std::size_t count) { return static_cast<unsigned>(count); }

// Calls set(data) unless the digest is zero.
template <typename Set>
void WriteDigest(const Digest& digest, Set set) {
  if (!digest.IsZero()) set(capnp::Data::Reader(digest.bytes.data(), digest.bytes.size()));
}

// codec_configuration.cc
void WriteKnobValue(const KnobValue& value, wire::KnobValue::Builder out);
KnobValue ReadKnobValue(wire::KnobValue::Reader in, const Place& at);
void WriteConfiguration(const Configuration& value, capnp::List<wire::Setting>::Builder out);
Configuration ReadConfiguration(capnp::List<wire::Setting>::Reader in, const Place& at);

// codec_launch.cc
// What the arguments of a launch may point into.
struct Targets {
  const std::vector<Buffer>& buffers;
  std::size_t scalars = 0;
  std::size_t scratch = 0;
};
void WriteLaunch(const Launch& value, wire::Launch::Builder out);
Launch ReadLaunch(wire::Launch::Reader in, const Place& at, const Targets& targets);

// codec_order.cc
void WriteScalars(const std::vector<Scalar>& value, capnp::List<wire::Scalar>::Builder out);
std::vector<Scalar> ReadScalars(capnp::List<wire::Scalar>::Reader in, const Place& at);
void WriteBuffers(const std::vector<Buffer>& value, capnp::List<wire::Buffer>::Builder out);
std::vector<Buffer> ReadBuffers(capnp::List<wire::Buffer>::Reader in, const Place& at);
void WriteSources(const std::vector<SourceText>& value, capnp::List<wire::SourceText>::Builder out);
std::vector<SourceText> ReadSources(capnp::List<wire::SourceText>::Reader in, const Place& at);
void WriteOptions(const std::vector<std::string>& value, capnp::List<capnp::Text>::Builder out);
std::vector<std::string> ReadOptions(capnp::List<capnp::Text>::Reader in, const Place& at);
void WriteOrder(const Order& value, wire::Order::Builder out);
Order ReadOrder(wire::Order::Reader in, const Place& at);

// For the deadlines of orders and of tracks, which are two groups of equal fields.
template <typename Builder>
void WriteDeadlines(const Deadlines& value, Builder out) {
  out.setBuildMs(value.build_ms);
  out.setCheckMs(value.check_ms);
  out.setRunMs(value.run_ms);
}
template <typename Reader>
Deadlines ReadDeadlines(Reader in, const Place& at) {
  return {(at / "build_ms").Within(in.getBuildMs(), 1, kMaxDurationMs),
          (at / "check_ms").Within(in.getCheckMs(), 1, kMaxDurationMs),
          (at / "run_ms").Within(in.getRunMs(), 1, kMaxDurationMs)};
}
std::size_t OrderWords(const Order& value);  // about what its bytes come to

// codec_report.cc
void WriteDevice(const DeviceFacts& value, wire::DeviceFacts::Builder out);
DeviceFacts ReadDevice(wire::DeviceFacts::Reader in, const Place& at);
void WriteReport(const Report& value, wire::Report::Builder out);
Report ReadReport(wire::Report::Reader in, const Place& at);

}  // namespace pawl::codec
