#include "coordinator/ledger/witness.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "coordinator/ledger/store.h"
#include "schema/digest.h"

namespace pawl {
namespace {

constexpr std::size_t kRecordBytes = 256;
constexpr int kMostLooks = 3;
constexpr std::string_view kPrefix = "pawl head ledger=";

std::string PathOf(const std::string& folder) { return folder + "/HEAD"; }

std::string Record(const LedgerHead& head) {
  std::string record(kPrefix);
  record +=
      head.ledger.value + " seq=" + std::to_string(head.seq.value) + " digest=" + head.digest.Hex();
  record += " check=" + Sha256(record).Hex().substr(0, 16);
  CHECK(record.size() < kRecordBytes, record);
  record.resize(kRecordBytes - 1, ' ');
  return record + '\n';
}

bool TakeField(std::string_view& rest, std::string_view name, std::string_view* value) {
  if (rest.substr(0, name.size()) != name) return false;
  rest.remove_prefix(name.size());
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos) return false;
  *value = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

std::optional<LedgerHead> Parse(std::string_view record) {
  std::string_view ledger;
  std::string_view seq;
  std::string_view digest;
  std::string_view rest = record;
  if (!TakeField(rest, kPrefix, &ledger) || !TakeField(rest, "seq=", &seq) ||
      !TakeField(rest, "digest=", &digest)) {
    return std::nullopt;
  }
  LedgerHead head;
  head.ledger = LedgerId(std::string(ledger));
  const auto parsed = std::from_chars(seq.data(), seq.data() + seq.size(), head.seq.value);
  if (parsed.ec != std::errc() || parsed.ptr != seq.data() + seq.size()) return std::nullopt;
  const Result<Digest> parsed_digest = Digest::FromHex(digest);
  if (!parsed_digest) return std::nullopt;
  head.digest = *parsed_digest;
  // The whole record has to be the one that this head makes: nothing in it may have changed.
  if (Record(head) != record) return std::nullopt;
  return head;
}

Error WriteError(const std::string& path, const rocksdb::Status& status) {
  return Error{path + ": " + Text(status) + "; mend the disk and start again", Advice::kHalt};
}

}  // namespace

Result<Witness::Reading> Witness::Read(rocksdb::Env* env, const std::string& folder) {
  // Beside a writer a slot may be read half written; the next look finds it whole.
  Result<Reading> reading = ReadOnce(env, folder);
  for (int again = 0; again < kMostLooks && reading && reading->damaged && reading->head; ++again) {
    reading = ReadOnce(env, folder);
  }
  return reading;
}

Result<Witness::Reading> Witness::ReadOnce(rocksdb::Env* env, const std::string& folder) {
  Reading reading;
  const rocksdb::Status exists = env->FileExists(PathOf(folder));
  if (exists.IsNotFound()) return reading;
  reading.exists = true;
  std::string bytes;
  const rocksdb::Status status = rocksdb::ReadFileToString(env, PathOf(folder), &bytes);
  if (!status.ok()) {
    return Error{PathOf(folder) + ": " + Text(status) + "; make it readable", Advice::kHalt};
  }
  reading.damaged = bytes.size() != 2 * kRecordBytes;
  for (std::size_t at = 0; at + kRecordBytes <= bytes.size() && at < 2 * kRecordBytes;
       at += kRecordBytes) {
    const std::optional<LedgerHead> head = Parse(std::string_view(bytes).substr(at, kRecordBytes));
    if (!head) {
      reading.damaged = true;
    } else if (!reading.head || head->seq > reading.head->seq) {
      reading.head = head;
    }
  }
  return reading;
}

Result<std::unique_ptr<Witness>> Witness::Open(rocksdb::Env* env, const std::string& folder,
                                               const LedgerHead& head) {
  const std::string path = PathOf(folder);
  const std::string fresh = path + ".new";
  rocksdb::Status status =
      rocksdb::WriteStringToFile(env, Record(head) + Record(head), fresh, /*should_sync=*/true);
  if (status.ok()) status = env->RenameFile(fresh, path);
  if (!status.ok()) return WriteError(path, status);
  std::unique_ptr<rocksdb::Directory> directory;
  status = env->NewDirectory(folder, &directory);
  if (status.ok()) status = directory->Fsync();
  if (!status.ok()) return WriteError(folder, status);
  std::unique_ptr<rocksdb::RandomRWFile> file;
  status = env->NewRandomRWFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return WriteError(path, status);
  return std::unique_ptr<Witness>(new Witness(path, std::move(file)));
}

Witness::Witness(std::string path, std::unique_ptr<rocksdb::RandomRWFile> file)
    : path_(std::move(path)), file_(std::move(file)) {}

Status Witness::Put(const LedgerHead& head) {
  const rocksdb::Status status = file_->Write(next_slot_ * kRecordBytes, Record(head));
  if (!status.ok()) return WriteError(path_, status);
  next_slot_ = 1 - next_slot_;
  return {};
}

Status Witness::Sync() {
  const rocksdb::Status status = file_->Sync();
  if (!status.ok()) return WriteError(path_, status);
  return {};
}

}  // namespace pawl
