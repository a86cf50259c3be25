#include "common/base/number_text.hpp"

#include <charconv>
#include <string>

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

}  // namespace dpreduce
