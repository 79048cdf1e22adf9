#include "worker/device/emulated/cuda_text.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace pawl {
namespace {

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where the parenthesis at `open` is closed; the end of the text where it is not.
std::size_t Closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return text.size();
}

// A word with its parenthesised argument: "__align__(16)".
void EraseCall(std::string& text, std::string_view word) {
  const std::size_t at = FindWord(text, word, 0);
  if (at == std::string::npos) return;
  text.erase(at, std::min(Closing(text, text.find('(', at)) + 1, text.size()) - at);
}

// Whether a place lies in no function's body: all braces that are open there are namespaces' or
// extern "C"'s.
bool AtFileScope(std::string_view code, std::size_t place) {
  std::vector<bool> open;  // of each brace: whether it is one of these
  std::size_t begin = 0;   // of what stands before the next brace
  for (std::size_t at = 0; at < place; ++at) {
    if (code[at] == '{') {
      const std::string_view before = code.substr(begin, at - begin);
      const bool linkage = FindWord(before, "extern", 0) != std::string_view::npos &&
                           before.find('(') == std::string_view::npos;
      open.push_back(linkage || FindWord(before, "namespace", 0) != std::string_view::npos);
    }
    if (code[at] == '}' && !open.empty()) open.pop_back();
    if (code[at] == '{' || code[at] == '}' || code[at] == ';') begin = at + 1;
  }
  return std::all_of(open.begin(), open.end(), [](bool outside) { return outside; });
}

// Whether a place belongs to a preprocessor directive, also one of several lines.
bool InDirective(std::string_view code, std::size_t place) {
  for (;;) {
    const std::size_t before = code.rfind('\n', place == 0 ? 0 : place - 1);
    const std::size_t begin = before == std::string_view::npos || place == 0 ? 0 : before + 1;
    const std::string_view line = Trimmed(code.substr(begin, place - begin));
    if (!line.empty() && line.front() == '#') return true;
    if (begin < 2 || code[begin - 2] != '\\') return false;
    place = begin - 1;
  }
}

// Where the body of the function begins whose head goes on at `from`; npos: it has none here.
std::size_t BodyOf(std::string_view code, std::size_t from) {
  for (std::size_t at = from; at < code.size(); ++at) {
    if (code[at] == ';') return std::string_view::npos;
    if (code[at] == '{') return at;
    if (code[at] == '(') at = Closing(code, at);
  }
  return std::string_view::npos;
}

}  // namespace

std::string CodeOf(std::string_view text) {
  std::string code(text);
  enum class In { kCode, kLine, kBlock, kString, kCharacter } in = In::kCode;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const auto blank = [&](std::size_t at) {
      if (at < code.size() && code[at] != '\n') code[at] = ' ';
    };
    switch (in) {
      case In::kCode:
        if (c == '/' && (next == '/' || next == '*')) {
          in = next == '/' ? In::kLine : In::kBlock;
          blank(i);
          blank(++i);
        } else if (c == '"') {
          in = In::kString;
        } else if (c == '\'' && (i == 0 || !IsWord(text[i - 1]))) {  // not 1'000
          in = In::kCharacter;
        }
        break;
      case In::kLine:
        if (c == '\n') in = In::kCode;
        blank(i);
        break;
      case In::kBlock:
        blank(i);
        if (c == '*' && next == '/') {
          blank(++i);
          in = In::kCode;
        }
        break;
      case In::kString:
      case In::kCharacter:
        if (c == (in == In::kString ? '"' : '\'') || c == '\n') {
          in = In::kCode;
        } else {
          if (c == '\\') blank(i++);
          blank(i);
        }
        break;
    }
  }
  return code;
}

std::size_t FindWord(std::string_view code, std::string_view word, std::size_t from) {
  for (std::size_t at = code.find(word, from); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWord(code[at - 1])) && (end == code.size() || !IsWord(code[end]))) return at;
  }
  return std::string_view::npos;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string WithDynamicShared(std::string_view text) {
  const std::string all_code = CodeOf(text);
  const std::string_view code = all_code;
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = FindWord(code, "extern", 0); at != std::string_view::npos;
       at = FindWord(code, "extern", at + 1)) {
    const std::size_t end = code.find(';', at);
    if (end == std::string_view::npos) break;
    std::string declaration(code.substr(at, end - at));
    const std::size_t shared = FindWord(declaration, "__shared__", 0);
    if (shared == std::string::npos || declaration.find('{') != std::string::npos) continue;
    declaration.erase(shared, std::string_view("__shared__").size());
    declaration.erase(0, std::string_view("extern").size());
    for (const char* word : {"__align__", "alignas", "__attribute__"}) EraseCall(declaration, word);
    const std::size_t bracket = declaration.find('[');
    if (bracket == std::string::npos) continue;
    std::string_view before = Trimmed(std::string_view(declaration).substr(0, bracket));
    std::size_t name = before.size();
    while (name > 0 && IsWord(before[name - 1])) --name;
    const std::string type(Trimmed(before.substr(0, name)));
    const std::string word(before.substr(name));
    const std::size_t closed = declaration.find(']', bracket);
    if (closed == std::string::npos) continue;
    out += text.substr(done, at - done);
    // "[2]" of "s[][2]": a pointer to rows.
    const std::string row(Trimmed(std::string_view(declaration).substr(closed + 1)));
    const std::string pointer = row.empty() ? "* const " + word : " (* const " + word + ")" + row;
    if (AtFileScope(code, at)) {
      // Where the device keeps it, since nothing of the unit runs before a launch.
      out += "extern " + type + pointer + " PAWL_DYNAMIC";
    } else {
      out += type + pointer + " = static_cast<" + type + (row.empty() ? "*" : " (*)" + row) +
             ">(pawl_position.dynamic_shared)";
    }
    // What spanned lines still does.
    out.append(static_cast<std::size_t>(std::count(declaration.begin(), declaration.end(), '\n')),
               '\n');
    done = end;
  }
  out += text.substr(done);
  return out;
}

Result<std::string> WithLaunchBounds(std::string_view text, const std::string& file) {
  const std::string all_code = CodeOf(text);
  const std::string_view code = all_code;
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = FindWord(code, "__launch_bounds__", 0); at != std::string_view::npos;
       at = FindWord(code, "__launch_bounds__", at + 1)) {
    const std::size_t open = code.find('(', at);
    if (open == std::string_view::npos || InDirective(code, at)) continue;
    const std::size_t close = Closing(code, open);
    int depth = 0;
    std::size_t end = open + 1;
    for (; end < close && (depth > 0 || code[end] != ','); ++end) {
      depth += code[end] == '(' ? 1 : code[end] == ')' ? -1 : 0;
    }
    std::string threads(Trimmed(code.substr(open + 1, end - open - 1)));
    std::replace(threads.begin(), threads.end(), '\n', ' ');
    const std::size_t body = BodyOf(code, close + 1);
    if (body == std::string_view::npos) {
      return Error{
          file + ":" +
              std::to_string(1 + std::count(code.begin(),
                                            code.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
              ": __launch_bounds__ of a kernel that is only declared; the emulated device "
              "holds launches against those at its definition: put them there",
          Advice::kReject};
    }
    if (threads.empty() || body < done) continue;
    out += text.substr(done, body + 1 - done);
    out += " PAWL_BOUNDS((" + threads + "));";
    done = body + 1;
  }
  out += text.substr(done);
  return out;
}

}  // namespace pawl
