// Registry of every statistic that a method computes from rows, with its sensitivity. A statistic that is not listed
// here has no pass over the rows. A test goes through this list, and compares each statistic with its declared
// sensitivity on neighboring data sets.
#pragma once

#include <span>
#include <string_view>

#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Returns all registered statistics.
std::span<const StatisticEntry* const> registered_statistics();

/// Returns the entry of a release. Throws std::logic_error if there is none.
const StatisticEntry& registered_statistic(std::string_view release);

}  // namespace dpreduce
