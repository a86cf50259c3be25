#include "common/kernels/thread_team.hpp"

#include <chrono>

namespace dpreduce {
namespace {

// A wake-up costs tens of microseconds, and so does a step: who has nothing to do looks for that long before it sleeps,
// and lets others have the core meanwhile.
constexpr std::chrono::microseconds kPatience{50};

template <typename Condition>
void look_for(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

// The object is whole after the first constructor: if a thread cannot be started, the destructor ends the others.
ThreadTeam::ThreadTeam(unsigned threads) : ThreadTeam() {
  while (helpers_.size() + 1 < threads) helpers_.emplace_back([this] { work(); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::for_each(std::size_t count, const std::function<void(std::size_t)>& step) {
  {
    const std::lock_guard lock(mutex_);
    step_ = &step;
    count_ = count;
    next_ = 0;
    failure_ = nullptr;
    open_ = true;
    ++loop_;
  }
  started_.notify_all();
  take_steps();
  open_ = false;  // no step is left: who has not begun is not waited for
  look_for([this] { return busy_ == 0; });
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void ThreadTeam::work() {
  std::size_t last_loop = 0;
  while (true) {
    const auto has_something = [&] { return stopping_ || (open_ && loop_ != last_loop); };
    look_for(has_something);
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, has_something);
      if (stopping_) return;
      last_loop = loop_;
      ++busy_;
    }
    take_steps();
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    finished_.notify_one();
  }
}

void ThreadTeam::take_steps() {
  try {
    for (std::size_t index = next_++; index < count_; index = next_++) (*step_)(index);
  } catch (...) {
    next_ = count_;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace dpreduce
