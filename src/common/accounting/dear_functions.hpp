// Functions that are dear: their last answers kept, their least value found in few evaluations.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace dpreduce {

// The last answers of a function that is dear and pure: a program asks for the same budget many times.

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

// Golden-section search for the least value of a function with one valley.

/// A point near the minimum of f on [low, high], after the given number of evaluations; a flat or wavy f only makes it
/// a worse point. Callers that need a true bound use the value at whatever point comes out.
template <typename Function>
double golden_section(double low, double high, int evaluations, Function f) {
  constexpr double kGolden = 0.6180339887498949;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double f_left = f(left);
  double f_right = f(right);
  for (int step = 2; step < evaluations; ++step) {
    if (f_left <= f_right) {
      high = right;
      right = left;
      f_right = f_left;
      left = high - kGolden * (high - low);
      f_left = f(left);
    } else {
      low = left;
      left = right;
      f_left = f_right;
      right = low + kGolden * (high - low);
      f_right = f(right);
    }
  }
  return f_left <= f_right ? left : right;
}

}  // namespace dpreduce
