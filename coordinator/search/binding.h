#pragma once
// Binds a job's tracks to a device: which tracks it can serve, and all that each is then held to.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/search/job.h"
#include "kernels/operation.h"
#include "schema/event.h"
#include "schema/report.h"
#include "schema/result.h"
#include "schema/snapshot.h"

namespace pawl {

// Finds a package by name; errors are the loader's.
using OperationLookup =
    std::function<Result<std::shared_ptr<const Operation>>(const std::string& name)>;

struct Bound {
  std::vector<TrackSpec> specs;  // in the job's order
  // Of each of them, how many candidates may be measured at once. Not bound: a job that is run
  // again may say another number.
  std::vector<std::uint32_t> in_flight;
  std::vector<std::string> reasons;  // why each other track cannot use the device, a line each
};

// Whether one of a job's `devices` entries means this device: "any" (every one that is no replay),
// its kind, its model, its UUID (alone or as "cuda:UUID"), or "replay:FILE" by the file's name.
// "cuda:NUMBER" is any GPU: a number means something only on the machine that starts the worker,
// which resolves it (pick_devices).
bool MatchesDevice(const std::string& wanted, const DeviceFacts& facts);

// The structure of that name; `name` empty: the backend's only one. Errors begin with `place`.
Result<const Structure*> StructureOf(const std::string& name, const Operation& operation,
                                     const Backend& backend, const std::string& place);

// The structure that a track searches: the one of that name, or where '+' joins several, those as
// one (kernels/compound.h). kEveryStructure, or no name: the backend's only one, or all that have a
// source as one (all, where none has). Errors begin with `place`.
inline constexpr const char* kEveryStructure = "any";
Result<Structure> SearchedStructure(const std::string& name, const Operation& operation,
                                    const Backend& backend, const std::string& place);

// The structure's start configuration with these values in place of some, each one that its knob
// lists; where one is for a compound's `structure`, that structure's start, and values for its
// knobs only. `table`: what the file calls them, for messages ("start"). Whether the constraints
// admit it is not looked at.
Result<Configuration> ConfigurationFrom(const Structure& structure,
                                        const std::vector<StartValue>& values,
                                        const std::string& table);

// The instrument where none is named.
Result<Instrument> DefaultInstrument(const std::string& backend, const DeviceFacts& facts,
                                     const Operation& operation, const std::vector<Scalar>& shape);

// Errors: what is wrong with the job or a package on this device, whatever the track.
Result<Bound> BindJob(const Job& job, const DeviceFacts& facts, const OperationLookup& lookup);

// Whether two specs are the same track of the same job, resumed: job, label and device model.
bool SameTrack(const TrackSpec& a, const TrackSpec& b);

// nullopt when `wanted` may go on with `opened`; else what differs, by name. Budgets may differ.
std::optional<std::string> WhyNotResume(const TrackSpec& opened, const TrackSpec& wanted);

// The incumbent of `old` as the start of a track that is forked from it; where either of them
// searches several structures, by the name that the other has for its knobs. `wanted`'s own start
// where it has other knobs, or none of its structures is the incumbent's.
Configuration StartOfFork(const TrackState& old, const TrackSpec& wanted, const Backend& backend);

// The package's files that a track of this backend rests on.
std::map<std::string, Digest> BoundFiles(const Operation& operation, const std::string& backend);

// "matmul 512x512x512 f32 on AMD EPYC (2 cores)": how people know a track.
std::string TrackTitle(const TrackSpec& spec);

}  // namespace pawl
