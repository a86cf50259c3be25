// DP-Adam: full-batch Adam on noised sums, its second moment cleaned of the noise that is known to be in it.
//
//     m <- b1 m + (1 - b1) g      v <- b2 v + (1 - b2) g^2        g the noised gradient, all entrywise
//     W <- W - rate m' / sqrt(max(v' - s^2, 0) + (rate h)^2)      m' = m / (1 - b1^t), v' = v / (1 - b2^t)
//
// s^2 is the noise's variance in each entry of g, and so its share of v'; h the curvature of the noise
// (gradient_rounds.hpp). The floor replaces Adam's epsilon: an entry that is noise alone moves by m' / h. Source:
// [mehta2023], Algorithm 4; [kingma2015]; [tang2024] (DP-AdamBC) for v' - s^2. Sums, never means.
#include <algorithm>
#include <cmath>
#include <vector>

#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kAdamRounds = 150;
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.99;
// Largest step of log odds, where a step moves every entry by the same amount.
constexpr double kAdamScoreReach = 8.0;

StepRule adam_rule(TrainingRun& run, const RoundSettings& settings) {
  const Lattice lattice = run.rows().lattice();
  const std::size_t entries = run.rows().classes() * lattice.dim;
  const double rate = settings.learning_rate.value_or(
      score_reach(settings.loss, kAdamScoreReach) / (lattice.clip_norm * std::sqrt(static_cast<double>(lattice.dim))));
  double first_left = 1.0;   // b1^t
  double second_left = 1.0;  // b2^t
  return [=, rounds = settings.rounds, first = std::vector(entries, 0.0), second = std::vector(entries, 0.0)](
             const NoisedRound& round, std::span<double> weights) mutable {
    const std::vector<double> gradient = round.gradient();
    const double noise = round.sigma() * round.sigma();
    const double floor = rate * curvature_of_noise(round.sigma(), rounds, lattice.clip_norm);
    first_left *= kFirstDecay;
    second_left *= kSecondDecay;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const double g = gradient[e];
      first[e] = kFirstDecay * first[e] + (1.0 - kFirstDecay) * g;
      second[e] = kSecondDecay * second[e] + (1.0 - kSecondDecay) * g * g;
      const double mean = first[e] / (1.0 - first_left);
      const double size = std::sqrt(std::max(second[e] / (1.0 - second_left) - noise, 0.0) + floor * floor);
      if (size > 0.0) weights[e] -= rate * mean / size;
    }
  };
}

}  // namespace

const MethodEntry adam_method{.name = "adam",
                              .help = "full-batch Adam on noised gradients",
                              .takes = with_options_of_rounds({{"--rounds", "150"}, {"--batch"}, {"--learning-rate"}}),
                              .make = make_rounds<kAdamRounds, adam_rule>,
                              .scores_are_adjustable = true};

}  // namespace dpreduce
