#include "kernels/template.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/document.h"
#include "kernels/program.h"

namespace pawl {
namespace {

constexpr std::string_view kMark = "// pawl:";
constexpr std::string_view kBegin = "// pawl: knobs";
constexpr std::string_view kEnd = "// pawl: end";

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view Trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

struct Word {
  std::string_view text;  // an identifier or number, or one other character
  int line = 0;
};

// Words outside comments and literals. Adequate for well-formed sources: a compiler has the last
// word.
std::vector<Word> WordsIn(std::string_view text, int line) {
  std::vector<Word> words;
  std::size_t at = 0;
  const auto skip_to = [&](std::size_t end) {
    end = std::min(end, text.size());
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                        text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at = end;
  };
  const auto after = [&](std::string_view what, std::size_t from) {
    const std::size_t found = text.find(what, from);
    return found == std::string_view::npos ? text.size() : found + what.size();
  };
  while (at < text.size()) {
    const char c = text[at];
    if (text.compare(at, 2, "//") == 0) {
      skip_to(std::min(text.find('\n', at), text.size()));
    } else if (text.compare(at, 2, "/*") == 0) {
      skip_to(after("*/", at + 2));
    } else if (text.compare(at, 2, "R\"") == 0) {
      const std::size_t open = std::min(text.find('(', at), text.size());
      skip_to(after(")" + std::string(text.substr(at + 2, open - std::min(open, at + 2))) + "\"",
                    open));
    } else if (c == '"' || c == '\'') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != c && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      skip_to(end + 1);
    } else if (IsNameChar(c)) {
      std::size_t end = at;
      // A quote between digits separates them: 1'000.
      while (end < text.size() &&
             (IsNameChar(text[end]) || (text[end] == '\'' && c >= '0' && c <= '9' &&
                                        end + 1 < text.size() && IsNameChar(text[end + 1])))) {
        ++end;
      }
      words.push_back({text.substr(at, end - at), line});
      at = end;
    } else {
      if (c == '\n') ++line;
      if (c > ' ') words.push_back({text.substr(at, 1), line});
      ++at;
    }
  }
  return words;
}

// Names that declarations between the markers may have.
std::vector<std::string> DeclarableNames(const Structure& structure) {
  std::vector<std::string> names;
  for (const Knob& knob : structure.knobs) {
    if (knob.parts.empty()) names.push_back(knob.name);
    for (const std::string& part : knob.parts) names.push_back(knob.name + "_" + part);
  }
  for (const auto& [name, text] : structure.derived) names.push_back(name);
  return names;
}

Status CheckDeclared(const Word& word, const std::vector<std::string>& known,
                     const Structure& structure, const std::string& file) {
  if (std::find(known.begin(), known.end(), word.text) != known.end()) return {};
  const std::string name(word.text);
  std::string message = Place{file, word.line}.Text() + ": '" + name +
                        "' is neither a knob nor a derived value of " + structure.file;
  const std::string nearest = Nearest(name, known);
  if (!nearest.empty()) message += "; nearest is '" + nearest + "'";
  message += "; known are";
  for (const std::string& other : known) message += (&other == &known.front() ? " " : ", ") + other;
  return Error{message};
}

// Declarations: constexpr TYPE NAME = ..., NAME = ...;  and  enum class NAME { ... };
Status CheckDeclarations(const std::vector<Word>& words, const Structure& structure,
                         const std::string& file) {
  const std::vector<std::string> names = DeclarableNames(structure);
  std::vector<std::string> enums;
  for (const Knob& knob : structure.knobs) {
    if (std::holds_alternative<std::string>(knob.values.front()))
      enums.push_back(EnumName(knob.name));
  }
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t begin = at;
    while (at < words.size() && words[at].text != ";") ++at;
    const std::size_t end = at++;
    if (end == begin) continue;
    if (words[begin].text == "enum" && end - begin > 2 && words[begin + 1].text == "class") {
      if (const Status known = CheckDeclared(words[begin + 2], enums, structure, file); !known) {
        return known;
      }
      continue;
    }
    bool declares = false;
    if (words[begin].text == "constexpr" && end < words.size()) {
      int depth = 0;  // of the brackets an initialiser may have
      for (std::size_t i = begin + 1; i < end; ++i) {
        const std::string_view text = words[i].text;
        if (text == "(" || text == "{") ++depth;
        if (text == ")" || text == "}") --depth;
        const bool next_assigns =
            i + 1 < end && (words[i + 1].text == "=" || words[i + 1].text == "{");
        if (depth != 0 || !next_assigns || !IsNameChar(text.front())) continue;
        declares = true;
        if (const Status known = CheckDeclared(words[i], names, structure, file); !known)
          return known;
      }
    }
    if (!declares) {
      return Error{
          Place{file, words[begin].line}.Text() + ": '" + std::string(words[begin].text) +
          "' stands between the knob markers, where only 'constexpr TYPE NAME = VALUE;' and "
          "'enum class NAME {...};' may"};
    }
  }
  return {};
}

}  // namespace

