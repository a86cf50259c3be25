#include "commands/command_line/label_set_terms.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

void check_label_set_terms(const std::optional<std::size_t>& top_k, const std::optional<double>& threshold) {
  if (top_k == 0) throw UsageError("--top-k 0: must be at least 1");
  if (threshold && !std::isfinite(*threshold)) {
    throw UsageError(fmt::format("--threshold {}: must be a finite number", *threshold));
  }
}

}  // namespace dpreduce
