#include "worker/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "schema/codec.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

// A slot:  "PAWLSPL1"  order:u64  ledger length:u32  report length:u32  ledger  report  SHA-256 of
// all that A head:  "PAWLHED1"  turn:u64   ledger length:u32  0:u32  seq:u64  digest:32  ledger
// SHA-256 of all that Numbers are little endian. A free slot's first byte is zero.
constexpr std::string_view kSlotMagic = "PAWLSPL1";
constexpr std::string_view kHeadMagic = "PAWLHED1";
constexpr std::size_t kSlotBytes =
    16 << 10;  // holds any usual report; a longer one makes its file grow
constexpr std::size_t kHeadStride = 512;  // two copies of a head, in sectors of their own
constexpr std::size_t kMaxLedgerName = 64;
constexpr std::uint64_t kHeadSyncEvery = 100;
constexpr std::size_t kMaxHeads = 256;  // of ledgers; the ones unseen the longest are forgotten

class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

Error Failed(const std::string& what, const std::string& path) {
  return Error{path + ": " + what + ": " + std::strerror(errno), Advice::kHalt};
}

Status WriteAt(const File& file, std::string_view bytes, std::size_t offset,
               const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return Failed("write", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return {};
}

Status SyncFolder(const std::string& folder) {
  const File opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || fsync(opened.fd()) != 0) return Failed("fsync", folder);
  return {};
}

Result<std::string> ReadAll(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Failed("open", path);
  std::string bytes;
  char piece[16 << 10];
  while (true) {
    const ssize_t got = read(file.fd(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return bytes;
    bytes.append(piece, static_cast<std::size_t>(got));
  }
}

template <typename Number>
void Append(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  }
}

// Reads fields off the front; a field that is not there leaves it spent.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number Take() {
    Number number = 0;
    const std::string_view field = Take(sizeof number);
    for (std::size_t i = 0; i < field.size(); ++i) {
      number |= static_cast<Number>(static_cast<std::uint8_t>(field[i])) << (8 * i);
    }
    return number;
  }
  std::string_view Take(std::size_t length) {
    if (spent_ || length > bytes_.size() - at_) {
      spent_ = true;
      return {};
    }
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  // Whether everything taken so far is followed by its checksum.
  bool Checked() {
    const std::size_t end = at_;
    const std::string_view sum = Take(sizeof(Digest::bytes));
    return !spent_ &&
           std::memcmp(Sha256(bytes_.substr(0, end)).bytes.data(), sum.data(), sum.size()) == 0;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool spent_ = false;
};

void AppendChecksum(std::string& bytes) {
  const Digest sum = Sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size());
}

struct Slot {
  std::string path;
  File file;
  std::size_t bytes = 0;  // the file's size: all of it written and synced once
  std::optional<Digest> holds;
};

struct Remembered {
  LedgerHead head;
  std::uint64_t turn = 0;  // counts Remembers over all ledgers; the highest was last
  bool second = false;     // which copy holds it; the next one goes to the other
};

std::string EncodeSlot(std::uint64_t order, const LedgerId& ledger, std::string_view report) {
  std::string bytes(kSlotMagic);
  Append(bytes, order);
  Append(bytes, static_cast<std::uint32_t>(ledger.value.size()));
  Append(bytes, static_cast<std::uint32_t>(report.size()));
  bytes += ledger.value;
  bytes += report;
  AppendChecksum(bytes);
  return bytes;
}

std::string EncodeHead(const Remembered& remembered) {
  std::string bytes(kHeadMagic);
  Append(bytes, remembered.turn);
  Append(bytes, static_cast<std::uint32_t>(remembered.head.ledger.value.size()));
  Append(bytes, std::uint32_t{0});
  Append(bytes, remembered.head.seq.value);
  const auto& digest = remembered.head.digest.bytes;
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  bytes += remembered.head.ledger.value;
  AppendChecksum(bytes);
  return bytes;
}

