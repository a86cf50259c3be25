// Several commands check options alike: each check throws UsageError naming option, value and limit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace dpreduce {

inline constexpr unsigned kMostThreads = 1024;
inline constexpr std::size_t kMostMemoryMib = std::size_t{1} << 20;
inline constexpr double kLargestImbalance = 1e6;

void require_option_between(const char* option, double value, double smallest, double largest);
void require_option_positive(const char* option, double value);
/// Between 0 and 1, both left out; where it is given.
void require_option_share(const char* option, const std::optional<double>& share);
void require_classes(std::size_t classes);
void require_both_or_none(const char* x, bool has_x, const char* y, bool has_y);

/// However the two are spelled, and whether they exist yet or not. A device may take several outputs.
bool is_same_file(const std::filesystem::path& first, const std::filesystem::path& second);

}  // namespace dpreduce
