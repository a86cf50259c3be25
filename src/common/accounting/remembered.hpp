// The last answers of a function that is dear and pure: a program asks for the same budget many times.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace dpreduce {

/// Keeps the answers to the last 16 different questions. Several threads may ask.
template <typename Question, typename Answer>
class Remembered {
 public:
  /// The answer as it was computed before, else that of compute(). What throws is not kept.
  template <typename Compute>
  Answer to(const Question& question, const Compute& compute) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& kept : kept_) {
        if (kept && kept->first == question) return kept->second;
      }
    }
    const Answer answer = compute();
    const std::lock_guard lock(mutex_);
    kept_[next_++ % kept_.size()] = {question, answer};
    return answer;
  }

 private:
  std::mutex mutex_;
  std::array<std::optional<std::pair<Question, Answer>>, 16> kept_;
  std::size_t next_ = 0;
};

}  // namespace dpreduce
