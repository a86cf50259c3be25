#include "common/base/version.hpp"

#include <vector>

#include "common/base/text.hpp"

namespace dpreduce {

std::string version() {
  return DPREDUCE_VERSION;
}

std::optional<VersionNumbers> version_numbers(std::string_view text) {
  VersionNumbers numbers{};
  const std::vector<std::string> parts = parts_of(text, '.');
  if (parts.size() > numbers.size()) return std::nullopt;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    const std::optional<unsigned> number = plain_number<unsigned>(parts[place]);
    if (!number) return std::nullopt;
    numbers[place] = *number;
  }
  return numbers;
}

}  // namespace dpreduce