std::optional<Remembered> DecodeHead(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.Take(kHeadMagic.size()) != kHeadMagic) return std::nullopt;
  Remembered remembered;
  remembered.turn = reader.Take<std::uint64_t>();
  const auto ledger_length = reader.Take<std::uint32_t>();
  reader.Take<std::uint32_t>();
  remembered.head.seq = Seq(reader.Take<std::uint64_t>());
  const std::string_view digest = reader.Take(sizeof(Digest::bytes));
  const std::string_view ledger = reader.Take(ledger_length);
  if (!reader.Checked()) return std::nullopt;
  std::memcpy(remembered.head.digest.bytes.data(), digest.data(), digest.size());
  remembered.head.ledger = LedgerId(std::string(ledger));
  return remembered;
}

}  // namespace

struct Spool::State {
  std::string folder;
  File lock;
  std::vector<Slot> slots;
  std::vector<SpooledReport> pending;
  std::vector<std::string> notes;
  std::uint64_t next_order = 1;
  std::map<LedgerId, Remembered> heads;
  std::uint64_t next_turn = 1;
  std::set<LedgerId> unsynced;
  std::uint64_t remembered_since_sync = 0;
  std::optional<Error> broken;  // by a failed write or sync

  Status Load();
  Status LoadSlot(const std::string& path,
                  std::vector<std::pair<std::uint64_t, SpooledReport>>& found);
  Status LoadHead(const std::string& path);
  Status SetAside(const std::string& path, const std::string& why);
  Result<Slot*> FreeSlot(std::size_t bytes);
  Status SyncHeads();
  std::string HeadPath(const LedgerId& ledger) const {
    return folder + "/head-" + Sha256(ledger.value).Short();
  }
  template <typename T>
  T Break(T failed) {
    broken = failed.error();
    return failed;
  }
};

Status Spool::State::SetAside(const std::string& path, const std::string& why) {
  for (int i = 1;; ++i) {
    const std::string aside = folder + "/damaged-" + std::to_string(i);
    if (access(aside.c_str(), F_OK) == 0) continue;
    if (rename(path.c_str(), aside.c_str()) != 0) return Failed("rename", path);
    notes.push_back(path + ": " + why + "; set aside as " + aside);
    return {};
  }
}

Status Spool::State::LoadSlot(const std::string& path,
                              std::vector<std::pair<std::uint64_t, SpooledReport>>& found) {
  const Result<std::string> bytes = ReadAll(path);
  if (!bytes) return bytes.error();
  // Made, but not to its full length: no report was ever in it. Anything but zeros in a short file
  // is a report that the disk has lost the end of.
  if (bytes->size() < kSlotBytes) {
    if (bytes->find_first_not_of('\0') != std::string::npos) {
      return SetAside(path, "a report that was cut short or changed on the disk");
    }
    if (unlink(path.c_str()) != 0) return Failed("unlink", path);
    return {};
  }
  Slot slot;
  slot.path = path;
  slot.bytes = bytes->size();
  if ((*bytes)[0] != '\0') {
    Reader reader(*bytes);
    const bool ours = reader.Take(kSlotMagic.size()) == kSlotMagic;
    const auto order = reader.Take<std::uint64_t>();
    const auto ledger_length = reader.Take<std::uint32_t>();
    const auto report_length = reader.Take<std::uint32_t>();
    const std::string_view ledger = reader.Take(ledger_length);
    const std::string_view encoded = reader.Take(report_length);
    if (!ours || !reader.Checked()) {
      return SetAside(path, "a report that was cut short or changed on the disk");
    }
    Result<Report> report = DecodeReport(encoded);
    if (!report) return SetAside(path, "a report that cannot be read: " + report.error().message);
    const Digest digest = Sha256(encoded);
    slot.holds = digest;
    found.emplace_back(order,
                       SpooledReport{digest, LedgerId(std::string(ledger)), std::move(*report)});
    next_order = std::max(next_order, order + 1);
  }
  slot.file = File(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!slot.file) return Failed("open", path);
  slots.push_back(std::move(slot));
  return {};
}

