#pragma once
// Who may talk to whom over TCP: the key pair of a host, and the list of the keys that a
// coordinator lets in, each under the name of its host. Text in, values out; the files are
// key_files.h's.
//
// A key is written as 64 hexadecimal digits: nothing that a shell reads as something else.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace pawl {

inline constexpr std::size_t kKeyBytes = 32;  // CURVE's, of Curve25519
using KeyBytes = std::array<std::uint8_t, kKeyBytes>;

struct PublicKey {
  KeyBytes bytes{};

  auto operator<=>(const PublicKey&) const = default;
  std::string Hex() const;
  static Result<PublicKey> FromHex(std::string_view hex);
  // From as many bytes as there are.
  static Result<PublicKey> FromBytes(std::string_view bytes);
};

// Nothing prints it but SecretKeyText.
struct SecretKey {
  KeyBytes bytes{};

  bool operator==(const SecretKey&) const = default;
};

struct KeyPair {
  PublicKey public_key;
  SecretKey secret_key;
};

// A key file: one line "public KEY" or "secret KEY", beside empty lines and comments ("#" first).
// Errors begin with `file`:LINE.
std::string PublicKeyText(const PublicKey& key);
std::string SecretKeyText(const SecretKey& key);
Result<PublicKey> ParsePublicKey(std::string_view text, const std::string& file);
Result<SecretKey> ParseSecretKey(std::string_view text, const std::string& file);

// 1 to 64 of letters, digits, '.', '_' and '-', the first a letter or a digit: what a host may be
// called in the list. It is the part of a worker's name before its first '/'.
Status CheckHostName(std::string_view name);

struct AllowedKey {
  std::string host;
  PublicKey key;
  bool operates = false;  // its host's people may also give jobs and move them

  bool operator==(const AllowedKey&) const = default;
};

// A host may have several keys, so that it can change from one to the next; a key has one host.
struct AllowList {
  std::vector<AllowedKey> keys;
  // Its last line is ended. Else it is being written, as an editor does that empties a file first:
  // of a key that is not in it nothing is known. A list of nobody is an empty line.
  bool whole = true;

  bool operator==(const AllowList&) const = default;
  const AllowedKey* Find(const PublicKey& key) const;  // null: not allowed
  bool Operates(std::string_view host) const;          // by one of its keys
};

// One "NAME KEY" a line, or "NAME KEY operator", beside empty lines and comments. Errors begin with `file`:LINE: one bad
// line and nobody is let in, since who meant to take a key out may have mistyped just that.
Result<AllowList> ParseAllowList(std::string_view text, const std::string& file);

// The same text with one more line, or without the lines of `host`; comments stay. Errors: what
// ParseAllowList finds in `text`; a key that is there already, but for the same host with another
// right, whose line is replaced; a host that is not.
Result<std::string> WithAllowedKey(std::string_view text, const std::string& file,
                                   const AllowedKey& added);
Result<std::string> WithoutHost(std::string_view text, const std::string& file,
                                const std::string& host);

}  // namespace pawl
