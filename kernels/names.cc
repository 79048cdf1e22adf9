// What may be called what, and where things stand.

#include <algorithm>
#include <array>

#include "kernels/document.h"
#include "kernels/expression.h"

namespace pawl {
namespace {

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::string Place::Text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }

bool IsCppKeyword(std::string_view text) {
  static constexpr std::array<std::string_view, 97> kKeywords = {
      "alignas",       "alignof",     "and",
      "and_eq",        "asm",         "auto",
      "bitand",        "bitor",       "bool",
      "break",         "case",        "catch",
      "char",          "char16_t",    "char32_t",
      "char8_t",       "class",       "co_await",
      "co_return",     "co_yield",    "compl",
      "concept",       "const",       "const_cast",
      "consteval",     "constexpr",   "constinit",
      "continue",      "decltype",    "default",
      "delete",        "do",          "double",
      "dynamic_cast",  "else",        "enum",
      "explicit",      "export",      "extern",
      "false",         "float",       "for",
      "friend",        "goto",        "if",
      "inline",        "int",         "long",
      "mutable",       "namespace",   "new",
      "noexcept",      "not",         "not_eq",
      "nullptr",       "operator",    "or",
      "or_eq",         "private",     "protected",
      "public",        "register",    "reinterpret_cast",
      "requires",      "return",      "short",
      "signed",        "sizeof",      "static",
      "static_assert", "static_cast", "struct",
      "switch",        "template",    "this",
      "thread_local",  "throw",       "true",
      "try",           "typedef",     "typeid",
      "typename",      "union",       "unsigned",
      "using",         "virtual",     "void",
      "volatile",      "wchar_t",     "while",
      "xor",           "xor_eq",      "main",
      "linux",         "unix",        "NULL",
      "assert"};
  return std::find(kKeywords.begin(), kKeywords.end(), text) != kKeywords.end();
}

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > 64 || !IsWordStart(text.front())) return false;
  for (const char c : text) {
    if (!IsWordStart(c) && !(c >= '0' && c <= '9')) return false;
  }
  return !IsCppKeyword(text) && text != "min" && text != "max" && text != "ceil_div";
}

std::string OneLine(std::string message) {
  std::replace_if(
      message.begin(), message.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  return message;
}

std::string Nearest(std::string_view name, const std::vector<std::string>& known) {
  // Edit distance with transpositions; a name is near when no more than a third of it differs.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::size_t differ = a[i - 1] == b[j - 1] ? 0 : 1;
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differ});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return d[a.size()][b.size()];
  };
  constexpr std::size_t kLongestCompared = 64;
  std::string nearest;
  if (name.size() > kLongestCompared) return nearest;
  std::size_t least = std::max<std::size_t>(1, (name.size() + 2) / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t differs = distance(name, candidate);
    if (differs < least && differs < std::max(name.size(), candidate.size())) {
      least = differs;
      nearest = candidate;
    }
  }
  return nearest;
}

std::size_t Scope::Add(std::string_view name) {
  const auto [entry, added] = slots_.try_emplace(std::string(name), names_.size());
  if (added) names_.emplace_back(name);
  return entry->second;
}

std::size_t Scope::AddWord(std::string_view name, const std::vector<std::string>& words) {
  const std::size_t slot = Add(name);
  words_of_[slot] = words;
  for (const std::string& word : words) Word(word);
  return slot;
}

std::optional<std::size_t> Scope::Find(std::string_view name) const {
  const auto entry = slots_.find(name);
  if (entry == slots_.end()) return std::nullopt;
  return entry->second;
}

std::int64_t Scope::Word(std::string_view word) {
  return words_.try_emplace(std::string(word), static_cast<std::int64_t>(words_.size()))
      .first->second;
}

std::optional<std::int64_t> Scope::FindWord(std::string_view word) const {
  const auto entry = words_.find(word);
  if (entry == words_.end()) return std::nullopt;
  return entry->second;
}

const std::vector<std::string>* Scope::WordsOf(std::size_t slot) const {
  const auto entry = words_of_.find(slot);
  return entry == words_of_.end() ? nullptr : &entry->second;
}

std::string Scope::Text(std::size_t slot, std::int64_t value) const {
  if (WordsOf(slot) != nullptr) {
    for (const auto& [word, number] : words_) {
      if (number == value) return word;
    }
  }
  return std::to_string(value);
}

}  // namespace pawl
