#pragma once
// An order's data for programs outside a worker: the inputs that its arms read, as files, and the
// check of outputs that come back as files, with the fills, the reference and the comparison that
// arms are checked by. `pawl bench` starts it for rivals; nobody types that.
//
// Files of raw little-endian elements, row major: FOLDER/<set>/<buffer>.in and .out, where a set is
// "timed" (the order's first input seed) or "hidden".
//
// Requests are lines on stdin, answers lines of JSON on stdout: "inputs" writes both sets' inputs,
// {"ok": true}; "check timed" and "check hidden" compare, {"passed", "elements", "wrong",
// "max_abs_error", "detail"}. What cannot be done ends the process with the reason on stderr.

#include <optional>
#include <string>

#include "schema/result.h"

namespace pawl {

struct OutsideCommand {
  std::string order;   // file: an encoded order (schema/codec.h)
  std::string folder;  // of the sets
  std::string state;   // folder: cache and scratch
};

// nullopt when this is no such command line (argv[1] is not "--outside"); an error says what is
// wanted.
std::optional<Result<OutsideCommand>> ParseOutsideArguments(int argc, const char* const* argv);

// Answers until stdin ends; the exit code of the process: 0, or 3.
int OutsideMain(const OutsideCommand& command);

}  // namespace pawl
