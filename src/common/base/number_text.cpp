#include "common/base/number_text.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

template <typename Number>
std::optional<Number> all_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return all_of<double>(text);
}

std::optional<std::int64_t> usual_integer(std::string_view text) {
  const auto integer = all_of<std::int64_t>(text);
  return integer && std::to_string(*integer) == text ? integer : std::nullopt;
}

std::string upper_figure(double value, int digits) {
  DPREDUCE_ASSERT(digits >= 1 && digits <= 15);
  std::string nearest = fmt::format("{:.{}g}", value, digits);
  // The shortest text that is read as `value` again: 0.1 is "0.1".
  const double read = number_of(nearest).value_or(value);
  if (!std::isfinite(value) || !(read < value)) return nearest;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - digits + 1);
  return fmt::format("{:.{}g}", read + unit, digits);
}

std::string lower_figure(double value, int digits) {
  const std::string negated = upper_figure(-value, digits);
  return negated.front() == '-' ? negated.substr(1) : (value == 0.0 ? "0" : "-" + negated);
}

std::string noise_text(double sigma, double sensitivity) {
  return fmt::format("standard deviation {} times the sensitivity", lower_figure(sigma / sensitivity));
}

}  // namespace dpreduce