Status Spool::State::LoadHead(const std::string& path) {
  const Result<std::string> bytes = ReadAll(path);
  if (!bytes) return bytes.error();
  std::optional<Remembered> newest;
  for (const std::size_t offset : {std::size_t{0}, kHeadStride}) {
    if (bytes->size() <= offset) continue;
    std::optional<Remembered> copy = DecodeHead(std::string_view(*bytes).substr(offset));
    if (!copy || (newest && copy->head.seq < newest->head.seq)) continue;
    copy->second = offset != 0;
    newest = copy;
  }
  if (!newest) return SetAside(path, "no readable ledger head in it");
  next_turn = std::max(next_turn, newest->turn + 1);
  heads[newest->head.ledger] = *newest;
  return {};
}

Status Spool::State::Load() {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    paths.push_back(it->path().string());
  }
  if (error) return Error{folder + ": " + error.message(), Advice::kHalt};
  std::sort(paths.begin(), paths.end());

  std::vector<std::pair<std::uint64_t, SpooledReport>> found;
  for (const std::string& path : paths) {
    const std::string name = fs::path(path).filename().string();
    if (name.rfind("slot-", 0) == 0) {
      if (const Status loaded = LoadSlot(path, found); !loaded) return loaded;
    } else if (name.rfind("head-", 0) == 0) {
      if (const Status loaded = LoadHead(path); !loaded) return loaded;
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, report] : found) pending.push_back(std::move(report));

  while (heads.size() > kMaxHeads) {
    const auto oldest = std::min_element(
        heads.begin(), heads.end(),
        [](const auto& a, const auto& b) { return a.second.turn < b.second.turn; });
    unlink(HeadPath(oldest->first).c_str());
    heads.erase(oldest);
  }
  return {};
}

// A free slot of at least `bytes`; made, or made longer, when there is none.
Result<Slot*> Spool::State::FreeSlot(std::size_t bytes) {
  Slot* chosen = nullptr;
  for (Slot& slot : slots) {
    if (slot.holds) continue;
    if (!chosen || slot.bytes > chosen->bytes) chosen = &slot;
  }
  if (chosen && chosen->bytes >= bytes) return chosen;

  const bool made = chosen == nullptr;
  if (made) {
    Slot slot;
    for (int i = 0; !slot.file; ++i) {
      slot.path = folder + "/slot-" + std::to_string(i);
      slot.file = File(open(slot.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!slot.file && errno != EEXIST) return Failed("open", slot.path);
    }
    slots.push_back(std::move(slot));
    chosen = &slots.back();
  }
  const std::size_t wanted = (bytes + kSlotBytes - 1) / kSlotBytes * kSlotBytes;
  const std::string zeros(wanted - chosen->bytes, '\0');
  if (const Status written = WriteAt(chosen->file, zeros, chosen->bytes, chosen->path); !written) {
    return written.error();
  }
  if (fsync(chosen->file.fd()) != 0) return Failed("fsync", chosen->path);
  if (made) {
    if (const Status synced = SyncFolder(folder); !synced) return synced.error();
  }
  chosen->bytes = wanted;
  return chosen;
}

Status Spool::State::SyncHeads() {
  for (const LedgerId& ledger : unsynced) {
    const std::string path = HeadPath(ledger);
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || fsync(file.fd()) != 0) return Failed("fsync", path);
  }
  unsynced.clear();
  remembered_since_sync = 0;
  return SyncFolder(folder);
}

Spool::Spool(std::unique_ptr<State> state) : state_(std::move(state)) {}

Spool::~Spool() {
  // A head that does not reach the disk is an older witness, not a wrong one: nothing to say here.
  if (!state_->broken && !state_->unsynced.empty()) (void)state_->SyncHeads();
}

