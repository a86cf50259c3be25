// Squared sensitivities that a statistic declares, in units that tests can read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/row_sensitivity.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {

inline constexpr std::uint64_t kS2 = kSquaredNorm;
inline constexpr std::uint64_t kS4 = kFourthNorm;

/// One row a profile, one column a block.
using Squares = std::vector<std::vector<std::uint64_t>>;

inline Squares declared_squares(std::string_view statistic, const ReleaseTerms& terms) {
  Squares squares;
  for (const SensitivityProfile& profile : registered_statistic(statistic).request(terms, 1.0).profiles) {
    squares.push_back(profile.squared_l2);
  }
  return squares;
}

}  // namespace dpreduce
