#pragma once
// What decoding promises for any bytes at all; what libFuzzer, the corpus replay and the mutation
// tests run. A broken promise is a failed CHECK.

#include <string>
#include <string_view>

#include "schema/codec.h"

namespace pawl::test {

// Bytes from elsewhere: decodes them as everything. Each gives a value that encodes and decodes to
// itself, or an error of one line.
void ProbeCodec(std::string_view bytes);

// As a frame of the link; true: it gave a message.
bool ProbeMessage(std::string_view frame);

// Makes the envelope's length that of the payload, where there is an envelope.
void MendLength(std::string& frame);

}  // namespace pawl::test
