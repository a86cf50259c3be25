#include "methods/silo_options.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/option_table.hpp"

namespace dpreduce {
namespace {

constexpr double kShortestTimeout = 0.05;  // seconds
constexpr double kLongestTimeout = 1e6;
constexpr double kLeastMegabits = 1e-3;  // then a message of 1 MiB takes 2.3 hours
constexpr double kMostMegabits = 1e9;
constexpr double kMostPercentLost = 99;

// The simulated line must not take longer for a message than the longest --timeout.
void require_valid_line(const SiloOptions& silos) {
  if (silos.round_trip_ms) require_option_between("--round-trip", *silos.round_trip_ms, 0, 1e3 * kLongestTimeout);
  if (silos.bandwidth_mbit) require_option_between("--bandwidth", *silos.bandwidth_mbit, kLeastMegabits, kMostMegabits);
  if (!silos.packet_loss_percent) return;
  require_option_between("--packet-loss", *silos.packet_loss_percent, 0, kMostPercentLost);
  if (*silos.packet_loss_percent > 0 && silos.round_trip_ms.value_or(0) == 0) {
    throw UsageError(
        fmt::format("--packet-loss {} goes with --round-trip: what is lost costs round trips; give a positive one",
                    *silos.packet_loss_percent));
  }
}

}  // namespace

void check(const SiloOptions& silos) {
  if (!silos.secure_aggregation) {
    const std::pair<const char*, bool> given[] = {
        {"--threshold", silos.threshold.has_value()},
        {"--roster", !silos.roster.empty()},
        {"--identity", !silos.identity.empty()},
        {"--silo-config", !silos.own_options.empty()},
        {"--log", !silos.log.empty()},
        {"--round-trip", silos.round_trip_ms.has_value()},
        {"--bandwidth", silos.bandwidth_mbit.has_value()},
        {"--packet-loss", silos.packet_loss_percent.has_value()},
        {"--noise distributed", silos.is_distributed()},
        {"--colluding", silos.colluding > 0},
        {"--silo-timeout", silos.timeout_seconds != SiloOptions().timeout_seconds}};
    for (const auto& [option, is_given] : given) {
      if (is_given) throw UsageError(fmt::format("{} goes with --secure-aggregation", option));
    }
    return;
  }
  if (silos.consent && silos.roster.empty()) {
    throw UsageError(
        "[consent] in --silo-config: goes with --roster and --identity; without them nobody knows who the others are, "
        "and rows must be opened to plan");
  }
  require_both_or_none("--roster", !silos.roster.empty(), "--identity", !silos.identity.empty());
  if (!(silos.timeout_seconds >= kShortestTimeout && silos.timeout_seconds <= kLongestTimeout)) {
    throw UsageError(fmt::format("--silo-timeout {}: must be from {} to {} seconds", silos.timeout_seconds,
                                 kShortestTimeout, kLongestTimeout));
  }
  require_valid_line(silos);
}

}  // namespace dpreduce
