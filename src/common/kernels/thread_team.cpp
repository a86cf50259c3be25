#include "dpreduce/kernels/thread_team.hpp"

namespace dpreduce {

ThreadTeam::ThreadTeam(unsigned threads) {
  try {
    while (helpers_.size() + 1 < threads) helpers_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  stop();
}

void ThreadTeam::stop() {
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
    busy_ = helpers_.size();
    failure_ = nullptr;
    ++loop_;
  }
  started_.notify_all();
  take_steps();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void ThreadTeam::work() {
  std::size_t last_loop = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return stopping_ || loop_ != last_loop; });
      if (stopping_) return;
      last_loop = loop_;
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
