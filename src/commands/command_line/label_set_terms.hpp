// What predict and evaluate ask of scores where a row may have several classes.
#pragma once

#include <cstddef>
#include <optional>

namespace dpreduce {

/// Throws UsageError where --top-k is 0, or --threshold no finite number.
void check_label_set_terms(const std::optional<std::size_t>& top_k, const std::optional<double>& threshold);

}  // namespace dpreduce
