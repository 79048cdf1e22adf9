#include "coordinator/commands/command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "coordinator/commands/shape_text.h"
#include "kernels/document.h"
#include "schema/file_kind.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

// A folder that RocksDB has made.
bool LooksLikeLedger(const fs::path& folder) { return fs::exists(folder / "CURRENT"); }

// Where the packages that come with pawl may be.
std::vector<fs::path> ShippedKernels() {
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {bin / "../kernels",         // an unpacked bundle
          bin / "../../../kernels"};  // build/<preset>/bin of a checkout
}

}  // namespace

int Fail(const std::string& message, int code) {
  Warn(message);
  return code;
}

void Warn(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "pawl: %s\n", OneLine(message).c_str());
}

CLI::Validator NotEmpty() {
  const auto check = [](std::string& text) {
    return std::string(text.empty() ? "empty; give it a value or leave it out" : "");
  };
  return CLI::Validator(check, "", "not_empty");
}

CLI::Validator WholeNumber() {
  const auto check = [](std::string& text) {
    const auto number = ParseWhole(text);
    return number ? std::string() : number.error().message;
  };
  return CLI::Validator(check, "from 0", "whole_number");
}

CLI::Validator AtLeastOne() {
  const auto check = [](std::string& text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number > 0) return std::string();
    return "'" + text + "'; a whole number of at least 1 is wanted";
  };
  return CLI::Validator(check, "at least 1", "at_least_one");
}

std::vector<std::string> ClockOptions::ForWorker() const {
  if (!pins()) return {};
  return {"--clocks",           clocks,
          "--clock-mhz",        clock_mhz,
          "--memory-clock-mhz", std::to_string(memory_clock_mhz)};
}

void AddLedgerOption(CLI::App& command, std::string& folder) {
  command.add_option("--ledger", folder, "folder of the ledger")->check(NotEmpty());
}

void AddDeviceOption(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "device, as `pawl devices` names it, or replay:FILE")
      ->check(NotEmpty());
}

void AddKernelsOption(CLI::App& command, std::string& folder) {
  command.add_option("--kernels", folder, "folder of operation packages")->check(NotEmpty());
}

void AddKeysOption(CLI::App& command, std::string& folder) {
  command
      .add_option("--keys", folder, "folder of this host's key and of those it lets in (pawl keys)")
      ->check(NotEmpty());
}

void AddStateOption(CLI::App& command, std::string& folder) {
  command.add_option("--state", folder, "folder of the workers' evidence and cache, to keep them")
      ->check(NotEmpty());
}

void AddClockOptions(CLI::App& command, ClockOptions& options) {
  command
      .add_option("--clocks", options.clocks,
                  "a GPU's clocks: observe; pin: hold them where that is allowed; require-pinned: "
                  "or do not measure")
      ->check(CLI::IsMember({"observe", "pin", "require-pinned"}));
  command.add_option("--clock-mhz", options.clock_mhz, "what they are pinned at, or base")
      ->check(NotEmpty());
  command
      .add_option("--memory-clock-mhz", options.memory_clock_mhz,
                  "what the memory's clock is pinned at with them; 0: left alone")
      ->check(CLI::Range(0, 20'000));
}

Result<std::string> FindLedger(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* from_environment = std::getenv("PAWL_LEDGER");
      from_environment != nullptr && *from_environment != '\0') {
    return std::string(from_environment);
  }
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("ledgers", error)) {
    if (LooksLikeLedger(entry.path())) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Error{
        "no ledger below ./ledgers; name one with --ledger DIR, or make one with `pawl run JOB`"};
  }
  std::string list;
  for (const std::string& folder : found) list += (list.empty() ? "" : ", ") + folder;
  return Error{"several ledgers (" + list + "); name one with --ledger DIR"};
}

Result<OpenedLedger> ReadLedger(const std::string& given) {
  auto folder = FindLedger(given);
  if (!folder) return folder.error();
  auto ledger = Ledger::Open(*folder, Ledger::Mode::kRead);
  if (!ledger) return ledger.error();
  auto folded = FoldLedger(**ledger);
  if (!folded) return folded.error();
  return OpenedLedger{*std::move(ledger), std::move(folded->tracks), std::move(folded->board)};
}

Result<TrackId> FindTrack(const std::map<TrackId, Track>& tracks, const std::string& given) {
  std::string have;
  std::vector<TrackId> matching;
  for (const auto& [id, track] : tracks) {
    const std::string number = std::to_string(id.value);
    have += (have.empty() ? "" : ", ") + number + " (" + track.state.spec.label + ")";
    if (given == number) return id;
    if (given.empty() || track.state.spec.label.starts_with(given)) matching.push_back(id);
  }
  if (matching.size() == 1) return matching.front();
  if (tracks.empty()) return Error{"the ledger holds no track yet"};
  if (given.empty()) return Error{"several tracks: name one of " + have};
  return Error{(matching.empty() ? "no track '" : "several tracks match '") + given +
               "'; have: " + have};
}

Result<std::string> FindKernels(const std::string& given) {
  if (!given.empty()) {
    const std::optional<std::string> there = WhatIsAt(given);
    if (there == kAFolder) return given;
    if (!there) return Error{"no folder '" + given + "' of operation packages (--kernels)"};
    return Error{"--kernels: '" + given + "' is " + *there +
                 "; a folder of operation packages is wanted"};
  }
  if (const char* from_environment = std::getenv("PAWL_KERNELS");
      from_environment != nullptr && *from_environment != '\0') {
    return std::string(from_environment);
  }
  std::vector<fs::path> places = ShippedKernels();
  places.insert(places.begin(), "kernels");
  for (const fs::path& place : places) {
    if (fs::is_directory(place)) return place.lexically_normal().string();
  }
  return Error{"no folder 'kernels' here or beside the program; name one with --kernels DIR"};
}

Result<Operation> LoadPackage(const std::string& kernels, const std::string& name) {
  auto loaded = LoadOperation(kernels + "/" + name);
  std::error_code ignored;
  if (loaded || fs::exists(kernels + "/" + name, ignored)) return loaded;
  std::string message = loaded.error().message + "; --kernels names another folder of packages";
  for (const fs::path& shipped : ShippedKernels()) {
    if (!fs::is_directory(shipped / name, ignored)) continue;
    message += ", and " + name + " is in " + shipped.lexically_normal().string();
    break;
  }
  return Error{message};
}

}  // namespace pawl
