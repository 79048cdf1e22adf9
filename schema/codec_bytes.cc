#include "schema/codec_bytes.h"

#include <cstring>

namespace pawl::codec {

Result<kj::Array<capnp::word>> Align(std::string_view bytes, const char* root) {
  constexpr std::size_t kWord = sizeof(capnp::word);
  if (bytes.empty() || bytes.size() % kWord != 0) {
    return Error{std::string(root) + ": damaged payload: " + std::to_string(bytes.size()) +
                 " bytes, a positive multiple of 8 wanted"};
  }
  auto words = kj::heapArray<capnp::word>(bytes.size() / kWord);
  std::memcpy(words.asBytes().begin(), bytes.data(), bytes.size());
  return words;
}

Error Damaged(const char* root, const kj::Exception& exception) {
  const kj::StringPtr why = exception.getDescription();
  return Error{std::string(root) + ": damaged payload: " + FitLine({why.begin(), why.size()})};
}

}  // namespace pawl::codec
