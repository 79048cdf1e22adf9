#include "worker/device/emulated/unit_text.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "worker/device/cuda/standard_headers.h"
#include "worker/device/emulated/cuda_text.h"
#include "worker/device/generated_text.h"

namespace pawl {
namespace {

constexpr std::string_view kAbi =
#include "emulated/kernel_abi.inc"
    ;
constexpr std::string_view kCuda =
#include "emulated/cuda.inc"
    ;
constexpr std::string_view kArithmetic =
#include "emulated/arithmetic.inc"
    ;
constexpr std::string_view kDevice =
#include "emulated/pawl_emulated.inc"
    ;
constexpr std::string_view kDeviceName = "pawl_emulated.h";  // that pawl_device.h asks for

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
  const std::vector<StandardHeader>& standard = StandardHeaders();
  const auto known = std::find_if(standard.begin(), standard.end(),
                                  [&](const StandardHeader& its) { return its.name == name; });
  if (known != standard.end()) {
    if (Status read = Append(known->text, "pawl_" + name, false); !read) return read;
    out_ += "\n#line " + std::to_string(number + 1) + " \"" + file + "\"\n";
    return {};
  }
  const auto header = std::find_if(headers_.begin(), headers_.end(),
                                   [&](const HeaderText& its) { return its.name == name; });
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
  std::string text = WithDynamicShared(original);
  if (checked) {
    Result<std::string> bound = WithLaunchBounds(text, file);
    if (!bound) return bound.error();
    text = *std::move(bound);
  }
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

// A macro of a compiler's option, "STAGES=3" of "-DSTAGES=3", as a line of text: of the options
// that CUDA's compiler knows these are the only ones that change what is computed. The others tell
// it of code for a GPU.
std::string MacroLine(bool define, const std::string& macro) {
  if (!define) return "#undef " + macro + "\n";
  const std::size_t equals = macro.find('=');
  if (equals == std::string::npos) return "#define " + macro + " 1\n";
  return "#define " + macro.substr(0, equals) + " " + macro.substr(equals + 1) + "\n";
}

std::string MacrosOf(const std::vector<std::string>& options) {
  std::string lines;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const auto& [define, brief, full] :
         {std::tuple(true, "-D", "--define-macro"), std::tuple(false, "-U", "--undefine-macro")}) {
      const std::string& option = options[i];
      if (option == brief || option == full) {  // its value is the next
        if (++i < options.size()) lines += MacroLine(define, options[i]);
        break;
      }
      const std::string with_value = std::string(full) + "=";
      const std::size_t length = option.rfind(with_value, 0) == 0 ? with_value.size()
                                 : option.rfind(brief, 0) == 0    ? 2
                                                                  : 0;
      if (length > 0) {
        lines += MacroLine(define, option.substr(length));
        break;
      }
    }
  }
  return lines;
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

Result<Unit> EmulatedUnit(const Order& order, const Arm& arm, const SmLimits& limits,
                          bool watched) {
  const SourceText& source = order.sources[*arm.source];
  Unit unit;
  std::string& text = unit.text;
  text = "#define __CUDA_ARCH__ " + std::to_string(limits.sm * 10) + "\n";
  if (watched) text += "#define PAWL_WATCHED 1\n";
  text += "#line 1 \"emulated/kernel_abi.h\"\n" + std::string(kAbi);
  text += "#line 1 \"emulated/cuda.h\"\n" + std::string(kCuda);
  text += "#line 1 \"emulated/arithmetic.h\"\n" + std::string(kArithmetic);
  // Behind what is ours, so that no macro changes it.
  text += MacrosOf(order.build_options) + MacrosOf(source.build_options);
  Assembler assembler(order.headers);
  if (Status read = assembler.Append(source.text, source.name, true); !read) return read.error();
  text += assembler.Take() + "\n" + LaunchMark(source.name) + std::string(kSignatures);
  for (std::size_t i = 0; i < arm.launches.size(); ++i) {
    if (arm.launches[i].kind == LaunchKind::kKernel) text += LaunchFunction(order, arm, i);
  }
  unit.flags.assign(std::begin(kEmulatedFlags), std::end(kEmulatedFlags));
  if (watched) {
    unit.flags.insert(unit.flags.end(), std::begin(kWatchFlags), std::end(kWatchFlags));
  } else {
    unit.flags.insert(unit.flags.end(), std::begin(kPlainFlags), std::end(kPlainFlags));
  }
  unit.options.assign(std::begin(kEmulatedLibraries), std::end(kEmulatedLibraries));
  unit.keep_symbols = true;
  return unit;
}

}  // namespace pawl
