#include "coordinator/search/job_check.h"

#include <cstdio>
#include <utility>

#include "coordinator/search/orders.h"

namespace pawl {
namespace {

// Input sets of an order (worker/device/host/input_sets.h): two timed ones, the hidden one, and the
// sibling of the first. Each is kept with what the outputs must then be, in float64.
constexpr double kInputSets = 4;

const std::vector<Instrument>& EveryInstrument() {
  static const std::vector<Instrument> all = {Instrument::kCpuTime, Instrument::kWallTime,
                                              Instrument::kEventSpan, Instrument::kKernelTime,
                                              Instrument::kGraphTime};
  return all;
}

std::string Size(double bytes) {
  char text[64];
  const bool giga = bytes >= 1e9;
  std::snprintf(text, sizeof text, giga ? "%.1f GB" : "%.1f MB", bytes / (giga ? 1e9 : 1e6));
  return text;
}

// A package whose orders no worker takes would look like workers that are lost.
Status CheckOrder(const Workshop& workshop, const TrackSpec& spec) {
  Track first;
  first.state.id = TrackId(1);
  first.state.spec = spec;
  first.state.incumbent = spec.start;
  auto order = ConfirmOrder(workshop, first, Attempt(1));
  if (!order) return order.error();
  if (const auto why = WhyNotSent(*order)) {
    return Error{"package " + spec.operation + " makes orders that no worker takes: " + *why};
  }
  return {};
}

// One track on one device. `reasons` gets why it cannot be served, without that being a fault.
Status CheckTrack(const Job& job, const Job::Entry& entry, const ProspectiveDevice& device,
                  const OperationLookup& lookup, std::vector<std::string>& reasons, bool& served) {
  Job alone;
  alone.name = job.name;
  alone.file = job.file;
  alone.tracks = {entry};
  auto bound = BindJob(alone, device.facts, lookup);
  if (!bound) return bound.error();
  reasons.insert(reasons.end(), bound->reasons.begin(), bound->reasons.end());
  for (const TrackSpec& spec : bound->specs) {
    const auto merged = entry.by_backend.find(spec.backend);
    const std::string& place =
        merged == entry.by_backend.end() ? entry.base.shape_place : merged->second.shape_place;
    const std::string where = place + ": track '" + spec.label + "': ";
    auto operation = lookup(spec.operation);
    if (!operation) return operation.error();
    // Before a start or a launch is judged at a shape that is taken on no device.
    const auto buffers = BuffersAt(**operation, spec.shape);
    if (!buffers) return Error{where + buffers.error().message};
    auto workshop = MakeWorkshop(spec, *operation);
    if (!workshop) return Error{where + workshop.error().message};
    if (Status sizes = CheckSizes(*buffers, device); !sizes) {
      return Error{where + sizes.error().message};
    }
    if (Status sent = CheckOrder(*workshop, spec); !sent) {
      return Error{where + sent.error().message};
    }
    served = true;
  }
  return {};
}

// What a track that may run anywhere is held against while no device is known.
std::vector<ProspectiveDevice> AnyDevice(const TrackRequest& request) {
  std::vector<ProspectiveDevice> devices;
  for (const char* backend : {"host", "cuda"}) {
    if (request.backend != "best" && request.backend != backend) continue;
    ProspectiveDevice device;
    device.facts.kind = backend;
    device.facts.model = std::string("(any ") + backend + " device)";
    device.facts.backend = backend;
    device.facts.instruments = EveryInstrument();
    device.facts.needs_source = false;
    devices.push_back(std::move(device));
  }
  return devices;
}

Status CheckAnywhere(const Job& job, const Job::Entry& entry, const OperationLookup& lookup) {
  Job::Entry anywhere = entry;
  anywhere.base.devices = {"any"};
  Status fault;
  std::vector<std::string> reasons;
  for (const ProspectiveDevice& device : AnyDevice(entry.base)) {
    bool served = false;
    Status checked = CheckTrack(job, anywhere, device, lookup, reasons, served);
    if (checked && served) return {};
    if (fault && !checked) fault = checked;
  }
  if (!fault) return fault;
  return Error{reasons.empty() ? entry.base.place + ": no backend can run the track"
                               : reasons.front()};
}

}  // namespace

Status CheckSizes(const std::vector<Buffer>& buffers, const ProspectiveDevice& device) {
  double needed = 0;
  for (const Buffer& buffer : buffers) {
    const auto elements = static_cast<double>(buffer.Elements());
    const double bytes = elements * static_cast<double>(SizeOf(buffer.dtype));
    const double kept = buffer.role == BufferRole::kOutput ? 8 * elements : bytes;
    needed += bytes + kInputSets * kept;
  }
  if (device.memory_bytes > 0 && needed > static_cast<double>(device.memory_bytes)) {
    return Error{"measuring and checking needs " + Size(needed) + " at this shape, device " +
                 device.facts.model + " has " + Size(static_cast<double>(device.memory_bytes)) +
                 "; make the shape smaller"};
  }
  return {};
}

ProspectiveDevice ProspectiveReplay(const std::string& file) {
  const std::string bare = file.substr(0, file.find('?'));
  const std::size_t slash = bare.rfind('/');
  ProspectiveDevice device;
  device.facts.kind = "replay";
  device.facts.model = bare.substr(slash == std::string::npos ? 0 : slash + 1);
  device.facts.toolchain = "replay " + device.facts.model + " ";
  device.facts.instruments = EveryInstrument();
  device.facts.needs_source = false;
  return device;
}

Result<std::vector<std::string>> CheckJob(const Job& job,
                                          const std::vector<ProspectiveDevice>& devices,
                                          const OperationLookup& lookup) {
  std::vector<std::string> reasons;
  bool served = false;
  for (const Job::Entry& entry : job.tracks) {
    if (devices.empty()) {
      if (Status checked = CheckAnywhere(job, entry, lookup); !checked) return checked.error();
      served = true;
    }
    for (const ProspectiveDevice& device : devices) {
      if (Status checked = CheckTrack(job, entry, device, lookup, reasons, served); !checked) {
        return checked.error();
      }
    }
  }
  if (served) reasons.clear();
  return reasons;
}

}  // namespace pawl
