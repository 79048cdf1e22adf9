#include "schema/digest.h"

#include <openssl/evp.h>

#include <bit>

#include "schema/check.h"

namespace pawl {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::Hex() const {
  std::string hex;
  hex.reserve(64);
  for (const std::uint8_t byte : bytes) {
    hex += kHexDigits[byte >> 4];
    hex += kHexDigits[byte & 15];
  }
  return hex;
}

std::string Digest::Short() const { return Hex().substr(0, 12); }

std::uint64_t Digest::Prefix64() const {
  std::uint64_t prefix = 0;
  for (int i = 0; i < 8; ++i) prefix = prefix << 8 | bytes[i];
  return prefix;
}

Result<Digest> Digest::FromHex(std::string_view hex) {
  Digest digest;
  if (hex.size() != 64) {
    return Error{"digest has " + std::to_string(hex.size()) + " characters, 64 wanted"};
  }
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Error{"digest '" + std::string(hex) + "' has a character that is not a lower-case hex digit"};
    }
    digest.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

struct Hasher::State {
  EVP_MD_CTX* context = nullptr;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  state_->context = EVP_MD_CTX_new();
  CHECK(state_->context != nullptr);
  CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Hasher::~Hasher() { EVP_MD_CTX_free(state_->context); }

Hasher& Hasher::Raw(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}

Hasher& Hasher::Field(std::string_view bytes) {
  std::array<char, 8> length;
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(bytes.size() >> (8 * (7 - i)));
  return Raw({length.data(), length.size()}).Raw(bytes);
}

Digest Hasher::Finish() {
  Digest digest;
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context, digest.bytes.data(), &size) == 1);
  CHECK(size == digest.bytes.size());
  return digest;
}

Digest Sha256(std::string_view bytes) { return Hasher().Raw(bytes).Finish(); }

}  // namespace pawl
