// Range checks of privacy parameters. A failed one is a UsageError that names the argument, its value and the range.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace dpreduce {

/// The shortest decimal that reads back as the same double; "nan", "inf" or "-inf".
std::string print_number(double value);

/// Throws UsageError unless low <= value <= high.
void require_between(std::string_view name, double value, double low, double high);

/// Throws UsageError unless value is finite and > 0.
void require_positive(std::string_view name, double value);
/// Throws UsageError unless value is finite, > 0 and at most `most`.
void require_positive(std::string_view name, double value, double most);

/// Throws UsageError unless 0 < value < 1.
void require_probability(std::string_view name, double value);

}  // namespace dpreduce
