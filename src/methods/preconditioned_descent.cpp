// DP-FC: rounds of gradient descent, preconditioned by a Gram matrix that is released once.
//
//     W <- W - step (gradient(W) + noise) (G + ridge I)^-1,   W = 0 at first
//
// Source: paper 002, Algorithm 3, with corrections: residuals are clipped as vectors, so that nothing grows with the
// number of classes; sums, never means, so that no n is needed; G is cleaned of its known noise.
#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/gram_spectrum.hpp"
#include "dpreduce/aggregator/least_squares.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

constexpr double kIntercept = 0.1;
constexpr double kGramShare = 0.2;
constexpr double kStep = 8.0;
constexpr double kRidgeInRadii = 2.0;

class PreconditionedDescentMethod : public TrainingMethod {
 public:
  explicit PreconditionedDescentMethod(const FitOptions& options)
      : rounds_(options.rounds), loss_(options.loss), gram_share_(options.gram_share.value_or(kGramShare)) {}

  std::string_view name() const override { return "fc"; }
  double intercept() const override { return kIntercept; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.rounds = rounds_;
    return {registered_statistic("gram").request(terms, gram_share_),
            registered_statistic("gradient").request(terms, 1.0 - gram_share_)};
  }

  nlohmann::json settings() const override {
    return {{"rounds", rounds_}, {"loss", to_string(loss_)}, {"gram_share", gram_share_}};
  }

  LinearScores train(TrainingRun& run) const override {
    const Lattice lattice = run.lattice();
    const Release gram = run.release("gram");
    run.end_phase("gram");
    std::optional<GramSpectrum> spectrum;
    if (run.ranks().is_coordinator()) spectrum.emplace(gram.block("gram"), lattice);
    run.end_phase("solve");

    std::vector<double> weights(run.classes() * lattice.dim, 0.0);
    const double unit = Lattice{1.0, run.classes()}.scale() * lattice.scale();
    for (std::uint64_t round = 0; round < rounds_; ++round) {
      const LatticeWeights point(weights, lattice);
      const GradientPoint at{point, loss_};
      const Release gradient = run.release("gradient", &at);
      if (spectrum) {
        std::vector<double> step = in_units(gradient.block("gradient"), unit);
        spectrum->solve(step, kRidgeInRadii * spectrum->noise_radius() + lattice.clip_norm * lattice.clip_norm);
        for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= kStep * step[e];
      }
      run.ranks().broadcast(weights);
    }
    run.end_phase("rounds");
    return fold_intercept(weights, run.preprocessing());
  }

 private:
  std::uint64_t rounds_;
  Loss loss_;
  double gram_share_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_preconditioned_descent_method(const FitOptions& options) {
  return std::make_unique<PreconditionedDescentMethod>(options);
}

}  // namespace dpreduce
