// DP-FC: rounds of gradient descent, preconditioned by a Gram matrix that is released once.
//
//     W <- W - step (gradient(W) + noise) (G + ridge I)^-1
//
// Source: paper 002, Algorithm 3, with corrections: residuals are clipped as vectors, so that nothing grows with the
// number of classes; sums, never means, so that no n is needed; G is cleaned of its known noise.
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/gram_spectrum.hpp"
#include "dpreduce/methods/gradient_rounds.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

constexpr double kIntercept = 0.1;
constexpr double kGramShare = 0.2;
constexpr std::uint64_t kRounds = 10;
constexpr double kStep = 8.0;
constexpr double kRidgeInRadii = 2.0;

class PreconditionedStep : public StepRule {
 public:
  PreconditionedStep(const ReleasedBlock& gram, const Lattice& lattice)
      : spectrum_(gram, lattice),
        ridge_(kRidgeInRadii * spectrum_.noise_radius() + lattice.clip_norm * lattice.clip_norm) {}

  // W <- W - step g (G + ridge I)^-1
  void step(const NoisedRound& round, std::span<double> weights) override {
    std::vector<double> direction(round.gradient.begin(), round.gradient.end());
    spectrum_.solve(direction, ridge_);
    for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= kStep * direction[e];
  }

 private:
  GramSpectrum spectrum_;
  double ridge_;
};

class PreconditionedDescentMethod : public TrainingMethod {
 public:
  explicit PreconditionedDescentMethod(const FitOptions& options)
      : settings_(round_settings(options, kRounds)), gram_share_(options.gram_share.value_or(kGramShare)) {
    settings_.initial_score = 0.0;  // ten rounds are too few to come back from -10: measured, 1 to 2 points better
  }

  std::string_view name() const override { return "fc"; }
  double intercept() const override { return kIntercept; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.rounds = settings_.rounds;
    return with_warm_start(settings_, terms,
                           {registered_statistic("gram").request(terms, gram_share_),
                            registered_statistic("gradient").request(terms, 1.0 - gram_share_)});
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    json["gram_share"] = gram_share_;
    return json;
  }

  LinearScores train(TrainingRun& run) const override {
    const Release gram = run.release("gram");
    run.end_phase("gram");
    std::optional<PreconditionedStep> rule;
    run.ranks().together([&] {
      if (run.ranks().is_coordinator()) rule.emplace(gram.block("gram"), run.lattice());
    });
    run.end_phase("solve");
    return train_in_rounds(run, settings_, rule ? &*rule : nullptr);
  }

 private:
  RoundSettings settings_;
  double gram_share_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_preconditioned_descent_method(const FitOptions& options) {
  return std::make_unique<PreconditionedDescentMethod>(options);
}

}  // namespace dpreduce
