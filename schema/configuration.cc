#include "schema/configuration.h"

#include "schema/check.h"

namespace pawl {

std::string ToText(const KnobValue& value) {
  struct Visitor {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(const Tuple& tuple) const {
      std::string text;
      for (const std::int64_t part : tuple) {
        if (!text.empty()) text += 'x';
        text += std::to_string(part);
      }
      return text;
    }
  };
  return std::visit(Visitor{}, value);
}

const KnobValue* Configuration::Find(std::string_view knob) const {
  for (const Setting& setting : settings) {
    if (setting.knob == knob) return &setting.value;
  }
  return nullptr;
}

void Configuration::Set(std::string_view knob, KnobValue value) {
  for (Setting& setting : settings) {
    if (setting.knob == knob) {
      setting.value = std::move(value);
      return;
    }
  }
  CHECK(false, "no knob", knob, "in", Text());
}

std::string Configuration::Text() const {
  std::string text;
  for (const Setting& setting : settings) {
    if (!text.empty()) text += ' ';
    text += setting.knob + '=' + ToText(setting.value);
  }
  return text;
}

Digest Configuration::Hash() const {
  Hasher hasher;
  for (const Setting& setting : settings) {
    hasher.Field(setting.knob)
        .Field(std::to_string(setting.value.index()))
        .Field(ToText(setting.value));
  }
  return hasher.Finish();
}

}  // namespace pawl
