// A few threads that share loops of independent steps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dpreduce {

/// The caller and threads - 1 helpers, which live as long as the team. Used by one caller at a time.
class ThreadTeam {
 public:
  /// Throws std::system_error where a thread cannot be started.
  explicit ThreadTeam(unsigned threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// The caller and its helpers.
  std::size_t size() const { return helpers_.size() + 1; }

  /// Calls step(index) once for each index < count, in any order and on any thread of the team, and returns when all
  /// are done. Steps are handed out one by one: any mixture of costs balances. After a step throws, steps not yet
  /// started are skipped and the exception is thrown here.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& step);

 private:
  ThreadTeam() = default;
  void work();
  void take_steps();

  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable finished_;
  // Written under the mutex; looked at without it before a wait.
  std::atomic<std::size_t> loop_{0};  // counts the loops, so that a helper knows a new one
  std::atomic<bool> open_{false};     // steps are left of the loop
  std::atomic<std::size_t> busy_{0};  // helpers that have begun the loop and not finished it
  std::atomic<bool> stopping_{false};
  std::exception_ptr failure_;

  const std::function<void(std::size_t)>* step_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
};

}  // namespace dpreduce
