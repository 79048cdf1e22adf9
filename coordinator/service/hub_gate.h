#pragma once
// The ZAP handler of a context: a thread that answers who may come in, handshake by handshake, by
// the allow list as it is on disk at that moment (a change holds from the next handshake on).
//
// While there is none, or it cannot read the list, nobody gets in.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "schema/keys.h"
#include "schema/result.h"

namespace zmq {
class context_t;
}

namespace pawl {

class Gate {
 public:
  // `folder` of the keys. Before the sockets that it guards are bound.
  static Result<std::unique_ptr<Gate>> Open(zmq::context_t& context, const std::string& folder);
  ~Gate();  // from here on nobody gets in
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Lines for a person since the last call: keys that were refused, a list that cannot be read.
  std::vector<std::string> TakeNotes();
  // Handshakes that it has answered, one way or the other.
  std::uint64_t answered() const;

 private:
  struct State;
  explicit Gate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A new pair, of the system's random numbers.
Result<KeyPair> NewKeyPair();
// The public key that belongs to a secret one.
Result<PublicKey> PublicKeyOf(const SecretKey& secret);

}  // namespace pawl
