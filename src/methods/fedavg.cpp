// Federated averaging with differentially private silos: the baseline that one exact sum is compared with.
//
//     W_(t-1) to every silo    ->  E steps at each silo p:
//                                    W_p <- W_p - eta_p (gradient of its own rows at W_p + noise)
//                              ->  W_t = (W_1 + ... + W_P) / P
//
// Legend: P silos (ranks), T rounds, E local steps. A silo's gradient is noised at the silo, each with the noise of the
// whole plan: a row lies in one silo, so the P releases of a step together cost what one costs (parallel composition),
// and T E steps compose. W_p is then public, and every silo weighs the same: its number of rows is private. Steps are
// those of gradient descent (gradient_rounds.hpp), whose state a silo keeps over rounds; on one rank T rounds of E
// steps are T E rounds of gradient descent. Unlike with every other method, the model depends on which rows are whose.
//
// W_p goes out in units of 2^-36 / C, as integers mod 2^64: their sum has the same bits in any order of silos.
// Source: [mcmahan2017], Algorithm 1, full batches; local noise as in DP-FedAvg with record-level privacy
// (for instance [truex2019], [liu2022]).
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

// Number of rounds of 5 steps: as many noised gradients as gradient descent takes by default.
constexpr std::uint64_t kFedavgRounds = 60;
// Enough to save most messages; with many more, silos of few classes drift apart.
constexpr std::uint64_t kLocalSteps = 5;
constexpr std::uint64_t kMostSteps = 100000;
constexpr double kUnits = 0x1p36;  // a unit of weights is 1 / (C 2^36)
constexpr double kLargestSum = 0x1p62;

// W <- mean over ranks, the same bits on every rank. Collective.
void average_over_ranks(std::vector<double>& weights, double clip_norm, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const double unit = 1.0 / (clip_norm * kUnits);
  const double largest = kLargestSum / ranks.size();
  std::vector<std::uint64_t> words(weights.size());
  ranks.together([&] {
    for (std::size_t e = 0; e < weights.size(); ++e) {
      const double units = weights[e] / unit;
      if (!(std::abs(units) <= largest)) {
        throw UsageError("--method fedavg: weights of {:g} are too large to be averaged; lower --learning-rate",
                         weights[e]);
      }
      words[e] = static_cast<std::uint64_t>(std::llrint(units));
    }
  });
  ranks.sum_everywhere(words);
  for (std::size_t e = 0; e < weights.size(); ++e) {
    weights[e] = static_cast<double>(static_cast<std::int64_t>(words[e])) * unit / ranks.size();
  }
}

class FederatedAveragingMethod : public RoundsMethod {
 public:
  explicit FederatedAveragingMethod(const FitOptions& options)
      : RoundsMethod(options, round_settings(options, kFedavgRounds)),
        local_steps_(options.method.local_steps.value_or(kLocalSteps)) {
    if (settings_.rounds > kMostSteps / local_steps_) {
      throw UsageError("--rounds {} x --local-steps {}: a silo takes at most {} steps in total", settings_.rounds,
                       local_steps_, kMostSteps);
    }
  }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    ++terms.dim;
    terms.rounds = settings_.rounds * local_steps_;
    return {registered_statistic("gradient").request(terms, 1.0)};
  }

  std::uint64_t releases_per_sum() const override { return local_steps_; }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    json["local_steps"] = local_steps_;
    json["noise"] = "each silo's own";
    return json;
  }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(settings_.intercept_share);
    run.rows().keep();
    const Lattice lattice = run.rows().lattice();
    const double unit = Lattice{settings_.residual_norm, run.rows().classes()}.scale() * lattice.scale();
    RoundSettings steps = settings_;
    steps.rounds *= local_steps_;
    const StepRule rule = averaged_descent_rule(run, steps, static_cast<std::size_t>(run.ranks().size()));
    return iterate_rounds(run, settings_, [&](std::uint64_t round, std::vector<double>& weights) {
      for (std::uint64_t step = 1; step <= local_steps_; ++step) {
        std::optional<LatticeWeights> at;  // each silo's own, and so fallible on each alone
        run.ranks().together([&] { at.emplace(weights, lattice); });
        const Release release =
            run.release_of_own_rows("gradient", GradientPoint{*at, settings_.loss, {}, steps.residual_norm});
        run.ranks().together([&] {
          rule({(round - 1) * local_steps_ + step, release, unit, steps.residual_norm}, weights);
        });
      }
      average_over_ranks(weights, lattice.clip_norm, run.ranks());
    });
  }

 private:
  std::uint64_t local_steps_;
};

}  // namespace

const MethodEntry fedavg_method{
    .name = "fedavg",
    .help = "federated averaging, each silo with its own noise: a baseline",
    .takes = {{"--rounds", "60"}, {"--local-steps", "5"}, {"--learning-rate"}, {"--loss"}, {"--iterate"}},
    .refuses = {{"--choose",
                 "each silo adds its own noise to gradients, and a choice would need exact counts of all silos' "
                 "rows; leave it out"},
                {"--resume", "noised gradients stay at their silos and are not saved; leave it out"},
                {"--secure-aggregation",
                 "its silos add noise to their own gradients, which are not summed; leave the option out"}},
    .make = make_of<FederatedAveragingMethod>,
    .each_rank_is_a_silo = true};

}  // namespace dpreduce
