// Knob values and configurations.

#include "schema/codec_bytes.h"
#include "schema/codec_private.h"

namespace pawl::codec {
namespace {

constexpr std::size_t kMaxTupleParts = 8;

void WriteSetting(const Setting& value, wire::Setting::Builder out) {
  out.setKnob(AsText(value.knob));
  WriteKnobValue(value.value, out.initValue());
}

Setting ReadSetting(wire::Setting::Reader in, const Place& at) {
  Setting value;
  value.knob = (at / "knob").Word(in.getKnob());
  value.value = ReadKnobValue(in.getValue(), at / "value");
  return value;
}

}  // namespace

void WriteKnobValue(const KnobValue& value, wire::KnobValue::Builder out) {
  struct Visitor {
    wire::KnobValue::Builder out;
    void operator()(bool flag) { out.setFlag(flag); }
    void operator()(std::int64_t number) { out.setNumber(number); }
    void operator()(const std::string& word) { out.setWord(AsText(word)); }
    void operator()(const Tuple& tuple) { SetList(tuple, out.initTuple(Size(tuple.size()))); }
  };
  std::visit(Visitor{out}, value);
}

KnobValue ReadKnobValue(wire::KnobValue::Reader in, const Place& at) {
  switch (in.which()) {
    case wire::KnobValue::FLAG:
      return in.getFlag();
    case wire::KnobValue::NUMBER:
      return in.getNumber();
    case wire::KnobValue::WORD:
      return at.Word(in.getWord());
    case wire::KnobValue::TUPLE:
      return ReadList(in.getTuple(), at, 1, kMaxTupleParts,
                      [](std::int64_t part, const Place&) { return part; });
  }
  at.Refuse("of an unknown kind", "a flag, a number, a word or a tuple");
  return false;
}

void WriteConfiguration(const Configuration& value, capnp::List<wire::Setting>::Builder out) {
  WriteList(value.settings, out, WriteSetting);
}

Configuration ReadConfiguration(capnp::List<wire::Setting>::Reader in, const Place& at) {
  Configuration value;
  value.settings = ReadList(in, at, 0, kMaxKnobs, ReadSetting);
  RefuseRepeats(value.settings, at, "knob", [](const Setting& setting) { return setting.knob; });
  return value;
}

}  // namespace pawl::codec
