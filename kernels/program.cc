#include "kernels/program.h"

#include <algorithm>
#include <utility>

#include "kernels/document.h"

namespace pawl {
namespace {

Place PlaceOf(const Structure& structure, const std::string& entry) {
  const auto place = structure.places.find(entry);
  return place != structure.places.end() ? place->second : Place{structure.file, 0};
}

// Splits "a {x} b" into its pieces.
Result<Figures> ReadFigures(const std::string& text, Scope& scope, const Place& place) {
  Figures figures;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = std::min(text.find_first_of("{}", at), text.size());
    if (open > at) figures.emplace_back(text.substr(at, open - at));
    if (open == text.size()) break;
    const std::size_t close = text.find('}', open + 1);
    if (text[open] == '}' || close == std::string::npos) {
      return Error{place.Text() + ": in '" + text + "': a '" + text[open] + "' has no partner"};
    }
    const std::string inside = text.substr(open + 1, close - open - 1);
    if (const std::optional<std::size_t> slot = scope.Find(inside)) {
      figures.emplace_back(*slot);
    } else {
      Result<Expression> expression = Expression::Parse(inside, scope, place);
      if (!expression) return expression.error();
      figures.emplace_back(std::move(*expression));
    }
    at = close + 1;
  }
  return figures;
}

// A rule is applied after those before it, so it may see what they ignore (set to its first value
// by then), and nothing that it or a later rule ignores.
Status CheckIgnored(const Program& program, const Structure& structure) {
  for (std::size_t i = 0; i < program.ignored.size(); ++i) {
    const std::vector<bool> behind = program.KnobsBehind(program.ignored[i].when);
    for (std::size_t j = i; j < program.ignored.size(); ++j) {
      const std::size_t knob = program.ignored[j].knob;
      if (!behind[knob]) continue;
      const std::string& name = structure.knobs[knob].name;
      return Error{structure.ignored[i].place.Text() + ": when = '" + structure.ignored[i].when +
                   "' depends on " + name +
                   (i == j ? ", the knob that it says is ignored"
                           : ", which a later rule says is ignored; put that rule first")};
    }
  }
  return {};
}

}  // namespace

std::vector<bool> Program::KnobsBehind(const Expression& expression) const {
  std::vector<bool> behind(knobs.size());
  for (const std::size_t slot : expression.slots()) {
    for (std::size_t knob = 0; knob < knobs.size(); ++knob) {
      if (knobs_behind[slot][knob]) behind[knob] = true;
    }
  }
  return behind;
}

int Program::LevelOf(const Expression& expression) const {
  const std::vector<bool> behind = KnobsBehind(expression);
  const auto last = std::find(behind.rbegin(), behind.rend(), true);
  return static_cast<int>(behind.rend() - last) - 1;
}

std::string Program::Text(const Figures& figures, const std::vector<std::int64_t>& values) const {
  std::string text;
  for (const auto& figure : figures) {
    if (const auto* plain = std::get_if<std::string>(&figure)) {
      text += *plain;
    } else if (const auto* slot = std::get_if<std::size_t>(&figure)) {
      text += scope.Text(*slot, values[*slot]);
    } else {
      const Result<std::int64_t> value = std::get<Expression>(figure).Evaluate(values);
      text += value ? std::to_string(*value) : "?";
    }
  }
  return text;
}

