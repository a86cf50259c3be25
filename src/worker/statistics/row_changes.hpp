// Profiles of the changes of a row, for declarations of statistics.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Returns the profiles of a statistic whose blocks a row added or removed moves by `one_row`, squared, and an exchange
/// of a row by one of `exchanges`.
inline std::vector<SensitivityProfile> profiles_of(const ReleaseTerms& terms, std::vector<std::uint64_t> one_row,
                                                   std::vector<SensitivityProfile> exchanges) {
  if (terms.adjacency == Adjacency::kAddRemove) return {{"one row more or less", std::move(one_row)}};
  return exchanges;
}

/// Returns the same of blocks that hold a weighed row in different powers: for units exchanged, one profile
/// (largest_of_each_block).
inline std::vector<SensitivityProfile> profiles_of_powers(const ReleaseTerms& terms, std::vector<std::uint64_t> one_row,
                                                          std::vector<SensitivityProfile> exchanges) {
  if (terms.has_units) exchanges = {largest_of_each_block(exchanges)};
  return profiles_of(terms, std::move(one_row), std::move(exchanges));
}

}  // namespace dpreduce
