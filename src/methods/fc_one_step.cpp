// One step of DP-FC, as published: a Gram matrix and one gradient, released with half of mu^2 each.
//
//     W_1 = W_0 - (g + noise) (G + ridge I)^-1        W_0: every score is -10
//
// Legend: rows x have an intercept coordinate; G = sum x x^T, released first; g = sum r x^T at W_0, r_c = sigmoid(-10)
// - [c is a class of the row], clipped to |r| <= 1. G is cleaned of its known noise (gram_spectrum.hpp), of radius w;
// ridge = 0.5 w + C^2 unless the user gives it. A step's length would change no ranking of the classes, since all
// scores start equal; it is 1.
//
// For comparison: sigmoid(-10) is so small that -g is, but for 0.00005 of all rows, the matrix of class sums, and W_1
// ridge regression on zeros and ones. Least squares with one Gram matrix are that in one release; whitened descent is
// what came of more steps.
//
// Source: [mehta2023], Algorithm 3 with T = 1 and the settings of Table 10. Departures: sums, never means, since n is
// private; the step's noise has K d coordinates, where d are printed; symmetric noise on G; G is cleaned, and the ridge
// follows from the noise, where both step and ridge were tuned on private rows; the intercept is inside the norm.
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

constexpr double kGramShareOfOneStep = 0.5;
constexpr double kRidgeInRadiiOfOneStep = 0.5;  // as in ls.cpp, whose problem this is
constexpr double kFirstScore = -10.0;

class OneStepMethod : public TrainingMethod {
 public:
  explicit OneStepMethod(const FitOptions& options)
      : TrainingMethod(options), gram_share_(options.method.gram_share.value_or(kGramShareOfOneStep)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    ++terms.dim;
    return {registered_statistic("gram").request(terms, gram_share_),
            registered_statistic("gradient").request(terms, 1.0 - gram_share_)};
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(rounds_);
    json["gram_share"] = gram_share_;
    json["lambda"] = options_.method.lambda ? nlohmann::json(*options_.method.lambda) : nlohmann::json("auto");
    return json;
  }

  std::optional<Loss> loss() const override { return rounds_.loss; }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(rounds_.intercept_share);
    const Release gram = run.release("gram");
    run.end_phase("gram");
    const Lattice lattice = run.rows().lattice();
    std::optional<GramSpectrum> spectrum;
    run.ranks().at_coordinator([&] { spectrum.emplace(gram.block("gram"), lattice); });
    return train_in_rounds(run, rounds_, [&](const NoisedRound& round, std::span<double> weights) {
      const double usual = kRidgeInRadiiOfOneStep * spectrum->noise_radius() + lattice.clip_norm * lattice.clip_norm;
      std::vector<double> direction = round.gradient();
      spectrum->solve(direction, options_.method.lambda.value_or(usual));
      for (std::size_t e = 0; e < weights.size(); ++e) weights[e] -= direction[e];
    });
  }

 private:
  double gram_share_;
  RoundSettings rounds_{.loss = Loss::kSigmoid, .initial_score = kFirstScore};
};

}  // namespace

const MethodEntry fc_one_step_method{.name = "fc-one-step",
                                     .help = "one published step of DP-FC, gradient over Gram matrix: a baseline",
                                     .takes = {{"--gram-share", "0.5"}, {"--lambda"}},
                                     .make = make_of<OneStepMethod>};

}  // namespace dpreduce
