#include "worker/device/host/compiler.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLogBytes = 4096;
constexpr std::size_t kMaxLineBytes = 300;
constexpr const char* kUnitName = "kernel.cc";
constexpr const char* kObjectName = "kernel.so";

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A cached object: size of the log u32 (little-endian), the log, the object.
std::string Pack(const Built& built) {
  const auto size = static_cast<std::uint32_t>(built.log.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes + built.log + built.object;
}

std::optional<Built> Unpack(const std::string& bytes) {
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (bytes.size() - sizeof size < size) return std::nullopt;
  Built built;
  built.ok = true;
  built.cached = true;
  built.log = bytes.substr(sizeof size, size);
  built.object = bytes.substr(sizeof size + size);
  built.digest = Sha256(built.object);
  return built;
}

// A folder that is gone with all in it at the end of the scope.
class Folder {
 public:
  explicit Folder(const std::string& scratch) {
    static std::atomic<std::uint64_t> next{0};
    path_ = fs::path(scratch) / ("build." + std::to_string(next.fetch_add(1)));
    fs::remove_all(path_, failed_);
    fs::create_directories(path_, failed_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  const std::error_code& failed() const { return failed_; }

 private:
  fs::path path_;
  std::error_code failed_;
};

}  // namespace

std::string FirstErrorLine(const std::string& output) {
  std::istringstream lines(output);
  std::string line, last, chosen;
  while (std::getline(lines, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    last = line;
    if (line.find("error:") != std::string::npos ||
        line.find("undefined reference") != std::string::npos) {
      chosen = line;
      break;
    }
  }
  if (chosen.empty()) chosen = last;
  if (chosen.size() > kMaxLineBytes) chosen.resize(kMaxLineBytes);
  return chosen;
}

Compiler::Compiler(std::string program, std::string version, std::string scratch,
                   ObjectCache& cache, std::string cpu)
    : program_(std::move(program)),
      version_(std::move(version)),
      scratch_(std::move(scratch)),
      cpu_(std::move(cpu)),
      cache_(cache) {}

Result<std::unique_ptr<Compiler>> Compiler::Open(const std::string& scratch, ObjectCache& cache,
                                                 const std::string& cpu) {
  std::error_code failed;
  fs::create_directories(scratch, failed);
  if (failed) {
    return Error{scratch + ": cannot make the folder for builds: " + failed.message(),
                 Advice::kReject};
  }
  const std::string folder = fs::absolute(scratch, failed).string();
  std::vector<std::string> programs = {"c++", "g++", "clang++"};
  const char* chosen = std::getenv("PAWL_CXX");
  if (chosen != nullptr && *chosen != '\0') programs = {chosen};
  for (const std::string& program : programs) {
    const Result<Finished> asked = RunProgram({program, "--version"}, folder);
    if (!asked || asked->exit_code != 0 || asked->signal != 0 || asked->output.empty()) continue;
    std::unique_ptr<Compiler> compiler(
        new Compiler(program, FirstLine(asked->output), folder, cache, cpu));
    Unit first;
    first.text =
        "#include <cstdint>\nextern \"C\" void pawl_call(void* const*, const std::int64_t*) {\n"
        "#pragma omp parallel\n  {}\n}\n";
    first.flags.assign(std::begin(kKernelFlags), std::end(kKernelFlags));
    const Result<Built> built = compiler->Build(first);
    if (!built) return built.error();
    if (!built->ok) {
      return Error{"host: " + program + " cannot build a first small kernel: " + built->problem,
                   Advice::kReject};
    }
    return compiler;
  }
  std::string asked;
  for (const std::string& program : programs) asked += (asked.empty() ? "" : ", ") + program;
  return Error{"host: no C++ compiler answers --version (asked " + asked +
                   "); install g++, or name one in PAWL_CXX",
               Advice::kReject};
}

Digest Compiler::KeyOf(const Unit& unit) const {
  Hasher hasher;
  hasher.Field("host object 1").Field(version_).Field(cpu_).Field(unit.text);
  for (const std::string& flag : unit.flags) hasher.Field(flag);
  if (unit.keep_symbols) hasher.Field("symbols");
  hasher.Field("");
  for (const std::string& option : unit.options) hasher.Field(option);
  return hasher.Finish();
}

Result<Built> Compiler::Build(const Unit& unit, ProcessHold* hold) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const Digest key = KeyOf(unit);
  if (const std::optional<std::string> bytes = cache_.Get(key)) {
    if (std::optional<Built> built = Unpack(*bytes)) {
      built->seconds = seconds();
      return *built;
    }
  }

  const Folder folder(scratch_);
  const auto disk = [&folder](const std::string& why) {
    return Error{folder.path().string() + ": cannot build there: " + why, Advice::kRetry};
  };
  if (folder.failed()) return disk(folder.failed().message());
  {
    std::ofstream file(folder.path() / kUnitName, std::ios::binary);
    file << unit.text;
    file.close();
    if (!file) return disk(std::strerror(errno));
  }
  std::vector<std::string> argv = {program_};
  argv.insert(argv.end(), unit.flags.begin(), unit.flags.end());
  // Stripped: an object's bytes then depend on its code, not on the names of its parts.
  if (!unit.keep_symbols) argv.push_back("-Wl,-s");
  argv.insert(argv.end(), {"-Wl,--as-needed", "-o", kObjectName, kUnitName});
  argv.insert(argv.end(), unit.options.begin(), unit.options.end());
  const Result<Finished> finished = RunProgram(argv, folder.path().string(), hold);
  if (!finished) return finished.error();
  if (finished->signal != 0) {
    return Error{
        program_ + ": killed by signal " + std::to_string(finished->signal) + " while it compiled",
        Advice::kRetry};
  }

  Built built;
  built.log = finished->output.substr(0, kMaxLogBytes);
  if (finished->exit_code != 0) {
    if (finished->output.find("No space left on device") != std::string::npos) {
      return disk("no space left on device");
    }
    // A part of the compiler was killed from outside, or by the kernel for memory.
    if (finished->output.find("signal terminated program") != std::string::npos) {
      return Error{program_ + ": " + FirstErrorLine(finished->output), Advice::kRetry};
    }
    built.problem = FirstErrorLine(finished->output);
    if (built.problem.empty()) {
      built.problem = program_ + " ended with exit code " + std::to_string(finished->exit_code) +
                      " and said nothing";
    }
    built.seconds = seconds();
    return built;
  }
  built.ok = true;
  built.object = ReadFile(folder.path() / kObjectName);
  if (built.object.empty()) return disk(program_ + " left no object");
  built.digest = Sha256(built.object);
  // An object that cannot be kept is still an object.
  static_cast<void>(cache_.Put(key, Pack(built)).has_value());
  built.seconds = seconds();
  return built;
}

}  // namespace pawl
