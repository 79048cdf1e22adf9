#pragma once
// Which device of this machine a command starts its workers for.

#include <string>
#include <vector>

#include "coordinator/service/worker_process.h"
#include "schema/event.h"
#include "schema/result.h"

namespace pawl {

// Whether a replay:FILE[?...] names a recording that is there.
Status CheckReplay(const std::string& name);

// The listed device of that name. nullptr: one of a kind with parameters of its own, which only a
// worker knows. Errors: none is called so (names those there are); it cannot be used.
Result<const ListedDevice*> FindListed(const std::vector<ListedDevice>& listed,
                                       const std::string& name);

// `given`, or the device that the track is bound to. Errors: this machine does not have it.
Result<std::string> DeviceOfTrack(const TrackSpec& spec, const std::string& given);

struct ChosenDevice {
  std::string name;     // as OpenDevice takes it
  std::string backend;  // that it runs; empty: not known before a worker says it, or a replay's any
};

// `given` where there is one, checked as far as that goes without a worker; else the best device
// that runs one of `backends`, a GPU before the host. Errors: there is none, with why.
Result<ChosenDevice> ChooseDevice(const std::string& given,
                                  const std::vector<std::string>& backends);

}  // namespace pawl
