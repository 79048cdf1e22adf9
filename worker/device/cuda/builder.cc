#include "worker/device/cuda/builder.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "worker/device/cuda/builder_process.h"
#include "worker/memory_limit.h"

namespace pawl {
namespace {

std::uint64_t MemoryOf(const BuilderOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes
                                  : MostOfTheMemory() / std::max(options.children, 1u);
}

constexpr int kNoLimit = -1;
constexpr std::size_t kMostKnown = 100'000;

// A cached object, and back: parts with their sizes in front.
std::string Pack(const CudaObject& object) {
  std::string bytes;
  for (const std::string& part : PackObject(object)) {
    bytes += std::to_string(part.size()) + ":" + part;
  }
  return bytes;
}

std::optional<CudaObject> Unpack(const std::string& bytes) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t colon = bytes.find(':', at);
    if (colon == std::string::npos || colon == at || colon - at > 12) return std::nullopt;
    std::size_t size = 0;
    for (; at < colon; ++at) {
      if (bytes[at] < '0' || bytes[at] > '9') return std::nullopt;
      size = size * 10 + static_cast<std::size_t>(bytes[at] - '0');
    }
    if (size > bytes.size() - colon - 1) return std::nullopt;
    parts.push_back(bytes.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  std::optional<CudaObject> object = UnpackObject(parts);
  if (!object || !object->ok || object->cubin.empty()) return std::nullopt;
  return object;
}

}  // namespace

class Builder::Work {
 public:
  Work(ObjectCache& cache, const BuilderOptions& options, std::unique_ptr<BuilderProcess> first)
      : cache_(cache), options_(options) {
    version_ = first->version();
    architectures_ = first->architectures();
    processes_.push_back(std::move(first));
    for (std::uint32_t i = 1; i < std::max(1u, options.children); ++i) {
      processes_.push_back(std::make_unique<BuilderProcess>(options.cores, MemoryOf(options)));
    }
    for (const auto& process : processes_) {
      threads_.emplace_back([this, &process = *process] { Serve(process); });
    }
  }

