#pragma once
// Cap'n Proto messages <-> bytes; shared by the codec's own files, nothing else may include it.
//
// The bytes are the canonical form of Cap'n Proto: one segment, no segment table, structs and lists
// in the order of their fields, zero words at a struct's end left out. So equal values have equal
// bytes, whatever the allocator did and whichever fields the writer knew.

#include <capnp/any.h>
#include <capnp/message.h>
#include <kj/array.h>
#include <kj/exception.h>

#include <optional>
#include <string>
#include <string_view>

#include "schema/codec_private.h"
#include "schema/result.h"

namespace pawl::codec {

// Structs and lists within each other: a grant's arguments are eight deep.
inline constexpr int kMaxNesting = 16;
// Words a reader may visit. An element of no size counts as one, so an order's limit is above the
// 128 Ki words of the longest message.
inline constexpr std::uint64_t kLinkWords = 64 * 1024;
inline constexpr std::uint64_t kOrderWords = 256 * 1024;

// `first_words`: a guess of the size that saves copies; it does not show in the bytes.
template <typename Wire, typename Value, typename Write>
std::string Pack(const Value& value, std::size_t first_words, Write write) {
  capnp::MallocMessageBuilder builder(static_cast<unsigned>(first_words));
  auto root = builder.initRoot<Wire>();
  write(value, root);
  const auto words = capnp::AnyStruct::Reader(root.asReader()).canonicalize();
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

// A copy with the alignment that readers need; an error where it is no whole number of words.
Result<kj::Array<capnp::word>> Align(std::string_view bytes, const char* root);
Error Damaged(const char* root, const kj::Exception& exception);

template <typename Wire, typename Read>
auto Unpack(std::string_view bytes, const char* root, std::uint64_t max_words, Read read)
    -> Result<decltype(read(std::declval<typename Wire::Reader>(), std::declval<const Place&>()))> {
  const auto words = Align(bytes, root);
  if (!words) return words.error();
  try {
    const kj::ArrayPtr<const capnp::word> segments[] = {*words};
    capnp::ReaderOptions options;
    options.traversalLimitInWords = max_words;
    options.nestingLimit = kMaxNesting;
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(segments, 1), options);
    std::optional<std::string> problem;
    const Place at(root, &problem);
    auto value = read(message.getRoot<Wire>(), at);
    if (problem) return Error{*std::move(problem)};
    return value;
  } catch (const kj::Exception& exception) {
    return Damaged(root, exception);
  }
}

}  // namespace pawl::codec
