#pragma once
// The system C++ compiler as a function from text to a shared object, with the object cache in
// front.
//
// The same text, options, compiler and CPU give the same key and the same bytes: units are compiled
// under one file name in a folder of their own, and stripped.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schema/digest.h"
#include "schema/result.h"
#include "worker/device/host/subprocess.h"
#include "worker/object_cache.h"

namespace pawl {

// How kernels are compiled; an order's build options come after the source.
inline constexpr const char* kKernelFlags[] = {
    "-std=c++20",         "-O3",      "-march=native", "-fno-math-errno",
    "-ffp-contract=fast", "-fopenmp", "-fPIC",         "-shared"};
// A reference is not fast: no contraction, so that its value is the same on every machine.
inline constexpr const char* kReferenceFlags[] = {
    "-std=c++20",        "-O3",   "-march=native", "-fno-math-errno",
    "-ffp-contract=off", "-fPIC", "-shared"};

struct Unit {
  std::string text;
  std::vector<std::string> flags;    // before the source
  std::vector<std::string> options;  // after it: libraries may be among them
  bool keep_symbols = false;         // names and lines stay in the object
};

struct Built {
  bool ok = false;
  std::string object;   // the shared object's bytes
  Digest digest;        // of them
  std::string log;      // the compiler's, at most 4 KiB
  std::string problem;  // when not ok: the compiler's first error, one line
  bool cached = false;
  double seconds = 0;  // spent now: near 0 when cached
};

class Compiler {
 public:
  // PAWL_CXX, or the first of c++, g++, clang++ that answers --version. `cpu`: names what
  // -march=native means here. Errors: there is none; a first small kernel does not build (with the
  // compiler's own line).
  static Result<std::unique_ptr<Compiler>> Open(const std::string& scratch, ObjectCache& cache,
                                                const std::string& cpu);

  const std::string& version() const { return version_; }  // its --version's first line
  Digest KeyOf(const Unit& unit) const;

  // From any thread. Errors: the compiler cannot run, or was killed; the disk is full. `hold` lets
  // another thread stop it meanwhile.
  Result<Built> Build(const Unit& unit, ProcessHold* hold = nullptr);

 private:
  Compiler(std::string program, std::string version, std::string scratch, ObjectCache& cache,
           std::string cpu);

  const std::string program_, version_, scratch_, cpu_;
  ObjectCache& cache_;
};

// The first line of a compiler's output that says what is wrong, at most 300 bytes.
std::string FirstErrorLine(const std::string& output);

}  // namespace pawl
