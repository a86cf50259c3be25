// Numbers that tests draw, sums of their squares, and their moments.
#pragma once

#include "tests/testing.hpp"

namespace dpreduce {

/// `count` normal numbers around 0.
template <typename Number = double, typename Engine>
std::vector<Number> normal_numbers(Engine& engine, std::size_t count, Number deviation = 1) {
  std::normal_distribution<Number> normal(0, deviation);
  std::vector<Number> numbers(count);
  for (Number& number : numbers) number = normal(engine);
  return numbers;
}

template <typename Engine>
std::vector<std::int32_t> random_labels(Engine& engine, std::size_t count, std::size_t classes) {
  std::vector<std::int32_t> labels(count);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(engine() % classes);
  return labels;
}

template <typename Sum = double, typename Numbers>
Sum sum_of_squares(const Numbers& numbers) {
  Sum sum = 0;
  for (const auto number : numbers) sum += static_cast<Sum>(number) * static_cast<Sum>(number);
  return sum;
}

/// Of numbers that are drawn again and again.
class DrawnMoments {
 public:
  void add(double number) {
    ++count_;
    sum_ += number;
    squares_ += number * number;
  }
  double mean() const { return sum_ / count_; }
  double deviation() const { return std::sqrt(squares_ / count_ - mean() * mean()); }

 private:
  double count_ = 0.0;
  double sum_ = 0.0;
  double squares_ = 0.0;
};

/// For passes whose progress nobody watches.
inline const std::function<void(double)> kUnwatched = [](double) {};

}  // namespace dpreduce
