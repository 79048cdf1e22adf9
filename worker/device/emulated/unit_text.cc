#include "worker/device/emulated/unit_text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace pawl {
namespace {

constexpr std::string_view kAbi =
#include "emulated/kernel_abi.inc"
    ;
constexpr std::string_view kCuda =
#include "emulated/cuda.inc"
    ;
constexpr std::string_view kDevice =
#include "emulated/pawl_emulated.inc"
    ;
constexpr std::string_view kDeviceName = "pawl_emulated.h";  // that pawl_device.h asks for

// Headers whose contents the shim has, or that say nothing here.
constexpr std::string_view kKnownHeaders[] = {
    "cuda_runtime.h",  "cuda.h",   "device_launch_parameters.h",
    "vector_types.h",  "stdint.h", "cstdint",
    "math.h",          "cmath",    "stddef.h",
    "cstddef",         "float.h",  "cfloat",
    "limits.h",        "climits",  "assert.h",
    "cassert",         "stdio.h",  "cstdio",
    "math_constants.h"};

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text with comments and literals as blanks: what remains is code. Lines stay lines.
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

// A word with its parenthesised argument: "__align__(16)".
void EraseCall(std::string& text, std::string_view word) {
  const std::size_t at = FindWord(text, word, 0);
  if (at == std::string::npos) return;
  std::size_t end = text.find('(', at);
  int depth = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) break;
  }
  text.erase(at, std::min(end + 1, text.size()) - at);
}

// "extern __shared__ float tile[];" becomes a pointer to the launch's dynamic shared memory; `text`
// and `code` are of equal length before.
std::string WithDynamicShared(std::string_view text, std::string_view code) {
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
    out += text.substr(done, at - done);
    out += type + "* const " + std::string(before.substr(name)) + " = static_cast<" + type +
           "*>(pawl_position.dynamic_shared)";
    // What spanned lines still does.
    out.append(static_cast<std::size_t>(std::count(declaration.begin(), declaration.end(), '\n')),
               '\n');
    done = end;
  }
  out += text.substr(done);
  return out;
}

class Assembler {
 public:
  explicit Assembler(const std::vector<HeaderText>& headers) : headers_(headers) {}

  // Appends a file's text with its includes in place.
  Status Append(std::string_view text, std::string file, bool checked);
  std::string Take() { return std::move(out_); }

 private:
  Status Include(std::string_view line, const std::string& file, int number);

  const std::vector<HeaderText>& headers_;
  std::set<std::string, std::less<>> included_;
  std::string out_;
};

Status Assembler::Include(std::string_view line, const std::string& file, int number) {
  const std::string place = file + ":" + std::to_string(number);
  const std::size_t open = line.find_first_of("<\"");
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  if (close == std::string_view::npos) return {};
  const std::string name(line.substr(open + 1, close - open - 1));
  if (std::find(std::begin(kKnownHeaders), std::end(kKnownHeaders), name) !=
      std::end(kKnownHeaders)) {
    out_ += '\n';
    return {};
  }
  const auto header = std::find_if(headers_.begin(), headers_.end(),
                                   [&](const HeaderText& known) { return known.name == name; });
  const bool own = name == kDeviceName;
  if (header == headers_.end() && !own) {
    return Error{place + ": includes " + std::string(line.substr(open, close + 1 - open)) +
                     ", which the emulated device does not have: a header of the package, "
                     "pawl_device.h, or one of CUDA's own language headers is wanted",
                 Advice::kReject};
  }
  if (!included_.insert(name).second) {
    out_ += '\n';
    return {};
  }
  const bool ours = own || name == "pawl_device.h";
  if (Status read = Append(own ? kDevice : std::string_view(header->text),
                           own ? "emulated/" + name : name, !ours);
      !read) {
    return read;
  }
  out_ += "\n#line " + std::to_string(number + 1) + " \"" + file + "\"\n";
  return {};
}