Result<std::unique_ptr<Spool>> Spool::Open(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{folder + ": " + error.message(), Advice::kHalt};
  auto state = std::make_unique<State>();
  state->folder = folder;
  const std::string lock = folder + "/lock";
  state->lock = File(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!state->lock) return Failed("open", lock);
  if (flock(state->lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed("flock", lock);
    return Error{folder + ": another worker has it open; give this one another --slot or --state",
                 Advice::kRetry};
  }
  if (const Status loaded = state->Load(); !loaded) return loaded.error();
  return std::unique_ptr<Spool>(new Spool(std::move(state)));
}

Result<Digest> Spool::Put(const Report& report, const LedgerId& ledger) {
  if (state_->broken) return *state_->broken;
  const std::string encoded = EncodeReport(report);
  const Digest digest = Sha256(encoded);
  for (const SpooledReport& pending : state_->pending) {
    if (pending.digest == digest && pending.ledger == ledger) return digest;
  }
  const std::string bytes = EncodeSlot(state_->next_order, ledger, encoded);
  const Result<Slot*> slot = state_->FreeSlot(bytes.size());
  if (!slot) return state_->Break(Result<Digest>(slot.error()));
  if (const Status written = WriteAt((*slot)->file, bytes, 0, (*slot)->path); !written) {
    return state_->Break(Result<Digest>(written.error()));
  }
  if (fdatasync((*slot)->file.fd()) != 0) {
    return state_->Break(Result<Digest>(Failed("fdatasync", (*slot)->path)));
  }
  ++state_->next_order;
  (*slot)->holds = digest;
  state_->pending.push_back(SpooledReport{digest, ledger, report});
  return digest;
}

void Spool::Remove(const Digest& report) {
  std::vector<SpooledReport>& pending = state_->pending;
  pending.erase(std::remove_if(pending.begin(), pending.end(),
                               [&](const SpooledReport& one) { return one.digest == report; }),
                pending.end());
  for (Slot& slot : state_->slots) {
    if (slot.holds != report) continue;
    slot.holds.reset();
    // If this write fails the report is only sent once more after a restart.
    (void)WriteAt(slot.file, std::string_view("\0", 1), 0, slot.path);
  }
}

const std::vector<SpooledReport>& Spool::Pending() const { return state_->pending; }
const std::vector<std::string>& Spool::Notes() const { return state_->notes; }

LedgerHead Spool::Head(const LedgerId& ledger) const {
  const auto found = state_->heads.find(ledger);
  return found == state_->heads.end() ? LedgerHead{} : found->second.head;
}

LedgerHead Spool::LastHead() const {
  const Remembered* last = nullptr;
  for (const auto& [ledger, remembered] : state_->heads) {
    if (!last || remembered.turn > last->turn) last = &remembered;
  }
  return last ? last->head : LedgerHead{};
}

Status Spool::Remember(const LedgerHead& head) {
  if (state_->broken) return *state_->broken;
  if (head.ledger.value.empty()) return {};
  if (head.ledger.value.size() > kMaxLedgerName) {
    return Error{"ledger id of " + std::to_string(head.ledger.value.size()) + " bytes, at most " +
                 std::to_string(kMaxLedgerName) + " are remembered"};
  }
  const auto found = state_->heads.find(head.ledger);
  if (found != state_->heads.end() && found->second.head.seq >= head.seq) return {};

  const bool second = found != state_->heads.end() && !found->second.second;
  const Remembered remembered{head, state_->next_turn++, second};
  const std::string path = state_->HeadPath(head.ledger);
  const File file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return state_->Break(Status(Failed("open", path)));
  const std::string bytes = EncodeHead(remembered);
  if (const Status written = WriteAt(file, bytes, second ? kHeadStride : 0, path); !written) {
    return state_->Break(written);
  }
  state_->heads[head.ledger] = remembered;
  state_->unsynced.insert(head.ledger);
  if (++state_->remembered_since_sync >= kHeadSyncEvery) {
    if (const Status synced = state_->SyncHeads(); !synced) return state_->Break(synced);
  }
  return {};
}

}  // namespace pawl
