#pragma once
// A device that answers from recorded data instead of running. Time is virtual: a night of search
// takes seconds, and report seconds are what the recorded visits would have taken.
//
// `argument` is "FILE" or "FILE?key=value&key=value". Two formats:
//
// - A ledger, JSON: generations with their arms' configurations and, for each round, one median
// (us) an arm.
//   A measure order is answered by the first recorded generation whose candidate and incumbent are
//   the order's; round i of batch b of n rounds is recorded round b*n + i. All else is no_data, and
//   ends the replay (data_exhausted) unless it was a confirmation, which a ledger does not record.
// - A table, CSV, plain or gzipped: knob names, `status` (ok, compile, runtime), `time_ms`; a row a
//   configuration. An arm is looked up by its knobs' values; a failure is that arm's outcome; what
//   is not listed, and a kernel without knobs, is no_data. The device model is the file name's
//   middle
//   ("gemm.RTX_2080_Ti.csv.gz" is a "RTX 2080 Ti").
//
// Keys: model=TEXT (instead of the file's) and the noise model's (worker/device/replay/noise.h).

#include <memory>
#include <string>

#include "schema/result.h"
#include "worker/device.h"

namespace pawl {

// Errors: one line, with file:line for what is wrong in the data, and the known keys for an unknown
// one.
Result<std::unique_ptr<Device>> OpenReplay(const std::string& argument,
                                           const DeviceOptions& options);

}  // namespace pawl
