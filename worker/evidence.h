#pragma once
// Raw samples as zstd-compressed JSON lines, one file an order, named by the digest of its bytes,
// under a size cap (the oldest go first).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/digest.h"
#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

class Evidence {
 public:
  static Result<std::unique_ptr<Evidence>> Open(const std::string& folder, std::uint64_t max_bytes);
  ~Evidence();

  // Writes "HEX.jsonl.zst" atomically. Same content: the same file. Zero samples: the zero digest.
  Result<Digest> Store(const Order& order, const Report& report,
                       const std::vector<Samples>& samples);
  // The JSON lines of a stored file, for `show --evidence` and tests.
  Result<std::string> Load(const Digest& digest) const;

 private:
  struct State;
  explicit Evidence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pawl
