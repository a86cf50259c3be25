#include "common/accounting/argument_checks.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace dpreduce {
namespace {

[[noreturn]] void refuse(std::string_view name, double value, const std::string& rule) {
  throw UsageError(std::string(name) + " = " + print_number(value) + ": " + rule);
}

}  // namespace

std::string print_number(double value) {
  std::array<char, 32> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), result.ptr);
}

void require_between(std::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) return;
  refuse(name, value, "must be a number from " + print_number(low) + " to " + print_number(high));
}

void require_positive(std::string_view name, double value) {
  if (value > 0 && std::isfinite(value)) return;
  refuse(name, value, "must be a finite number greater than 0");
}

void require_positive(std::string_view name, double value, double most) {
  require_positive(name, value);
  require_between(name, value, 0, most);
}

void require_probability(std::string_view name, double value) {
  if (value > 0 && value < 1) return;
  refuse(name, value, "must be a number between 0 and 1, both excluded");
}

}  // namespace dpreduce
