// Numbers that tests draw, and sums of their squares.
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

/// For passes whose progress nobody watches.
inline const std::function<void(double)> kUnwatched = [](double) {};

}  // namespace dpreduce
