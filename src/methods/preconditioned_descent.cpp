// DP-FC: rounds of descent on rows that are whitened by a Gram matrix which is released once.
//
//     x <- C M x / |M x|,  M = (G + ridge I)^(-1/2)            an intercept; then, from W = 0,
//     W_cj <- W_cj - step (gradient(W) + noise)_cj / (e_j + s sqrt(d) C + C^2)
//
// Legend: G is the cleaned Gram matrix of the prepared rows, with eigenvalues g_j, noise radius w and noised trace t;
// s the noise of a gradient's entry; ridge = 2 w + 4 t / d + C^2; e_j the curvature along feature j.
//
// A gradient's noise is the same in every direction of the rows that it is summed over. For rows of second moment
// lambda_j the noise costs sum_j s_j^2 / lambda_j in loss where sum_j lambda_j / s_j^2 is bounded by the rows' norm,
// which is least for s_j^2 ~ lambda_j: white rows. So rows are whitened before the noise, and gradients need not be
// after it. The ridge keeps directions that are noise in G, or hold less than a few parts of an even share, from being
// blown up.
//
// e_j = (1 - a) t (g_j + r) / h_j / sum_i (g_i + r) / h_i: the second moment of whitened rows, h = g + ridge, r the
// part of t that cleaning could not tell from noise, spread evenly, a the intercept's share (its own e is a t). Where
// noise rules, the step is step / (s sqrt(d) C): the noise of one round moves a class's weights by `step`, whatever d,
// C, T.
//
// Source: paper 002, Algorithm 3, with corrections: residuals are clipped as vectors, so that nothing grows with the
// number of classes; sums, never means, so that no n is needed; G is cleaned of its known noise. Whitening is ours.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "dpreduce/aggregator/gram_spectrum.hpp"
#include "dpreduce/methods/gradient_rounds.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

constexpr double kGramShare = 0.1;
constexpr std::uint64_t kRounds = 20;
constexpr double kStep = 5.0;
constexpr double kRidgeInRadii = 2.0;
constexpr double kRidgeInMeanEigenvalues = 4.0;

// The released matrix as rounds use it.
struct Whitening {
  std::vector<double> matrix;     // M, d x d
  std::vector<double> curvature;  // e, d + 1: the intercept is last
};

Whitening whitening_by(const ReleasedBlock& gram, const Lattice& lattice) {
  const GramSpectrum spectrum(gram, lattice);
  const double row = lattice.clip_norm * lattice.clip_norm;
  const auto dim = static_cast<double>(lattice.dim);
  const std::span<const double> eigenvalues = spectrum.eigenvalues();
  const double told = std::accumulate(eigenvalues.begin(), eigenvalues.end(), 0.0);
  const double trace = std::max({spectrum.trace(), told, row});
  const double untold = (trace - told) / dim;
  const double ridge = kRidgeInRadii * spectrum.noise_radius() + kRidgeInMeanEigenvalues * trace / dim + row;

  Whitening whitening{spectrum.whitening(ridge), {}};
  double sum = 0.0;
  for (const double eigenvalue : eigenvalues) {
    whitening.curvature.push_back((eigenvalue + untold) / (eigenvalue + ridge));
    sum += whitening.curvature.back();
  }
  for (double& entry : whitening.curvature) entry *= (1.0 - kInterceptShare) * trace / sum;
  whitening.curvature.push_back(kInterceptShare * trace);
  return whitening;
}

class WhitenedStep : public StepRule {
 public:
  WhitenedStep(std::vector<double> curvature, double clip_norm)
      : curvature_(std::move(curvature)), clip_norm_(clip_norm) {}

  void step(const NoisedRound& round, std::span<double> weights) override {
    const double noise = round.sigma * std::sqrt(static_cast<double>(curvature_.size() - 1)) * clip_norm_;
    const double ridge = noise + clip_norm_ * clip_norm_;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      weights[e] -= kStep * round.gradient[e] / (curvature_[e % curvature_.size()] + ridge);
    }
  }

 private:
  std::vector<double> curvature_;
  double clip_norm_;
};

class PreconditionedDescentMethod : public TrainingMethod {
 public:
  explicit PreconditionedDescentMethod(const FitOptions& options)
      : settings_(round_settings(options, kRounds)), gram_share_(options.gram_share.value_or(kGramShare)) {
    settings_.initial_score = 0.0;  // also of sigmoids: too few rounds to come back from -10
  }

  std::string_view name() const override { return "fc"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.rounds = settings_.rounds;
    const ReleaseRequest gram = registered_statistic("gram").request(terms, gram_share_);
    ++terms.dim;
    return with_warm_start(settings_, terms,
                           {gram, registered_statistic("gradient").request(terms, 1.0 - gram_share_)});
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    json["gram_share"] = gram_share_;
    return json;
  }

  LinearScores train(TrainingRun& run) const override {
    const Lattice lattice = run.lattice();
    const Release gram = run.release("gram");
    run.end_phase("gram");
    std::optional<WhitenedStep> rule;
    std::vector<double> matrix(lattice.dim * lattice.dim);
    run.ranks().together([&] {
      if (!run.ranks().is_coordinator()) return;
      Whitening whitening = whitening_by(gram.block("gram"), lattice);
      rule.emplace(std::move(whitening.curvature), lattice.clip_norm);
      matrix = std::move(whitening.matrix);
    });
    run.ranks().broadcast(matrix);
    run.project(std::move(matrix));
    run.set_intercept(kInterceptShare);
    run.end_phase("whiten");
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
