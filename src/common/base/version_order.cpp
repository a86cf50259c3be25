#include "common/base/version_order.hpp"

#include <array>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostNumbers = 4;
constexpr std::size_t kMostDigits = 9;

std::array<unsigned long, kMostNumbers> numbers_of(const std::string& version) {
  std::array<unsigned long, kMostNumbers> numbers{};
  std::istringstream text(version);
  for (unsigned long& number : numbers) {
    text >> number;
    if (text.get() != '.') break;
  }
  return numbers;
}

}  // namespace

void require_version(std::string_view key, const std::string& text) {
  std::size_t numbers = 1;
  std::size_t digits = 0;
  bool is_version = true;
  for (const char character : text) {
    if (character == '.') {
      is_version = is_version && digits > 0;
      ++numbers;
      digits = 0;
    } else {
      is_version = is_version && std::isdigit(static_cast<unsigned char>(character)) != 0 && ++digits <= kMostDigits;
    }
  }
  if (is_version && digits > 0 && numbers <= kMostNumbers) return;
  throw UsageError(fmt::format("{} '{}': must be a version, as in 1.2.0", key, text));
}

bool is_before(const std::string& version, const std::string& least) {
  return numbers_of(version) < numbers_of(least);
}

}  // namespace dpreduce
