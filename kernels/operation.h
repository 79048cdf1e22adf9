#pragma once
// An operation package: what is computed (operation.toml, reference.h) and how (a folder a backend, a TOML
// file a structure). Reads files once and keeps their bytes and digests; the format is in
// docs/operations.md.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/expression.h"
#include "schema/configuration.h"
#include "schema/digest.h"
#include "schema/order.h"
#include "schema/result.h"

namespace pawl {

// A tensor of an operation; extents are expressions over the shape letters.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  BufferRole role = BufferRole::kInput;
  std::vector<std::string> extents;
  Fill fill;
  // Expressions over the letters in place of fill's a and b; empty: the number stands.
  std::array<std::string, 2> fill_texts;
};

struct Knob {
  std::string name;
  std::vector<KnobValue> values;   // in the order in which they are tried
  std::vector<std::string> parts;  // of a tuple: block = {m, n}
  Place place;
};

struct Constraint {
  std::string need;  // an expression that must not be 0
  std::string why;   // with {expression} where a figure goes
  Place place;
};

// `knob` has no effect where `when` holds: configurations that differ only in it are the same kernel.
struct Ignored {
  std::string knob;
  std::string when;
  Place place;
};

// One launch of a kernel, or a memset. Expressions over the letters, knobs and derived values.
struct LaunchText {
  LaunchKind kind = LaunchKind::kKernel;
  std::string when;    // left out where this is 0; empty: always there
  std::string kernel;  // kMemset: empty
  std::array<std::string, 3> grid{"1", "1", "1"};
  std::array<std::string, 3> block{"1", "1", "1"};
  std::array<std::string, 3> cluster{"1", "1", "1"};
  std::string dynamic_shared_bytes = "0";
  std::uint8_t byte = 0;  // kMemset
  // Tensors, letters and scratch by name; none: all tensors, then all letters, then all scratch.
  std::optional<std::vector<std::string>> arguments;
  Place place;
  std::map<std::string, Place> places;  // of its keys
};

// Device memory that the launches of one structure share.
struct ScratchText {
  std::string name;
  DType dtype = DType::kF32;
  std::string elements;  // an expression
  Place place;           // of elements
};

// What running a kernel once takes: launches in stream order, at least one of them a kernel's.
struct LaunchPlan {
  std::vector<LaunchText> launches{1};
  std::vector<ScratchText> scratch;
};

// One search space and its template, or several as one.
struct Structure {
  std::string name;     // "tiled", from the file's name
  std::string backend;  // "cuda", "host"
  std::string file;     // "cuda/tiled.toml", relative to the package
  std::string source;   // "cuda/tiled.cu", relative; empty: space only, for replays
  std::string kernel;   // the function of the first launch
  std::vector<std::string> letters;  // the operation's shape letters
  std::vector<Knob> knobs;
  std::vector<std::pair<std::string, std::string>> derived;  // name, expression; in file order
  std::vector<Constraint> constraints;
  std::vector<Ignored> ignored;
  std::vector<std::pair<std::string, std::vector<KnobValue>>> repairs;  // knob, values in order
  LaunchPlan plan;
  std::vector<std::string> build_options;  // for this structure's sources, after the backend's own
  std::vector<std::string> used_derived;   // derived values that the template uses: those it is given
  Configuration start;
  std::vector<std::pair<std::string, std::vector<KnobValue>>> audit;  // knob, values that replace its list
  std::map<std::string, Place> places;  // of named entries, for messages
  // Of a compound (kernels/compound.h): what it chooses from. Of its own it has a name, knobs, ignored knobs (by a
  // member's `when`), the first one's source and a start, and nothing else. None: it is no compound.
  std::vector<Structure> members;
};

// A hand-written kernel; the first whose `when` holds at the shape is the control.
struct Committed {
  std::string backend;  // "cuda"
  std::string source;   // relative; empty: cannot be built, only replayed: by its name alone, or with
                        // structure and configuration as that structure's configuration
  std::string kernel;
  std::string when;     // empty: always
  LaunchPlan plan;      // over the letters only
  std::vector<std::string> build_options;
  std::string structure;
  Configuration configuration;
  Place place;
};

struct Rival {
  std::string name;     // "openblas"
  std::string source;
  std::string kernel;
  std::vector<std::string> build_options;
};

struct Backend {
  std::string name;
  std::vector<Structure> structures;  // by name
  std::vector<Committed> committed;   // in file order
  std::vector<Rival> rivals;
};

struct Operation {
  std::string name;
  std::string summary;
  std::string folder;                 // as given to Load
  std::vector<std::string> letters;   // "m", "n", "k"
  std::vector<Tensor> tensors;
  std::string flops;                  // expressions over the letters
  std::string bytes;
  double rtol = 0;
  double atol = 0;                    // before atol_times
  std::string atol_times;             // expression over the letters; empty: 1
  std::optional<Fill> exact;          // integer fill for which the result is exact in float32
  std::vector<std::vector<Scalar>> audit_shapes;
  std::vector<Backend> backends;
  std::map<std::string, std::string> files;  // relative name -> bytes; every file the package uses

  const Backend* FindBackend(std::string_view name) const;
  const Structure* FindStructure(std::string_view backend, std::string_view structure) const;
  std::map<std::string, Digest> Digests() const;  // of files
};

// The name under which a package's files hold what cuda kernels may call (kernels/pawl_device.h): kept
// with them, as it is compiled with them.
inline constexpr const char* kDeviceHeaderName = "pawl_device.h";
const std::string& DeviceHeader();  // this build's own

// Reads kernels/<name>. Errors: no such folder (names the packages there are), and every mistake of a file
// with its place.
Result<Operation> LoadOperation(const std::string& folder);

// The same from bytes kept elsewhere (a ledger's blobs). `folder` is for messages.
Result<Operation> LoadOperation(const std::map<std::string, std::string>& files,
                                const std::string& folder);

// The packages below `root`, by name.
std::vector<std::string> ListOperations(const std::string& root);

// Shape from a document: every letter once, positive. Order of the operation's letters.
Result<std::vector<Scalar>> CheckShape(const Operation& operation, const std::vector<Scalar>& given,
                                       const Place& place);

// Tensors with their extents at a shape. Errors: an extent below 1; more elements than an order may
// have, with the tensor's name.
Result<std::vector<Buffer>> BuffersAt(const Operation& operation, const std::vector<Scalar>& shape);
Result<double> FlopsAt(const Operation& operation, const std::vector<Scalar>& shape);
Result<double> BytesAt(const Operation& operation, const std::vector<Scalar>& shape);
// What an output may differ by beside rtol. Rounding adds up over the terms of a sum. Errors: atol_times is
// below 1 there.
Result<double> AbsoluteToleranceAt(const Operation& operation, const std::vector<Scalar>& shape);

// The control at a shape. Errors: none of the backend's committed kernels covers it.
Result<const Committed*> CommittedAt(const Operation& operation, const Backend& backend,
                                     const std::vector<Scalar>& shape);

}  // namespace pawl
