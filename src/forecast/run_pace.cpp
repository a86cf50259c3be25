#include "forecast/run_pace.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dpreduce {
namespace {

// Work in multiply-adds of a Gram matrix: those of rounds take about four times as long as those, and a row that is
// read, transformed and rounded about as long as so many.
constexpr double kOfRoundMac = 4.0;
constexpr double kOfPreparedRow = 1e5;

double work_of(const PhaseWork& phase) {
  // Each round is something, also where no rows lie here.
  return static_cast<double>(phase.rounds) + phase.product_macs + kOfRoundMac * phase.round_macs +
         kOfPreparedRow * phase.rows_prepared;
}

}  // namespace

RunPace::RunPace(const std::vector<PhaseWork>& phases) {
  for (const PhaseWork& phase : phases) work_ += work_of(phase);
  double before = 0.0;
  for (const PhaseWork& phase : phases) {
    const double share = work_of(phase) / work_;
    phases_.push_back({phase.name, before, share, static_cast<double>(phase.rounds), 0.0});
    before += share;
  }
}

void RunPace::begin(std::string_view pass) {
  pass_ = pass;
  const auto phase = std::ranges::find(phases_, pass, &Phase::name);
  current_.reset();
  if (phase == phases_.end()) return;
  current_ = static_cast<std::size_t>(phase - phases_.begin());
  phase->started += 1.0;
  advance(0.0);
}

void RunPace::advance(double share) {
  if (!current_) return;
  const Phase& phase = phases_[*current_];
  const double rounds = std::max(phase.rounds, phase.started);
  const double done = (phase.started - 1.0 + std::clamp(share, 0.0, 1.0)) / rounds;
  share_ = std::max(share_, std::min(1.0, phase.begins + phase.share * done));
}

std::string RunPace::doing() const {
  if (!current_ || phases_[*current_].rounds < 2.0) return pass_;
  const Phase& phase = phases_[*current_];
  return fmt::format("{}, round {} of {}", pass_, phase.started, std::max(phase.rounds, phase.started));
}

double seconds_left(double share, double elapsed) {
  return elapsed * (1.0 - share) / share;
}

std::string print_duration(double seconds) {
  const double rounded = std::round(seconds);
  if (rounded < 60.0) return fmt::format("{:.0f} s", rounded);
  const double minutes = std::round(seconds / 60.0);
  if (minutes < 60.0) return fmt::format("{:.0f} min", minutes);
  const double hours = std::floor(minutes / 60.0);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - 60.0 * hours);
}

}  // namespace dpreduce
