// Images a second and the time that remains, on standard error where that is a terminal; silent elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

namespace dpreduce::fashion_mnist {

class Progress {
 public:
  explicit Progress(std::size_t total);
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts further images as done; from any thread. At most ten lines a second are drawn.
  void advance(std::size_t images) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  const std::size_t total_;
  const bool shown_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point drawn_ = start_;
  std::size_t done_ = 0;
};

}  // namespace dpreduce::fashion_mnist