Result<Program> Compile(const Structure& structure) {
  Program program;
  for (const std::string& letter : structure.letters) program.scope.Add(letter);
  program.letters = structure.letters.size();
  program.knobs_behind.assign(program.letters, std::vector<bool>(structure.knobs.size()));
  for (std::size_t i = 0; i < structure.knobs.size(); ++i) {
    const Knob& knob = structure.knobs[i];
    Program::KnobSlots slots;
    slots.kind = knob.values.front().index();
    slots.first = program.scope.names().size();
    slots.count = std::max<std::size_t>(1, knob.parts.size());
    if (std::holds_alternative<std::string>(knob.values.front())) {
      slots.words = WordsOf(structure, knob);
      program.scope.AddWord(knob.name, slots.words);
    } else if (knob.parts.empty()) {
      program.scope.Add(knob.name);
    } else {
      for (const std::string& part : knob.parts) program.scope.Add(knob.name + "." + part);
    }
    std::vector<bool> behind(structure.knobs.size());
    behind[i] = true;
    program.knobs_behind.resize(slots.first + slots.count, behind);
    program.knobs.push_back(std::move(slots));
  }
  for (const auto& [name, text] : structure.derived) {
    Result<Expression> expression =
        Expression::Parse(text, program.scope, PlaceOf(structure, "derived." + name));
    if (!expression) return expression.error();
    const std::size_t slot = program.scope.Add(name);
    program.knobs_behind.push_back(program.KnobsBehind(*expression));
    const int level = program.LevelOf(*expression);
    program.derived.push_back({slot, std::move(*expression), level});
  }
  for (const Constraint& constraint : structure.constraints) {
    Result<Expression> need = Expression::Parse(constraint.need, program.scope, constraint.place);
    if (!need) return need.error();
    Result<Figures> why = ReadFigures(constraint.why, program.scope, constraint.place);
    if (!why) return why.error();
    const int level = program.LevelOf(*need);
    const bool has_figures = constraint.why.find('{') != std::string::npos;
    program.needs.push_back({std::move(*need), std::move(*why), has_figures, level});
  }
  for (const Ignored& ignored : structure.ignored) {
    Result<Expression> when = Expression::Parse(ignored.when, program.scope, ignored.place);
    if (!when) return when.error();
    const auto knob = std::find_if(structure.knobs.begin(), structure.knobs.end(),
                                   [&](const Knob& k) { return k.name == ignored.knob; });
    CHECK(knob != structure.knobs.end(), ignored.knob);
    program.ignored.push_back(
        {static_cast<std::size_t>(knob - structure.knobs.begin()), std::move(*when)});
  }
  const Status ignorable = CheckIgnored(program, structure);
  if (!ignorable) return ignorable.error();
  for (const LaunchText& launch : structure.plan.launches) {
    Program::Launch compiled;
    const auto parse = [&](const std::string& text, const char* key) {
      const auto place = launch.places.find(key);
      return Expression::Parse(text, program.scope,
                               place != launch.places.end() ? place->second : launch.place);
    };
    if (!launch.when.empty()) {
      Result<Expression> when = parse(launch.when, "when");
      if (!when) return when.error();
      compiled.when = std::move(*when);
    }
    if (launch.kind == LaunchKind::kMemset) {
      program.launches.push_back(std::move(compiled));
      continue;
    }
    const auto add = [&](const std::string& text, const char* key) -> Status {
      Result<Expression> expression = parse(text, key);
      if (!expression) return expression.error();
      compiled.geometry.push_back(std::move(*expression));
      return {};
    };
    for (const auto& [key, texts] : {std::pair{"grid", &launch.grid},
                                     {"block", &launch.block},
                                     {"cluster", &launch.cluster}}) {
      for (const std::string& text : *texts) {
        if (const Status added = add(text, key); !added) return added.error();
      }
    }
    const Status shared = add(launch.dynamic_shared_bytes, "dynamic_shared_bytes");
    if (!shared) return shared.error();
    program.launches.push_back(std::move(compiled));
  }
  for (const ScratchText& scratch : structure.plan.scratch) {
    Result<Expression> elements = Expression::Parse(scratch.elements, program.scope, scratch.place);
    if (!elements) return elements.error();
    program.scratch.push_back(std::move(*elements));
  }
  return program;
}

std::vector<std::string> WordsOf(const Structure& structure, const Knob& knob) {
  std::vector<std::string> words;
  const auto add = [&](const std::vector<KnobValue>& values) {
    for (const KnobValue& value : values) {
      const auto* word = std::get_if<std::string>(&value);
      if (word != nullptr && std::find(words.begin(), words.end(), *word) == words.end()) {
        words.push_back(*word);
      }
    }
  };
  add(knob.values);
  for (const auto& [name, values] : structure.repairs) {
    if (name == knob.name) add(values);
  }
  for (const auto& [name, values] : structure.audit) {
    if (name == knob.name) add(values);
  }
  return words;
}

std::optional<std::string> WhyNotValueOf(const Structure& structure, const Knob& knob,
                                         const KnobValue& value) {
  const std::string is = knob.name + " is " + ToText(value) + "; ";
  const KnobValue& like = knob.values.front();
  if (const auto* word = std::get_if<std::string>(&value);
      word != nullptr && std::holds_alternative<std::string>(like)) {
    const std::vector<std::string> words = WordsOf(structure, knob);
    if (std::find(words.begin(), words.end(), *word) != words.end()) return std::nullopt;
    std::string why = knob.name + " is never '" + *word + "'";
    const std::string nearest = Nearest(*word, words);
    if (!nearest.empty()) why += "; nearest is '" + nearest + "'";
    why += "; its words are";
    for (const std::string& known : words) why += (&known == &words.front() ? " " : ", ") + known;
    return why;
  }
  if (value.index() == like.index()) {
    const auto* tuple = std::get_if<Tuple>(&value);
    if (tuple == nullptr || tuple->size() == knob.parts.size()) return std::nullopt;
    return is + std::to_string(knob.parts.size()) + " parts are wanted, such as " + ToText(like);
  }
  if (std::holds_alternative<bool>(like)) return is + "true or false is wanted";
  if (std::holds_alternative<std::int64_t>(like)) return is + "an integer is wanted";
  if (std::holds_alternative<std::string>(like))
    return is + "a word such as " + ToText(like) + " is wanted";
  return is + "a tuple such as " + ToText(like) + " is wanted";
}

}  // namespace pawl
