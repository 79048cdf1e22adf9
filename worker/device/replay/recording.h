#pragma once
// A file of recorded measurements, read once and indexed: what the replay device answers from.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/order.h"
#include "schema/report.h"
#include "schema/result.h"

namespace pawl {

// What a recording has for an order: a median for every visit, or why not.
struct Answer {
  Outcome outcome;
  std::vector<double> visit_us;  // the order's visits in turn, those of unrecorded rounds included
  std::vector<CheckFacts> checks;  // as recorded
  bool exhausted = false;          // nothing can follow what is not recorded here
};

class Recording {
 public:
  virtual ~Recording() = default;

  virtual const std::string& model() const = 0;  // of the device that was measured
  virtual const std::vector<Instrument>& instruments() const = 0;  // that it was measured with
  virtual Answer Find(const Order& order) const = 0;
};

// `bytes` of a file named `path`. Errors: one line that begins "path:line: ".
Result<std::unique_ptr<Recording>> ReadLedgerRecording(const std::string& path,
                                                       std::string_view bytes);
Result<std::unique_ptr<Recording>> ReadTableRecording(const std::string& path,
                                                      std::string_view bytes);

// For both: an answer that there is none.
Answer NotRecorded(std::string why, bool exhausted);
Error BadRecording(const std::string& path, std::size_t line, const std::string& what);
std::size_t LineAt(std::string_view bytes, std::size_t offset);  // 1, 2, ...

}  // namespace pawl