Status Assembler::Append(std::string_view original, std::string file, bool checked) {
  const std::string text = WithDynamicShared(original, CodeOf(original));
  const std::string code = CodeOf(text);
  int number = 1;
  out_ += "#line 1 \"" + file + "\"\n";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::string_view bare = Trimmed(std::string_view(code).substr(begin, end - begin));
    begin = end + 1;
    if (checked) {
      for (const char* word : {"asm", "__asm__", "__asm"}) {
        if (FindWord(bare, word, 0) == std::string_view::npos) continue;
        return Error{file + ":" + std::to_string(number) +
                         ": inline PTX, which the emulated device cannot run; use pawl_device.h's "
                         "CpAsync4/8/16, CpAsyncCommit, CpAsyncWait, ClusterRank, ClusterSync or "
                         "MapShared instead",
                     Advice::kReject};
      }
    }
    if (!bare.empty() && bare.front() == '#') {
      const std::string_view directive = Trimmed(bare.substr(1));
      if (directive.substr(0, 7) == "include") {
        if (Status read = Include(line, file, number); !read) return read;
        ++number;
        continue;
      }
      if (directive.substr(0, 4) == "line") {
        // What follows is another file's, in our messages too.
        number = std::atoi(std::string(directive.substr(4)).c_str()) - 1;
        const std::size_t open = line.find('"');
        const std::size_t close = line.rfind('"');
        if (open != std::string_view::npos && close > open) {
          file = line.substr(open + 1, close - open - 1);
        }
      }
    }
    out_.append(line);
    out_ += '\n';
    ++number;
  }
  return {};
}

std::string_view CType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI32:
      return "int";
    case DType::kU32:
      return "unsigned";
  }
  CHECK(false, static_cast<int>(dtype));
}

// A kernel's parameters must be exactly what its arguments are: on a GPU they are copied by size,
// and nobody notices.
constexpr std::string_view kSignatures = R"(
#line 1 "pawl_launches"
template <typename Wanted, typename Has> struct PawlFits { static constexpr bool value = false; };
template <typename T> struct PawlFits<T, T> { static constexpr bool value = true; };
template <> struct PawlFits<long long, long> { static constexpr bool value = true; };
template <typename... Wanted> struct PawlWanted {
  template <typename... Has> static constexpr bool Fit(void (*)(Has...)) {
    if constexpr (sizeof...(Has) != sizeof...(Wanted)) { return false; }
    else { return (PawlFits<Wanted, Has>::value && ...); }
  }
};
)";

std::string LaunchFunction(const Order& order, const Arm& arm, std::size_t index) {
  const Launch& launch = arm.launches[index];
  std::string types, values;
  for (const Argument& argument : launch.arguments) {
    std::string type, value;
    const std::string at = "[" + std::to_string(argument.index) + "]";
    switch (argument.kind) {
      case Argument::Kind::kBuffer: {
        const Buffer& buffer = order.buffers[argument.index];
        type = (buffer.role == BufferRole::kInput ? "const " : "") +
               std::string(CType(buffer.dtype)) + "*";
        value = "static_cast<" + type + ">(buffers" + at + ")";
        break;
      }
      case Argument::Kind::kScalar:
        type = "long long";
        value = "scalars" + at;
        break;
      case Argument::Kind::kScratch:
        type = std::string(CType(arm.scratch[argument.index].dtype)) + "*";
        value = "static_cast<" + type + ">(scratch" + at + ")";
        break;
    }
    types += (types.empty() ? "" : ", ") + type;
    values += (values.empty() ? "" : ", ") + value;
  }
  return "static_assert(PawlWanted<" + types + ">::Fit(&" + launch.kernel + "), \"" +
         launch.kernel + " is launched with (" + types + "); its parameters are others\");\n" +
         "extern \"C\" PAWL_UNSEEN __attribute__((visibility(\"default\"))) void pawl_launch_" +
         std::to_string(index) +
         "(void* const* buffers, const long long* scalars, void* const* scratch) {\n  " +
         launch.kernel + "(" + values + ");\n}\n";
}

}  // namespace

Result<std::string> EmulatedUnit(const Order& order, const Arm& arm, const SmLimits& limits,
                                 bool watched) {
  const SourceText& source = order.sources[*arm.source];
  std::string unit = "#define __CUDA_ARCH__ " + std::to_string(limits.sm * 10) + "\n";
  if (watched) unit += "#define PAWL_WATCHED 1\n";
  unit += "#line 1 \"emulated/kernel_abi.h\"\n" + std::string(kAbi);
  unit += "#line 1 \"emulated/cuda.h\"\n" + std::string(kCuda);
  Assembler assembler(order.headers);
  if (Status read = assembler.Append(source.text, source.name, true); !read) return read.error();
  unit += assembler.Take() + std::string(kSignatures);
  for (std::size_t i = 0; i < arm.launches.size(); ++i) {
    if (arm.launches[i].kind == LaunchKind::kKernel) unit += LaunchFunction(order, arm, i);
  }
  return unit;
}

}  // namespace pawl
