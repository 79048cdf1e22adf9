// A stand-in for libcupti: its records are the launches that the stand-in driver counted while it
// was enabled. PAWL_STANDIN_CUPTI=drop: one record is lost; =refuse: it cannot be enabled.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/cuda/standin.h"

namespace {

struct Record {  // of a kernel, as far as it is read
  std::int32_t kind;
  std::uint8_t rest[12];
  std::uint64_t start, end;
};
static_assert(offsetof(Record, start) == 16);

using GiveBuffer = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using TakeBuffer = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
GiveBuffer give = nullptr;
TakeBuffer take = nullptr;
std::size_t next = 0;

bool Told(const char* word) {
  const char* const told = std::getenv("PAWL_STANDIN_CUPTI");
  return told != nullptr && std::string(told) == word;
}

template <typename Function>
Function* OfDriver(const char* name) {
  void* const driver = ::dlopen(std::getenv("PAWL_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(::dlsym(driver, name));
}

}  // namespace

extern "C" {

int cuptiGetVersion(std::uint32_t* version) {
  *version = 130'001;
  return 0;
}
int cuptiGetResultString(int, const char** text) {
  *text = "as told";
  return 0;
}
int cuptiActivityRegisterCallbacks(GiveBuffer giver, TakeBuffer taker) {
  give = giver;
  take = taker;
  return 0;
}
int cuptiActivityEnable(int) {
  if (Told("refuse")) return 35;
  OfDriver<decltype(standin_trace)>("standin_trace")(1);
  return 0;
}
int cuptiActivityDisable(int) {
  OfDriver<decltype(standin_trace)>("standin_trace")(0);
  return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
  const auto traced = OfDriver<decltype(standin_traced)>("standin_traced");
  std::uint64_t start = 0, end = 0;
  std::uint64_t at = Told("drop") ? 1 : 0;
  while (traced(at, &start, &end) != 0) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    give(&buffer, &size, &most);
    while (used + sizeof(Record) <= size && traced(at, &start, &end) != 0) {
      const Record record{10, {}, start, end};
      std::memcpy(buffer + used, &record, sizeof record);
      used += sizeof record;
      ++at;
    }
    next = 0;
    take(nullptr, 0, buffer, size, used);
  }
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  if (next + sizeof(Record) > valid) return 12;
  *record = buffer + next;
  next += sizeof(Record);
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  *dropped = Told("drop") ? 1 : 0;
  return 0;
}

}  // extern "C"
