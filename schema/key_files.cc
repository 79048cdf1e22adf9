#include "schema/key_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 1 << 20;  // more than any list of hosts
constexpr mode_t kOthersRead = 0077;         // any access at all
constexpr mode_t kOthersWrite = 0022;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

Error Failed(const std::string& what, const std::string& path) {
  return Error{"cannot " + what + " " + path + ": " + std::strerror(errno)};
}

std::string Octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

Status CheckOwner(const struct stat& status, const std::string& path, mode_t forbidden,
                  const std::string& harm, const std::string& wanted) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Error{path + " belongs to another user (" + std::to_string(status.st_uid) +
                 "); its keys are not used"};
  }
  if ((status.st_mode & forbidden) == 0) return {};
  return Error{path + ": other users can " + harm + " it (mode " + Octal(status.st_mode) +
               "); chmod " + wanted + " it" +
               (harm == "read" ? ", and make a new key if somebody has" : "")};
}

Status CheckFolder(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return Failed("look into", folder);
  if (!S_ISDIR(status.st_mode)) return Error{folder + " is no folder"};
  return CheckOwner(status, folder, kOthersWrite, "write to", "700");
}

// nullopt: there is none.
Result<std::optional<std::string>> ReadWhole(const std::string& path, mode_t forbidden,
                                             const std::string& harm, const std::string& wanted) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd() < 0) {
    if (errno == ENOENT) return std::optional<std::string>();
    return Failed("read", path);
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return Failed("look at", path);
  if (!S_ISREG(status.st_mode)) return Error{path + " is no file"};
  if (Status owned = CheckOwner(status, path, forbidden, harm, wanted); !owned) {
    return owned.error();
  }
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = ::read(file.fd(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return Error{path + " is longer than 1 MiB"};
  }
}

Status WriteWhole(const std::string& path, int flags, mode_t mode, const std::string& text) {
  const File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode));
  if (file.fd() < 0) {
    if (errno == EEXIST) return Error{path + " is there already"};
    return Failed("make", path);
  }
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t put = ::write(file.fd(), left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write", path);
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.fd()) != 0) return Failed("write", path);
  return {};
}

// Beside the file that it is to become, readable by nobody that the file is not. Gone again unless
// it has become it.
class NextFile {
 public:
  explicit NextFile(const std::string& path) : path_(path), next_(path + ".new") {}
  ~NextFile() { ::unlink(next_.c_str()); }
  NextFile(const NextFile&) = delete;
  NextFile& operator=(const NextFile&) = delete;

  Status Write(mode_t mode, const std::string& text) const {
    ::unlink(next_.c_str());  // of one that was killed
    return WriteWhole(next_, O_EXCL, mode, text);
  }
  Status Replace() const {
    if (::rename(next_.c_str(), path_.c_str()) != 0) return Failed("replace", path_);
    return {};
  }

 private:
  const std::string path_, next_;
};

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const fs::path parent = fs::absolute(folder, error).parent_path();
  if (!error) fs::create_directories(parent, error);
  if (error) return Error{"cannot make " + parent.string() + ": " + error.message()};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return Failed("make", folder);
  return CheckFolder(folder);
}

Result<std::string> ReadAllowText(const std::string& folder) {
  if (Status checked = CheckFolder(folder); !checked) return checked.error();
  auto text = ReadWhole(AllowFileIn(folder), kOthersWrite, "write to", "600");
  if (!text) return text.error();
  return text->value_or("");
}

}  // namespace

std::string DefaultKeyFolder() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder != '\0') {
    return std::string(folder) + "/pawl/keys";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.config/pawl/keys";
  }
  return "pawl-keys";
}

std::string AllowFileIn(const std::string& folder) { return folder + "/allowed"; }

Status WriteKeyPair(const std::string& folder, const KeyPair& pair) {
  if (Status made = MakeFolder(folder); !made) return made;
  const File lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.fd() < 0 || ::flock(lock.fd(), LOCK_EX) != 0) return Failed("lock", folder);
  const std::string secret = folder + "/secret.key";
  struct stat status {};
  if (::lstat(secret.c_str(), &status) == 0) return Error{secret + " is there already"};
  if (errno != ENOENT) return Failed("look at", secret);
  const NextFile next_secret(secret), next_public(folder + "/public.key");
  Status done = next_secret.Write(0600, SecretKeyText(pair.secret_key));
  if (done) done = next_public.Write(0644, PublicKeyText(pair.public_key));
  if (done) done = next_public.Replace();
  if (done) done = next_secret.Replace();
  if (done && ::fsync(lock.fd()) != 0) return Failed("write", folder);
  return done;
}

Result<SecretKey> ReadSecretKey(const std::string& folder) {
  if (::access(folder.c_str(), F_OK) != 0) {
    return Error{"no folder " + folder + " of keys; pawl keys new --folder " + folder +
                 " makes it"};
  }
  if (Status checked = CheckFolder(folder); !checked) return checked.error();
  const std::string path = folder + "/secret.key";
  auto text = ReadWhole(path, kOthersRead, "read", "600");
  if (!text) return text.error();
  if (!*text) {
    return Error{"no secret key " + path + "; pawl keys new --folder " + folder + " makes one"};
  }
  return ParseSecretKey(**text, path);
}

Result<PublicKey> ReadPublicKey(const std::string& file) {
  auto text = ReadWhole(file, kOthersWrite, "write to", "644");
  if (!text) return text.error();
  if (!*text) return Error{"no file " + file + " with a public key"};
  return ParsePublicKey(**text, file);
}

Result<PublicKey> PublicKeyOrFile(const std::string& key_or_file) {
  if (auto key = PublicKey::FromHex(key_or_file)) return key;
  if (::access(key_or_file.c_str(), F_OK) == 0) return ReadPublicKey(key_or_file);
  // It may be most of a secret: not said.
  return Error{"what is given, " + std::to_string(key_or_file.size()) +
               " characters, is neither a public key (64 hexadecimal digits) nor a file"};
}

Result<AllowList> ReadAllowList(const std::string& folder) {
  auto text = ReadAllowText(folder);
  if (!text) return text.error();
  return ParseAllowList(*text, AllowFileIn(folder));
}

Status PrepareAllowList(const std::string& folder) {
  if (Status checked = CheckFolder(folder); !checked) return checked;
  const std::string path = AllowFileIn(folder);
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    const Status made = ChangeAllowList(
        folder, [](std::string_view text) -> Result<std::string> { return std::string(text); });
    if (!made) return made;
  }
  const auto list = ReadAllowList(folder);
  if (!list) return list.error();
  if (list->whole) return {};
  return Error{path +
               " is empty or ends in the middle of a line; end the line, or, where it is no "
               "list yet, take the file away"};
}

Status ChangeAllowList(const std::string& folder,
                       const std::function<Result<std::string>(std::string_view text)>& change) {
  if (Status made = MakeFolder(folder); !made) return made;
  const File lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.fd() < 0 || ::flock(lock.fd(), LOCK_EX) != 0) return Failed("lock", folder);
  auto text = ReadAllowText(folder);
  if (!text) return text.error();
  auto changed = change(*text);
  if (!changed) return changed.error();
  if (changed->empty()) *changed = "\n";
  const NextFile next(AllowFileIn(folder));
  if (Status written = next.Write(0600, *changed); !written) return written;
  if (Status replaced = next.Replace(); !replaced) return replaced;
  if (::fsync(lock.fd()) != 0) return Failed("write", folder);
  return {};
}

}  // namespace pawl
