#pragma once
// What the second instrument says of a keep. Pure.

#include <optional>
#include <string>
#include <vector>

#include "schema/event.h"
#include "schema/report.h"

namespace pawl {

struct SecondInstrument {
  Instrument instrument = Instrument::kKernelTime;
  double ratio = 0;       // median over the deciding reports of candidate/incumbent by it
  bool confirms = false;  // faster by it too, by at least half the gain that was decided on
};

// The captures of a kept generation beside its decision. Half the gain is a rule against gains that
// are all launch overhead: identical kernels differ by a tenth in event spans and not in their own
// time. None: not a keep, or no report holds a capture of both arms by one instrument.
std::optional<SecondInstrument> SecondInstrumentOf(const Decision& decision,
                                                   const std::vector<const Report*>& deciding);

// "event_span only: by kernel_time 1.0021 of the incumbent"; "" where it confirms.
std::string OnlyText(const SecondInstrument& second, Instrument first);

}  // namespace pawl
