// Numbers in text, read alike in every process: whatever its locale is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dpreduce {

/// The number that all of the text is, as 1, +.5, 1e-5, nan or inf; nothing where it is none, or beyond a double.
std::optional<double> number_of(std::string_view text);

/// The integer that all of the text is, written as it usually is; nothing of others: 07, +7, -0.
std::optional<std::int64_t> usual_integer(std::string_view text);

}  // namespace dpreduce
