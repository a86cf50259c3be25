#include "fit/run_pace.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dpreduce {
namespace {

constexpr double kSecondsOfModel = 2.0;  // the model counts as much as so many seconds of the run itself,
constexpr double kShareOfModel = 0.05;   // but not more than such a share of it
constexpr double kLeastSeconds = 1e-3;   // of a round: something, where it reads no rows here

}  // namespace

RunPace::RunPace(const std::vector<PhaseWork>& phases, const JobShape& job) {
  std::vector<double> seconds;
  for (const PhaseWork& phase : phases) {
    seconds.push_back(seconds_of(phase, kUsualSpeed, job) + kLeastSeconds * static_cast<double>(phase.rounds));
    modeled_seconds_ += seconds.back();
  }
  double before = 0.0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double share = seconds[i] / modeled_seconds_;
    phases_.push_back({phases[i].name, before, share, static_cast<double>(phases[i].rounds), 0.0});
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

double seconds_left(double modeled_seconds, double share, double elapsed) {
  if (modeled_seconds <= 0.0) return 0.0;
  const double counts_as = std::min(kSecondsOfModel / modeled_seconds, kShareOfModel);
  const double whole = (elapsed + counts_as * modeled_seconds) / (share + counts_as);
  return std::max(0.0, whole * (1.0 - share));
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
