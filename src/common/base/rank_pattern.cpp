#include "common/base/rank_pattern.hpp"

#include <algorithm>
#include <string_view>

namespace dpreduce {
namespace {

constexpr std::string_view kRank = "{rank}";

}  // namespace

bool has_rank(const std::string& pattern) {
  return pattern.find(kRank) != std::string::npos;
}

bool has_rank(const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [](const std::string& pattern) { return has_rank(pattern); });
}

std::string with_rank(std::string pattern, std::size_t rank) {
  const std::string number = std::to_string(rank);
  for (std::size_t at = 0; (at = pattern.find(kRank, at)) != std::string::npos; at += number.size()) {
    pattern.replace(at, kRank.size(), number);
  }
  return pattern;
}

}  // namespace dpreduce
