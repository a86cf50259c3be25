// Every statistic that a method computes from rows, with its sensitivity. What is not listed here has no pass
// over the rows; what is listed is compared with its declared sensitivity, on neighboring data sets, by a test that
// goes through this list.
#pragma once

#include <span>
#include <string_view>

#include "worker/statistic_entry.hpp"

namespace dpreduce {

std::span<const StatisticEntry* const> registered_statistics();

/// The entry of that release. Throws std::logic_error where there is none.
const StatisticEntry& registered_statistic(std::string_view release);

}  // namespace dpreduce