  ~Work() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
      hints_.clear();
    }
    changed_.notify_all();
    for (const auto& process : processes_) process->Interrupt();
    for (std::thread& thread : threads_) thread.join();
  }

  Result<std::vector<CudaBuilt>> Build(const std::vector<CudaUnit>& units) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<Digest> keys;
    std::vector<CudaBuilt> built(units.size());
    std::vector<bool> wanted(units.size(), false);
    const auto seconds = [&start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (std::size_t i = 0; i < units.size(); ++i) {
      keys.push_back(KeyOf(units[i]));
      wanted[i] = !TakeCached(keys[i], built[i]);
      built[i].seconds = seconds();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (!wanted[i]) continue;
      // It may have been done since we looked.
      if (TakeCached(keys[i], built[i])) {
        wanted[i] = false;
        continue;
      }
      Order(keys[i], units[i]);
      done_.erase(keys[i]);
      awaited_.push_back(keys[i]);
    }
    changed_.notify_all();
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (!wanted[i]) continue;
      changed_.wait(lock, [&] { return done_.contains(keys[i]); });
      const Result<std::optional<CudaObject>>& done = done_.at(keys[i]);
      if (!done || !*done) {
        const Error error =
            done ? Error{"cuda builder: a build was given up", Advice::kRetry} : done.error();
        awaited_.clear();
        done_.clear();
        return error;
      }
      built[i].object = **done;
      built[i].digest = Sha256(built[i].object.cubin);
      built[i].seconds = seconds();
    }
    awaited_.clear();
    done_.clear();
    return built;
  }

  void Queue(const std::vector<CudaUnit>& units) {
    for (const CudaUnit& unit : units) {
      const Digest key = KeyOf(unit);
      if (IsCached(key)) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      Order(key, unit);
    }
    changed_.notify_all();
  }

  void Hint(std::vector<CudaUnit> units) {
    std::deque<Task> tasks;
    for (CudaUnit& unit : units) {
      const Digest key = KeyOf(unit);
      if (!IsCached(key)) tasks.push_back({key, std::move(unit)});
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(tasks, [&](const Task& task) {
      return std::find(under_way_.begin(), under_way_.end(), task.key) != under_way_.end();
    });
    hints_ = std::move(tasks);
    changed_.notify_all();
  }

  const std::string& version() const { return version_; }
  const std::vector<int>& architectures() const { return architectures_; }

 private:
  struct Task {
    Digest key;
    CudaUnit unit;
  };

  // Under mutex_. Nothing where it is ordered or under way already, as a hint or not.
  void Order(const Digest& key, const CudaUnit& unit) {
    const auto same = [&key](const Task& task) { return task.key == key; };
    std::erase_if(hints_, same);
    if (std::find(under_way_.begin(), under_way_.end(), key) != under_way_.end()) return;
    if (std::any_of(orders_.begin(), orders_.end(), same)) return;
    orders_.push_back({key, unit});
  }

  Digest KeyOf(const CudaUnit& unit) const {
    Hasher hasher;
    hasher.Field("cuda object 1").Field(version_).Field(unit.name).Field(unit.text);
    for (const auto& [name, text] : unit.headers) hasher.Field(name).Field(text);
    hasher.Field("");
    for (const std::string& option : unit.options) hasher.Field(option);
    hasher.Field("");
    for (const std::string& kernel : unit.kernels) hasher.Field(kernel);
    return hasher.Finish();
  }

  bool TakeCached(const Digest& key, CudaBuilt& built) const {
    const std::optional<std::string> bytes = cache_.Get(key);
    if (!bytes) return false;
    std::optional<CudaObject> object = Unpack(*bytes);
    if (!object) return false;
    built.object = std::move(*object);
    built.digest = Sha256(built.object.cubin);
    built.cached = true;
    return true;
  }

  // Whether it was there not long ago: objects are not read again for every hint. One that has gone
  // since is built when it is ordered.
  bool IsCached(const Digest& key) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (known_.contains(key)) return true;
    }
    CudaBuilt ignored;
    if (!TakeCached(key, ignored)) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    Know(key);
    return true;
  }

  // Under mutex_.
  void Know(const Digest& key) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_.insert(key);
  }

  void Serve(BuilderProcess& process) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      // One child is kept for orders where there are several: a hint may take long.
      const auto hint_next = [&] {
        return !hints_.empty() && hinting_ < std::max<std::size_t>(processes_.size() - 1, 1);
      };
      changed_.wait(lock, [&] { return closing_ || !orders_.empty() || hint_next(); });
      if (closing_) return;
      const bool ordered = !orders_.empty();
      if (!ordered) ++hinting_;
      std::deque<Task>& queue = ordered ? orders_ : hints_;
      const Task task = std::move(queue.front());
      queue.pop_front();
      under_way_.push_back(task.key);
      lock.unlock();
      Result<std::optional<CudaObject>> object =
          process.Compile(task.unit, ordered ? kNoLimit : options_.hint_ms);
      if (object && *object && (**object).ok) {
        // An object that cannot be kept is still an object.
        static_cast<void>(cache_.Put(task.key, Pack(**object)).has_value());
      }
      lock.lock();
      if (!ordered) --hinting_;
      if (object && *object && (**object).ok) Know(task.key);
      under_way_.erase(std::find(under_way_.begin(), under_way_.end(), task.key));
      if (std::find(awaited_.begin(), awaited_.end(), task.key) != awaited_.end()) {
        done_.insert_or_assign(task.key, std::move(object));
      }
      changed_.notify_all();
    }
  }

  ObjectCache& cache_;
  const BuilderOptions options_;
  std::string version_;
  std::vector<int> architectures_;
  std::vector<std::unique_ptr<BuilderProcess>> processes_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> orders_, hints_;
  std::vector<Digest> under_way_;
  std::set<Digest> known_;       // to be in the cache
  std::vector<Digest> awaited_;  // by Build
  std::map<Digest, Result<std::optional<CudaObject>>> done_;
  std::size_t hinting_ = 0;  // children that build hints
  bool closing_ = false;
  std::vector<std::thread> threads_;  // last: start when all else is there
};

Builder::Builder(std::unique_ptr<Work> work) : work_(std::move(work)) {}
Builder::~Builder() = default;

Result<std::unique_ptr<Builder>> Builder::Open(ObjectCache& cache, const BuilderOptions& options) {
  auto first = std::make_unique<BuilderProcess>(options.cores, MemoryOf(options));
  if (Status started = first->Start(); !started) return started.error();
  return std::unique_ptr<Builder>(
      new Builder(std::make_unique<Work>(cache, options, std::move(first))));
}

const std::string& Builder::version() const { return work_->version(); }
const std::vector<int>& Builder::architectures() const { return work_->architectures(); }

Result<std::vector<CudaBuilt>> Builder::Build(const std::vector<CudaUnit>& units) {
  return work_->Build(units);
}

void Builder::Queue(const std::vector<CudaUnit>& units) { work_->Queue(units); }
void Builder::Hint(std::vector<CudaUnit> units) { work_->Hint(std::move(units)); }

}  // namespace pawl
