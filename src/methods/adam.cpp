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
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kAdamRounds = 150;
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.99;
// Largest step of log odds, where a step moves every entry by the same amount.
constexpr double kAdamScoreReach = 8.0;

class AdamStep : public StepRule {
 public:
  AdamStep(double rate, std::uint64_t rounds, std::size_t entries, double clip_norm)
      : rate_(rate), rounds_(rounds), clip_norm_(clip_norm), first_(entries, 0.0), second_(entries, 0.0) {}

  void step(const NoisedRound& round, std::span<double> weights) override {
    const std::vector<double> gradient = round.gradient();
    const double noise = round.sigma() * round.sigma();
    const double floor = rate_ * curvature_of_noise(round.sigma(), rounds_, clip_norm_);
    first_left_ *= kFirstDecay;
    second_left_ *= kSecondDecay;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const double g = gradient[e];
      first_[e] = kFirstDecay * first_[e] + (1.0 - kFirstDecay) * g;
      second_[e] = kSecondDecay * second_[e] + (1.0 - kSecondDecay) * g * g;
      const double mean = first_[e] / (1.0 - first_left_);
      const double size = std::sqrt(std::max(second_[e] / (1.0 - second_left_) - noise, 0.0) + floor * floor);
      if (size > 0.0) weights[e] -= rate_ * mean / size;
    }
  }

 private:
  double rate_;
  std::uint64_t rounds_;
  double clip_norm_;
  double first_left_ = 1.0;   // b1^t
  double second_left_ = 1.0;  // b2^t
  std::vector<double> first_;
  std::vector<double> second_;
};

class AdamMethod : public RoundsMethod {
 public:
  explicit AdamMethod(const FitOptions& options) : RoundsMethod(round_settings(options, kAdamRounds)) {}

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(settings_.intercept_share);
    const Lattice lattice = run.rows().lattice();
    const double rate =
        settings_.learning_rate.value_or(score_reach(settings_.loss, kAdamScoreReach) /
                                         (lattice.clip_norm * std::sqrt(static_cast<double>(lattice.dim))));
    AdamStep rule(rate, settings_.rounds, run.rows().classes() * lattice.dim, lattice.clip_norm);
    return train_in_rounds(run, settings_, &rule);
  }
};

}  // namespace

const MethodEntry& adam_method() {
  static const MethodEntry entry{
      .name = "adam",
      .help = "full-batch Adam on noised gradients",
      .takes = with_options_of_rounds({{"--rounds", "150"}, {"--batch"}, {"--learning-rate"}}),
      .make = make_of<AdamMethod>,
      .scores_are_adjustable = true};
  return entry;
}

}  // namespace dpreduce
