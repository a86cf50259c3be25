// What --dry-run reports of a run's cost. It depends on the number of rows, which is private: for the data's owner
// alone, never part of a report.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forecast/run_cost.hpp"

namespace dpreduce {

struct RunEstimate {
  JobShape job;
  std::uint64_t memory_bytes = 0;  ///< of the coordinator, which needs most
  std::optional<std::uint64_t> available_bytes;
  std::vector<PhaseWork> phases;
};

/// {"for_release": false, "note", "ranks", "threads", "memory_bytes_per_rank", "memory_bytes_available",
/// "wire_bytes_per_rank", "wire_bytes", "multiply_adds", "phases": [{"name", "multiply_adds"}]}. Each rank sends its
/// part of every sum once and gets every broadcast once; wire_bytes is that of all ranks but the coordinator. What
/// depends on the number of rows is rounded up to two digits, so that it does not tell the number itself.
nlohmann::json cost_json(const RunEstimate& cost);

/// The same as lines of text, each of which begins with "cost".
void print_cost(const RunEstimate& cost);

/// The smallest number with two significant decimal digits that is at least `value`; 0 for 0.
/// Precondition: value >= 0, finite.
double rounded_up(double value);

}  // namespace dpreduce
