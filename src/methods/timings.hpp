// Seconds of each phase of a command.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Clock that adds up the seconds of each phase.
class Timings {
 public:
  using OnPhase = std::function<void(const std::string& phase, double seconds)>;

  /// Calls `on_phase` with every phase when it ends; null: no calls.
  explicit Timings(OnPhase on_phase = nullptr) : on_phase_(std::move(on_phase)) {}

  /// Adds the time since the last call, or since construction, to `phase`; a repeated phase adds up.
  void end_phase(const std::string& phase);
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  OnPhase on_phase_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> phases_;
};

/// (phase, seconds), in the order in which phases began.
using RankTimings = std::vector<std::pair<std::string, double>>;

/// Returns the timings of every rank, in rank order, at the coordinator; empty elsewhere. The timings depend on the
/// numbers of rows that ranks hold, and are for the owner of the data, as all timings are. Not among silos.
/// Collective.
std::vector<RankTimings> gather_timings(const Timings& timings, Communicator& ranks);

}  // namespace dpreduce
