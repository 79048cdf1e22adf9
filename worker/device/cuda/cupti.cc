#include "worker/device/cuda/cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace pawl {
namespace {

constexpr int kSuccess = 0;
constexpr int kMemcpy = 1;             // CUPTI_ACTIVITY_KIND_MEMCPY
constexpr int kMemset = 2;             // CUPTI_ACTIVITY_KIND_MEMSET
constexpr int kKernel = 3;             // CUPTI_ACTIVITY_KIND_KERNEL
constexpr int kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
constexpr std::uint32_t kFlushForced = 1;
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::size_t kAlignment = 8;

// The heads of the records, the same in all versions since CUPTI 8.
struct KernelHead {
  std::int32_t kind;
  std::uint8_t cache_config, shared_config;
  std::uint16_t registers;
  std::int32_t cache_requested, cache_executed;
  std::uint64_t start, end;
};
struct MemcpyHead {
  std::int32_t kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes, start, end;
};
struct MemsetHead {
  std::int32_t kind;
  std::uint32_t value;
  std::uint64_t bytes, start, end;
};
static_assert(offsetof(KernelHead, start) == 16 && offsetof(MemcpyHead, start) == 16 &&
              offsetof(MemsetHead, start) == 16);

using NextRecord = int (*)(std::uint8_t*, std::size_t, void**);
using Dropped = int (*)(void*, std::uint32_t, std::size_t*);

// CUPTI gives its records to a function without an argument of ours: what it fills.
struct Collected {
  std::mutex mutex;
  NextRecord next = nullptr;
  Dropped dropped = nullptr;
  Trace trace;
};
Collected& TheCollected() {
  static Collected collected;
  return collected;
}

void GiveBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void TakeBuffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                std::size_t valid_bytes) {
  Collected& collected = TheCollected();
  const std::lock_guard<std::mutex> lock(collected.mutex);
  void* record = nullptr;
  while (collected.next(buffer, valid_bytes, &record) == kSuccess) {
    std::int32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    if (kind != kKernel && kind != kConcurrentKernel && kind != kMemcpy && kind != kMemset)
      continue;
    Activity activity;  // at the same place in all three
    std::memcpy(&activity.start_ns, static_cast<std::uint8_t*>(record) + 16, 8);
    std::memcpy(&activity.end_ns, static_cast<std::uint8_t*>(record) + 24, 8);
    if (activity.start_ns == 0 || activity.end_ns < activity.start_ns) {
      ++collected.trace.unclear;
    } else {
      collected.trace.activities.push_back(activity);
    }
  }
  std::size_t dropped = 0;
  if (collected.dropped(context, stream, &dropped) == kSuccess) collected.trace.dropped += dropped;
  std::free(buffer);
}

const LibraryPlaces& Places() {
  static const LibraryPlaces places{
      "CUPTI", "PAWL_LIBCUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, true};
  return places;
}

}  // namespace

bool Cupti::Present() { return Library::Open(Places()).has_value(); }

Result<std::unique_ptr<Cupti>> Cupti::Open() {
  Result<Library> library = Library::Open(Places());
  if (!library) return library.error();
  std::unique_ptr<Cupti> cupti(new Cupti(std::move(*library)));
  const auto take = [&](const char* symbol, auto& function) -> Status {
    void* found = nullptr;
    if (Status required = cupti->library_.Require(symbol, found); !required) return required;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    return {};
  };
  int (*version)(std::uint32_t*) = nullptr;
  int (*callbacks)(decltype(&GiveBuffer), decltype(&TakeBuffer)) = nullptr;
  Collected& collected = TheCollected();
  for (const Status& taken :
       {take("cuptiGetVersion", version), take("cuptiActivityRegisterCallbacks", callbacks),
        take("cuptiActivityEnable", cupti->enable_), take("cuptiActivityDisable", cupti->disable_),
        take("cuptiActivityFlushAll", cupti->flush_),
        take("cuptiGetResultString", cupti->result_string_),
        take("cuptiActivityGetNextRecord", collected.next),
        take("cuptiActivityGetNumDroppedRecords", collected.dropped)}) {
    if (!taken) return taken.error();
  }
  static_cast<void>(version(&cupti->version_));
  if (Status done =
          cupti->Check("cuptiActivityRegisterCallbacks", callbacks(&GiveBuffer, &TakeBuffer));
      !done) {
    return done.error();
  }
  return cupti;
}

Status Cupti::Check(const char* call, int result) const {
  if (result == kSuccess) return {};
  const char* text = nullptr;
  std::string message = std::string("CUPTI: ") + call + ": ";
  if (result_string_(result, &text) == kSuccess && text != nullptr) {
    message += text;
  } else {
    message += "error " + std::to_string(result);
  }
  return Error{message, Advice::kRetry};
}

Status Cupti::Start() {
  {
    Collected& collected = TheCollected();
    const std::lock_guard<std::mutex> lock(collected.mutex);
    collected.trace = Trace{};
  }
  for (const int kind : {kConcurrentKernel, kMemcpy, kMemset}) {
    if (Status done = Check("cuptiActivityEnable", enable_(kind)); !done) {
      // What is on already would go on tracing the visits to come.
      for (const int other : {kConcurrentKernel, kMemcpy, kMemset}) {
        if (other != kind) static_cast<void>(disable_(other));
      }
      return done;
    }
  }
  return {};
}

Result<Trace> Cupti::Stop() {
  const int flushed = flush_(kFlushForced);
  Status off;
  for (const int kind : {kConcurrentKernel, kMemcpy, kMemset}) {
    if (Status done = Check("cuptiActivityDisable", disable_(kind)); !done) off = done;
  }
  if (!off) return off.error();
  if (Status done = Check("cuptiActivityFlushAll", flushed); !done) return done.error();
  Collected& collected = TheCollected();
  const std::lock_guard<std::mutex> lock(collected.mutex);
  Trace trace = std::move(collected.trace);
  collected.trace = Trace{};
  std::sort(trace.activities.begin(), trace.activities.end(),
            [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  return trace;
}

}  // namespace pawl
