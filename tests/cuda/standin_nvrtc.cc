// A stand-in for libnvrtc: the machine code is the source. A source can ask for an error, a crash
// or no end.

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Program {
  std::string text, log;
  std::vector<std::string> names;
};
constexpr int kCompilation = 6;
constexpr const char* kPtx = "// Cuda compilation tools, release 13.0, V13.0.42\n";

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(int code) {
  return code == kCompilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}
int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{text, "", {}};
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
int nvrtcAddNameExpression(Program* program, const char* name) {
  program->names.emplace_back(name);
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  const auto asks = [&](const char* word) { return program->text.find(word) != std::string::npos; };
  if (asks("PLEASE_CRASH")) ::raise(SIGSEGV);
  if (asks("PLEASE_HANG")) {
    for (;;) ::pause();
  }
  if (asks("PLEASE_TAKE_ALL_MEMORY")) {
    // What NVRTC is to a source that makes it want more and more; it ends by abort() when there is
    // none.
    std::vector<std::vector<char>> taken;
    for (;;) taken.emplace_back(std::size_t{64} << 20, 'x');
  }
  if (asks("PLEASE_FAIL")) {
    program->log = "kernel.cu(3): error: as asked\n1 error detected\n";
    return kCompilation;
  }
  program->log =
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem\n"
      "ptxas info    : Compile time = 3.14 ms\n";
  return 0;
}
int nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  for (const std::string& known : program->names) {
    if (known == name) {
      *lowered = known.c_str();
      return 0;
    }
  }
  return 1;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  *size = program->text.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->text.c_str(), program->text.size() + 1);
  return 0;
}
int nvrtcGetPTXSize(Program*, std::size_t* size) {
  *size = std::strlen(kPtx) + 1;
  return 0;
}
int nvrtcGetPTX(Program*, char* ptx) {
  std::memcpy(ptx, kPtx, std::strlen(kPtx) + 1);
  return 0;
}

}  // extern "C"
