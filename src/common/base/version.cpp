#include "common/base/version.hpp"

#include <charconv>

namespace dpreduce {

std::string version() {
  return DPREDUCE_VERSION;
}

std::optional<VersionNumbers> version_numbers(std::string_view text) {
  VersionNumbers numbers{};
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  for (unsigned& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    if (next == end) return numbers;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

}  // namespace dpreduce
