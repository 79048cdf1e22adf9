#include "worker/evidence.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace pawl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSuffix = ".jsonl.zst";
constexpr int kCompression = 3;
constexpr std::size_t kMaxLoadBytes = std::size_t{1} << 30;

// First a line that says what was ordered and what ran, then a line for each visit, in the order
// they ran.
std::string Lines(const Order& order, const Report& report, const std::vector<Samples>& samples) {
  Json head;
  head["order"] = report.order.Hex();
  head["kind"] = Name(order.kind);
  head["track"] = order.track.value;
  head["generation"] = order.generation.value;
  head["attempt"] = order.attempt.value;
  head["batch"] = order.batch;
  head["operation"] = order.operation;
  head["worker"] = report.worker.value;
  head["device_model"] = order.device_model;
  head["toolchain"] = report.toolchain;
  head["outcome"] = Name(report.outcome.kind);
  head["instrument"] = Name(order.timing.instrument);
  head["warmup"] = order.timing.warmup;
  head["iterations"] = order.timing.iterations;
  head["cold_cache"] = order.timing.cold_cache;
  head["input_seeds"] = order.input_seeds;
  Json arms = Json::array();
  for (const Arm& arm : order.arms) {
    Json one;
    one["role"] = Name(arm.role);
    one["label"] = arm.label;
    one["configuration"] = arm.configuration.Text();
    if (arm.source && *arm.source < order.sources.size()) {
      one["source"] = order.sources[*arm.source].digest.Hex();
    }
    for (const BuildFacts& build : report.builds) {
      if (build.arm == arm.role) one["object"] = build.object.Hex();
    }
    arms.push_back(std::move(one));
  }
  head["arms"] = std::move(arms);

  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  std::string lines = text(head);
  for (const Samples& visit : samples) {
    Json line;
    line["round"] = visit.round;
    line["recorded"] = visit.recorded;
    line["arm"] = Name(visit.arm);
    line["input_set"] = visit.input_set;
    line["clock_mhz"] = visit.clock_mhz;
    if (const DeviceConditions& seen = visit.conditions; seen != DeviceConditions{}) {
      line["clock_reasons"] = seen.clock_reasons;
      line["memory_mhz"] = seen.memory_mhz;
      line["temperature_c"] = seen.temperature_c;
      line["power_w"] = seen.power_w;
      line["foreign_processes"] = seen.foreign_processes;
    }
    line["us"] = visit.us;
    lines += text(line);
  }
  return lines;
}

// Both leave errno where they fail.
bool WriteSynced(const fs::path& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  bool fine = true;
  while (fine && !bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    fine = written > 0 || (written < 0 && errno == EINTR);
  }
  fine = fine && ::fsync(fd) == 0;
  const int why = errno;
  ::close(fd);
  errno = why;
  return fine;
}

bool SyncFolder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool fine = ::fsync(fd) == 0;
  const int why = errno;
  ::close(fd);
  errno = why;
  return fine;
}

}  // namespace

struct Evidence::State {
  std::string folder;
  std::uint64_t max_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t next_name = 0;

  fs::path PathOf(const Digest& digest) const {
    return fs::path(folder) / (digest.Hex() + kSuffix);
  }

  // Takes the oldest away until a tenth below the cap; never the newest.
  void Trim() {
    struct Entry {
      fs::path path;
      fs::file_time_type written;
      std::uint64_t bytes;
    };
    std::vector<Entry> entries;
    std::error_code failed;
    total_bytes = 0;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end;
         it.increment(failed)) {
      std::error_code gone;
      const std::uint64_t bytes = it->file_size(gone);
      if (gone) continue;
      const fs::file_time_type written = it->last_write_time(gone);
      if (gone) continue;
      entries.push_back({it->path(), written, bytes});
      total_bytes += bytes;
    }
    if (total_bytes <= max_bytes || entries.empty()) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.written != b.written ? a.written < b.written : a.path < b.path;
    });
    entries.pop_back();
    const std::uint64_t goal = max_bytes - max_bytes / 10;
    for (const Entry& entry : entries) {
      if (total_bytes <= goal) return;
      std::error_code gone;
      fs::remove(entry.path, gone);
      total_bytes -= entry.bytes;
    }
  }
};

Evidence::Evidence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evidence::~Evidence() = default;

Result<std::unique_ptr<Evidence>> Evidence::Open(const std::string& folder,
                                                 std::uint64_t max_bytes) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return Error{folder + ": cannot make the folder for evidence: " + failed.message(),
                 Advice::kReject};
  }
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->max_bytes = max_bytes;
  state->Trim();
  return std::unique_ptr<Evidence>(new Evidence(std::move(state)));
}

Result<Digest> Evidence::Store(const Order& order, const Report& report,
                               const std::vector<Samples>& samples) {
  if (samples.empty()) return Digest{};
  const std::string lines = Lines(order, report, samples);
  std::string packed(ZSTD_compressBound(lines.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), lines.data(), lines.size(), kCompression);
  CHECK(!ZSTD_isError(size), ZSTD_getErrorName(size));
  packed.resize(size);
  const Digest digest = Sha256(packed);
  const fs::path path = state_->PathOf(digest);
  std::error_code failed;
  if (fs::exists(path, failed)) return digest;

  const fs::path aside = fs::path(state_->folder) / ("aside." + std::to_string(::getpid()) + "." +
                                                     std::to_string(state_->next_name++));
  // The report that names it is synced: after a power loss it must not name an empty file.
  if (!WriteSynced(aside, packed) || ::rename(aside.c_str(), path.c_str()) != 0 ||
      !SyncFolder(state_->folder)) {
    const std::string why = std::strerror(errno);
    fs::remove(aside, failed);
    return Error{path.string() + ": cannot write evidence: " + why, Advice::kRetry};
  }
  state_->total_bytes += packed.size();
  if (state_->total_bytes > state_->max_bytes) state_->Trim();
  return digest;
}

Result<std::string> Evidence::Load(const Digest& digest) const {
  const std::string path = state_->PathOf(digest).string();
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{path + ": no such evidence; the oldest files go when the folder is at its cap",
                 Advice::kReject};
  }
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  if (Sha256(packed) != digest) {
    return Error{path + ": damaged: its bytes have the digest " + Sha256(packed).Short(),
                 Advice::kReject};
  }
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kMaxLoadBytes) {
    return Error{path + ": not evidence: its unpacked size is not plausible", Advice::kReject};
  }
  std::string lines(size, '\0');
  const std::size_t got = ZSTD_decompress(lines.data(), lines.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != size) {
    return Error{path + ": cannot be unpacked", Advice::kReject};
  }
  return lines;
}

}  // namespace pawl
