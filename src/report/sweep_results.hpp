// The results of a sweep, which its JSON file holds, as a table for programs and one for people.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// One line for each run; without noise it has neither epsilon nor delta. Figures that need test rows are left empty
/// without them. Minority accuracy is there on long tails alone: on all rows no public word says which classes are
/// small.
std::string csv_of_sweep(const nlohmann::json& results);

/// Prints medians over seeds; without noise epsilon is infinite.
void print_sweep(const nlohmann::json& results);

/// The middle value, or the mean of the two in the middle. Precondition: there is one.
double median_of(std::vector<double> values);

}  // namespace dpreduce