std::string EnumName(std::string_view knob) {
  std::string name;
  bool capital = true;
  for (const char c : knob) {
    if (c == '_') {
      capital = true;
      continue;
    }
    const bool lower = c >= 'a' && c <= 'z';
    name += capital && lower ? static_cast<char>(c - 'a' + 'A') : c;
    capital = false;
  }
  return name;
}

Result<TemplateCut> CutTemplate(std::string_view text, const std::string& file) {
  TemplateCut cut;
  bool begun = false;
  bool ended = false;
  int line = 1;
  std::size_t counted = 0;  // lines up to here are in `line`
  std::size_t declarations = 0;
  for (std::size_t mark = text.find(kMark); mark != std::string_view::npos;
       mark = text.find(kMark, mark + 1)) {
    const std::size_t begin = text.rfind('\n', mark) + 1;  // npos + 1 is 0
    const std::size_t end = std::min(text.find('\n', mark), text.size());
    const std::string_view content = Trimmed(text.substr(begin, end - begin));
    if (content.substr(0, kMark.size()) != kMark)
      continue;  // in the midst of a line: a mere mention
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                        text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    counted = begin;
    const std::string place = Place{file, line}.Text();
    if (content == kBegin && !begun) {
      begun = true;
      declarations = std::min(end + 1, text.size());
      cut.head = text.substr(0, declarations);
      cut.first_line = line + 1;
    } else if (content == kEnd && begun && !ended) {
      ended = true;
      cut.declarations = text.substr(declarations, begin - declarations);
      cut.tail = text.substr(begin);
      cut.tail_line = line;
    } else if (content == kBegin || content == kEnd) {
      return Error{place + ": '" + std::string(content) + "' stands where " +
                   (ended   ? "both markers have been seen"
                    : begun ? "'// pawl: end' is wanted"
                            : "'// pawl: knobs' is wanted first")};
    } else {
      return Error{place + ": unknown marker '" + std::string(content.substr(0, 60)) +
                   "'; '// pawl: knobs' and '// pawl: end' are known"};
    }
  }
  if (!begun) return Error{file + ": no line '// pawl: knobs'; the knobs' values are put after it"};
  if (!ended) {
    return Error{Place{file, cut.first_line - 1}.Text() +
                 ": '// pawl: knobs' has no '// pawl: end'"};
  }
  return cut;
}

Result<std::vector<std::string>> CheckTemplate(const Structure& structure, std::string_view text,
                                               const std::string& file) {
  const Result<TemplateCut> cut = CutTemplate(text, file);
  if (!cut) return cut.error();
  const Status declared =
      CheckDeclarations(WordsIn(cut->declarations, cut->first_line), structure, file);
  if (!declared) return declared.error();

  std::set<std::string_view> used;
  for (const std::string_view part : {cut->head, cut->tail}) {
    for (const Word& word : WordsIn(part, 1)) used.insert(word.text);
  }
  const Result<Program> program = Compile(structure);
  if (!program) return program.error();
  std::vector<std::string> used_derived;
  std::vector<bool> reached(
      program->scope.names().size());  // slots read through used derived values
  for (std::size_t i = program->derived.size(); i-- > 0;) {
    const Program::Derived& derived = program->derived[i];
    const std::string& name = program->scope.names()[derived.slot];
    const bool direct = used.count(name) > 0;
    if (direct) used_derived.insert(used_derived.begin(), name);
    if (!direct && !reached[derived.slot]) continue;
    for (const std::size_t slot : derived.expression.slots()) reached[slot] = true;
  }
  for (std::size_t i = 0; i < structure.knobs.size(); ++i) {
    const Knob& knob = structure.knobs[i];
    for (std::size_t part = 0; part < program->knobs[i].count; ++part) {
      const std::string name = knob.parts.empty() ? knob.name : knob.name + "_" + knob.parts[part];
      if (used.count(name) > 0 || reached[program->knobs[i].first + part]) continue;
      return Error{knob.place.Text() + ": knob " + knob.name + " is never used: '" + name +
                   "' does not occur in " + file +
                   " outside its markers, nor does a derived value " + "that depends on it"};
    }
  }
  return used_derived;
}

}  // namespace pawl
