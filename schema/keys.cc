#include "schema/keys.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "schema/digest.h"

namespace pawl {
namespace {

constexpr std::size_t kMostNameBytes = 64;
constexpr std::string_view kOperator = "operator";
constexpr std::string_view kSpace = " \t\r";

std::string HexOf(const KeyBytes& bytes) {
  Digest as_digest;
  as_digest.bytes = bytes;
  return as_digest.Hex();
}

Result<KeyBytes> KeyFromHex(std::string_view hex) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (hex.size() != 2 * kKeyBytes || !std::all_of(hex.begin(), hex.end(), is_digit)) {
    // Not the text itself: it may be most of a secret.
    return Error{"not a key; 64 hexadecimal digits are wanted, these are " +
                 std::to_string(hex.size()) + " characters"};
  }
  auto digest = Digest::FromHex(hex);
  if (!digest) return digest.error();
  return digest->bytes;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// The lines of a text, with their ends. `each` gets the words of one; none for what says nothing.
Status ForEachLine(std::string_view text, const std::string& file,
                   const std::function<Status(std::string_view line,
                                              const std::vector<std::string_view>& words)>& each) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t newline = text.find('\n');
    const std::size_t length = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length);
    const std::string_view body =
        newline == std::string_view::npos ? line : line.substr(0, newline);
    std::vector<std::string_view> words = WordsOf(body);
    if (!words.empty() && words.front().starts_with('#')) words.clear();
    if (Status taken = each(line, words); !taken) {
      return Error{file + ":" + std::to_string(number) + ": " + taken.error().message};
    }
  }
  return {};
}

Result<KeyBytes> ParseKey(std::string_view text, const std::string& file, const std::string& kind) {
  std::optional<KeyBytes> key;
  const Status read = ForEachLine(
      text, file, [&](std::string_view, const std::vector<std::string_view>& words) -> Status {
        if (words.empty()) return {};
        if (words.front() != kind || words.size() != 2) {
          const bool other = words.front() == "public" || words.front() == "secret";
          return Error{(other && words.front() != kind
                            ? "holds a " + std::string(words.front()) + " key; "
                            : std::string()) +
                       "one line \"" + kind + " KEY\" is wanted"};
        }
        if (key) return Error{"a second key; one is wanted"};
        auto parsed = KeyFromHex(words[1]);
        if (!parsed) return parsed.error();
        key = *parsed;
        return {};
      });
  if (!read) return read.error();
  if (!key) return Error{file + ": no key in it; one line \"" + kind + " KEY\" is wanted"};
  return *key;
}

}  // namespace

std::string PublicKey::Hex() const { return HexOf(bytes); }

Result<PublicKey> PublicKey::FromHex(std::string_view hex) {
  auto parsed = KeyFromHex(hex);
  if (!parsed) return parsed.error();
  return PublicKey{*parsed};
}

Result<PublicKey> PublicKey::FromBytes(std::string_view bytes) {
  PublicKey key;
  if (bytes.size() != key.bytes.size()) {
    return Error{"a key of " + std::to_string(bytes.size()) + " bytes; 32 are wanted"};
  }
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

std::string PublicKeyText(const PublicKey& key) { return "public " + key.Hex() + "\n"; }

std::string SecretKeyText(const SecretKey& key) {
  return "# Of this host alone: who can read it can pass for it.\nsecret " + HexOf(key.bytes) +
         "\n";
}

Result<PublicKey> ParsePublicKey(std::string_view text, const std::string& file) {
  auto parsed = ParseKey(text, file, "public");
  if (!parsed) return parsed.error();
  return PublicKey{*parsed};
}

Result<SecretKey> ParseSecretKey(std::string_view text, const std::string& file) {
  auto parsed = ParseKey(text, file, "secret");
  if (!parsed) return parsed.error();
  return SecretKey{*parsed};
}

Status CheckHostName(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const bool good = !name.empty() && name.size() <= kMostNameBytes && is_plain(name.front()) &&
                    std::all_of(name.begin(), name.end(), [&](char c) {
                      return is_plain(c) || c == '.' || c == '_' || c == '-';
                    });
  if (good) return {};
  return Error{"\"" + std::string(name.substr(0, kMostNameBytes)) +
               "\" is no name of a host; 1 to 64 letters, digits, '.', '_' and '-' are wanted, the "
               "first a letter or digit"};
}

const AllowedKey* AllowList::Find(const PublicKey& key) const {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const AllowedKey& allowed) { return allowed.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

bool AllowList::Operates(std::string_view host) const {
  return std::any_of(keys.begin(), keys.end(), [&](const AllowedKey& allowed) {
    return allowed.host == host && allowed.operates;
  });
}

Result<AllowList> ParseAllowList(std::string_view text, const std::string& file) {
  AllowList list;
  const Status read = ForEachLine(
      text, file, [&](std::string_view, const std::vector<std::string_view>& words) -> Status {
        if (words.empty()) return {};
        const bool operates = words.size() == 3 && words[2] == kOperator;
        if (words.size() != 2 && !operates) {
          return Error{"a line \"NAME KEY\" or \"NAME KEY operator\" is wanted"};
        }
        if (Status named = CheckHostName(words[0]); !named) return named;
        auto key = PublicKey::FromHex(words[1]);
        if (!key) return key.error();
        if (const AllowedKey* before = list.Find(*key)) {
          return Error{"the key is there already, as " + before->host + "'s"};
        }
        list.keys.push_back({std::string(words[0]), *key, operates});
        return {};
      });
  if (!read) return read.error();
  list.whole = text.ends_with('\n');
  return list;
}

Result<std::string> WithAllowedKey(std::string_view text, const std::string& file,
                                   const AllowedKey& added) {
  auto list = ParseAllowList(text, file);
  if (!list) return list.error();
  if (Status named = CheckHostName(added.host); !named) return named.error();
  std::string all(text);
  if (const AllowedKey* before = list->Find(added.key)) {
    if (before->host != added.host || before->operates == added.operates) {
      return Error{file + ": the key is there already, as " + before->host + "'s"};
    }
    // The same host with another right.
    all.clear();
    const Status read = ForEachLine(
        text, file,
        [&](std::string_view line, const std::vector<std::string_view>& words) -> Status {
          const bool same = words.size() > 1 && PublicKey::FromHex(words[1]) &&
                            *PublicKey::FromHex(words[1]) == added.key;
          if (!same) all += line;
          return {};
        });
    if (!read) return read.error();
  }
  if (!all.empty() && all.back() != '\n') all += '\n';
  all += added.host + " " + added.key.Hex();
  if (added.operates) all += " " + std::string(kOperator);
  return all + "\n";
}

Result<std::string> WithoutHost(std::string_view text, const std::string& file,
                                const std::string& host) {
  auto list = ParseAllowList(text, file);
  if (!list) return list.error();
  std::string left;
  bool found = false;
  const Status read = ForEachLine(
      text, file, [&](std::string_view line, const std::vector<std::string_view>& words) -> Status {
        if (!words.empty() && words.front() == host) {
          found = true;
        } else {
          left += line;
        }
        return {};
      });
  if (!read) return read.error();
  if (!found) return Error{file + ": no key of a host " + host + " is allowed"};
  return left;
}

}  // namespace pawl
