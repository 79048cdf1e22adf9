#include "worker/device/host/ahead.h"

#include <algorithm>

namespace pawl {

BuildAhead::BuildAhead(Compiler& compiler) : compiler_(compiler), thread_([this] { Work(); }) {}

BuildAhead::~BuildAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  hold_.Continue();
  changed_.notify_all();
  thread_.join();
}

void BuildAhead::Queue(std::vector<Unit> units) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.assign(units.begin(), units.end());
  changed_.notify_all();
}

void BuildAhead::Yield(const Digest& key) {
  std::unique_lock<std::mutex> lock(mutex_);
  queue_.erase(std::remove_if(queue_.begin(), queue_.end(),
                              [&](const Unit& unit) { return compiler_.KeyOf(unit) == key; }),
               queue_.end());
  changed_.wait(lock, [&] { return under_way_ != key; });
}

void BuildAhead::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  hold_.Stop();
}

void BuildAhead::Continue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = false;
  }
  hold_.Continue();
  changed_.notify_all();
}

void BuildAhead::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || (!stopped_ && !queue_.empty()); });
    if (closing_) return;
    const Unit unit = std::move(queue_.front());
    queue_.pop_front();
    under_way_ = compiler_.KeyOf(unit);
    lock.unlock();
    // A hint's failure is nobody's: when the unit is ordered it fails again, and is reported.
    static_cast<void>(compiler_.Build(unit, &hold_).has_value());
    lock.lock();
    under_way_ = Digest{};
    changed_.notify_all();
  }
}

}  // namespace pawl
