#include "worker/clocks/clock_lease.h"

#include <charconv>
#include <map>

namespace pawl {
namespace {

constexpr std::string_view kTitle = "pawl clock lease 1";

std::string Mhz(std::uint32_t mhz) { return mhz == kBaseClock ? "base" : std::to_string(mhz); }

template <typename Number>
std::optional<Number> ToNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> ToMhz(std::string_view text) {
  return text == "base" ? std::optional(kBaseClock) : ToNumber<std::uint32_t>(text);
}

}  // namespace

std::string EncodeLease(const ClockLease& lease) {
  std::string text(kTitle);
  text += "\ngpu " + lease.gpu + "\nboot " + lease.boot + "\npid " + std::to_string(lease.pid) +
          "\npid_start " + std::to_string(lease.pid_start) + '\n';
  if (lease.gpu_mhz) text += "gpu_mhz " + Mhz(*lease.gpu_mhz) + '\n';
  if (lease.memory_mhz) text += "memory_mhz " + Mhz(*lease.memory_mhz) + '\n';
  if (lease.reads_mhz != 0) text += "reads_mhz " + std::to_string(lease.reads_mhz) + '\n';
  return text + "end\n";
}

Result<ClockLease> DecodeLease(std::string_view text) {
  const auto damaged = [](std::string_view line) {
    return Error{"not a clock lease: \"" + std::string(line.substr(0, 80)) + "\"", Advice::kReject};
  };
  std::map<std::string, std::string, std::less<>> values;
  bool first = true, ended = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || ended) return damaged(text);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (std::exchange(first, false)) {
      if (line != kTitle) return damaged(line);
      continue;
    }
    ended = line == "end";
    if (ended) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space + 1 == line.size()) return damaged(line);
    values.emplace(line.substr(0, space), line.substr(space + 1));
  }
  if (!ended) return damaged("a part of one");
  const auto take = [&](std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  ClockLease lease;
  lease.gpu = take("gpu");
  lease.boot = take("boot");
  const auto pid = ToNumber<pid_t>(take("pid"));
  const auto pid_start = ToNumber<std::uint64_t>(take("pid_start"));
  if (lease.gpu.empty() || lease.boot.empty() || !pid || *pid <= 0 || !pid_start) {
    return damaged(kTitle);
  }
  lease.pid = *pid;
  lease.pid_start = *pid_start;
  for (const auto& [key, into] :
       {std::pair{"gpu_mhz", &lease.gpu_mhz}, std::pair{"memory_mhz", &lease.memory_mhz}}) {
    if (!values.contains(key)) continue;
    *into = ToMhz(take(key));
    if (!*into) return damaged(std::string(key) + " " + take(key));
  }
  if (values.contains("reads_mhz")) {
    const auto reads = ToNumber<std::uint32_t>(take("reads_mhz"));
    if (!reads) return damaged("reads_mhz " + take("reads_mhz"));
    lease.reads_mhz = *reads;
  }
  return lease;
}

LeaseState Judge(const ClockLease& lease, const Machine& machine) {
  if (lease.boot != machine.boot) return LeaseState::kOtherBoot;
  // A number is used again; with its start it is one process.
  return machine.start_of(lease.pid) == lease.pid_start ? LeaseState::kHeld : LeaseState::kStale;
}

std::string Describe(const ClockLease& lease) {
  const auto at = [](std::uint32_t mhz) {
    return mhz == kBaseClock ? std::string("the base clock") : std::to_string(mhz) + " MHz";
  };
  std::string text;
  if (lease.gpu_mhz) {
    text = "the clock of " + lease.gpu + " at " +
           at(*lease.gpu_mhz == kBaseClock ? lease.reads_mhz : *lease.gpu_mhz);
  }
  if (lease.memory_mhz) {
    text += (text.empty() ? "" : ", ") + std::string("the memory clock of ") + lease.gpu + " at " +
            at(*lease.memory_mhz);
  }
  return text.empty() ? "nothing of " + lease.gpu : text;
}

}  // namespace pawl
