#include "common/base/option_checks.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostClasses = std::size_t{1} << 20;

}  // namespace

void require_option_between(const char* option, double value, double smallest, double largest) {
  if (!(value >= smallest && value <= largest)) {
    throw UsageError(fmt::format("{} {}: must be from {} to {}", option, value, smallest, largest));
  }
}

void require_option_positive(const char* option, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw UsageError(fmt::format("{} {}: must be a positive finite number", option, value));
  }
}

void require_option_share(const char* option, const std::optional<double>& share) {
  if (share && !(*share > 0.0 && *share < 1.0)) {
    throw UsageError(fmt::format("{} {}: must lie between 0 and 1", option, *share));
  }
}

void require_classes(std::size_t classes) {
  if (classes < 2 || classes > kMostClasses) {
    throw UsageError(fmt::format("--classes {}: must be from 2 to {}{}", classes, kMostClasses,
                                 classes == 0 ? "; say how many classes there are, or name them" : ""));
  }
}

bool is_same_file(const std::filesystem::path& first, const std::filesystem::path& second) {
  std::error_code error;
  if (std::filesystem::is_character_file(first, error)) return false;
  const auto plain = [&](const std::filesystem::path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return plain(first) == plain(second);
}

void require_both_or_none(const char* x, bool has_x, const char* y, bool has_y) {
  if (has_x != has_y) throw UsageError(fmt::format("{} and {} go together: {} is missing", x, y, has_x ? y : x));
}

}  // namespace dpreduce
