// A worker of the next protocol version: greets the coordinator, and ends as every worker does that
// is answered in a version it does not speak.

#include <cstdio>
#include <string>
#include <zmq.hpp>

#include "schema/codec.h"

int main(int argc, char** argv) {
  std::string endpoint;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--connect") endpoint = argv[i + 1];
  }
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 30'000);
  socket.connect(endpoint);
  std::string hello = pawl::EncodeMessage(pawl::Hello{});
  hello[4] = static_cast<char>(pawl::kProtocolMajor + 1);  // the envelope's major version
  socket.send(zmq::buffer(hello), zmq::send_flags::none);
  zmq::message_t answer;
  if (!socket.recv(answer)) {
    std::fprintf(stderr, "no answer to a newer version's greeting\n");
    return 1;
  }
  const auto refused = pawl::DecodeMessage(answer.to_string_view());
  const auto* refuse = refused ? std::get_if<pawl::Refuse>(&*refused) : nullptr;
  std::fprintf(stderr, "refused: %s\n", refuse != nullptr ? refuse->why.c_str() : "not understood");
  return 4;
}
