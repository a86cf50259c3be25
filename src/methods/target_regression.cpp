#include "methods/target_regression.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "common/ledger/column_bins.hpp"
#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

// Share of a row's C^2 that targets get, b; of the rest a goes to a constant, which counts rows and holds all means. So
// .6 are the features'. The noise of X^T y in units of both goes with 1 / (b (1 - b)), that of the number of rows with
// 1 / ((1 - b) a). R^2 is the same within .01 for b from .2 to .4 (docs/experiments/regression.md, sets that constants
// were chosen on).
constexpr double kTargetShare = 0.3;
constexpr double kConstantShare = 1.0 / 7.0;

// Constants of rounds. Each full step renews the noise of a round, and the average of steps has less: without it R^2 is
// up to .05 less. The first two steps still have much of where they began. R^2 is the same within .01 for a Gram share
// from .4 to .5, and for a share of the rest for sizes from .02 to .1 (the same sets).
constexpr double kGramShareOfRounds = 0.4;
constexpr double kSizesShareOfRest = 0.05;
constexpr std::uint64_t kTargetRounds = 6;
constexpr std::uint64_t kFirstOfAverage = 3;
// Rounds begin nearer to the mean than the Gram matrix alone would say: its noise stays longest where rows are short,
// and residuals, clipped, have less. On subsets of 500 to 2,000 rows at epsilon .3 R^2 was .02 more than with 1 in the
// mean of twelve tables, with 3 the same, and in rows of 100 features and more .01 to .02 less.
constexpr double kFirstRidges = 2.0;
// Residuals are clipped where at most this share of the rows is longer. Z is the end of this bin, 2^-1.5, unless counts
// say otherwise by so many standard deviations of their noise: on the same subsets a Z that only noise chose cost .09.
constexpr double kShareClipped = 0.05;
constexpr std::size_t kUsualBin = 9;
constexpr double kSigmasOfSizes = 3.0;
constexpr double kSigmasOfSlope = 3.0;

// Makes the release, as a system at the coordinator; rows are then of features and a constant. Collective.
std::optional<TargetRidge> released_system(TrainingRun& run) {
  set_rows_with_targets(run);
  const Release release = run.release("gram");
  std::optional<TargetRidge> system;
  run.ranks().at_coordinator([&] { system.emplace(release.block("gram"), run.rows().preprocessing()); });
  TargetColumns targets = run.rows().preprocessing().targets;
  targets.share = 0.0;
  run.rows().set_targets(std::move(targets));
  run.end_phase("gram");
  return system;
}

// Solution of the system with so many times its ridge, m x (d + 1), at the coordinator.
std::vector<double> solution_of(const std::optional<TargetRidge>& system, double ridges) {
  return system ? system->solution(ridges) : std::vector<double>();
}

// Scores by the coordinator's weights, the same on every rank. Collective.
LinearScores scores_of(TrainingRun& run, std::vector<double> weights) {
  weights.resize(run.rows().classes() * run.rows().lattice().dim);
  run.ranks().broadcast(weights);
  const Preprocessing& rows = run.rows().preprocessing();
  return in_units_of_targets(fold_intercept(weights, rows), rows.targets);
}

class TargetLeastSquaresMethod : public TrainingMethod {
 public:
  using TrainingMethod::TrainingMethod;

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override { return {target_gram_request(terms, 1.0)}; }

  nlohmann::json settings() const override { return row_shares(); }

  LinearScores train(TrainingRun& run) const override {
    const std::optional<TargetRidge> system = released_system(run);
    return scores_of(run, solution_of(system, 1.0));
  }
};

// Z: the end of the bin behind which few rows are, as far as noise lets that be seen.
double residual_bound(const ReleasedBlock& sizes, double rows) {
  if (sizes.sigma() == 0.0) return upper_edge_of_residual(kResidualBins - 1);
  // Rows behind a bin beyond few, in standard deviations.
  const auto excess = [&](std::size_t bin) {
    const auto behind = sizes.values().subspan(bin + 1);
    double count = 0.0;
    for (const std::int64_t size : behind) count += static_cast<double>(size);
    return (count - kShareClipped * rows) / (sizes.sigma() * std::sqrt(static_cast<double>(behind.size())));
  };
  std::size_t bin = kUsualBin;
  while (bin + 2 < kResidualBins && excess(bin) > kSigmasOfSizes) ++bin;
  while (bin > 0 && excess(bin - 1) < -kSigmasOfSizes) --bin;
  return upper_edge_of_residual(bin);
}

// Steps from one released gradient to the next:
//
//     s = a g (sum u u^T + ridge)^-1,   a = 1 at first
//     a <- a <g, s> / (<g, s> - <g', s>)   where <g', s> < -<g, s> - 3 sigma |s|,   g' the gradient after the step
//
// A step that goes too far by more than its own length is followed by longer ones. This happens to persons with many
// rows: their residuals are scaled down less than their squares are, so that gradients curve more than the matrix says.
// With the new a a step ends where the slope along s is 0. The noise of <g', s> is sigma |s|.
struct NewtonSteps {
  double length = 1.0;         // a
  std::vector<double> last{};  // s of the last round
  double slope = 0.0;          // <g, s>
  bool was_too_far = false;    // the step before the last one

  // Makes the step for a gradient with noise `sigma` in each entry.
  void make(const TargetRidge& system, const std::vector<double>& gradient, double sigma) {
    const double after = std::inner_product(last.begin(), last.end(), gradient.begin(), 0.0);
    was_too_far = after < -slope - kSigmasOfSlope * sigma * std::sqrt(squared_norm(last));
    if (was_too_far) length *= slope / (slope - after);
    last = gradient;
    system.solve(last);
    for (double& entry : last) entry *= length;
    slope = std::inner_product(last.begin(), last.end(), gradient.begin(), 0.0);
  }
};

// Newton steps from that regression, each by a released sum of residuals that are clipped to what most of them have:
//
//     W <- W - a (sum clip_Z(W u - y') u^T + noise) (sum u u^T + ridge)^-1
//
// The model is the average of W after rounds 3 to T: the first have most of the way to go. It begins anew where a step
// was found to have gone too far.
class TargetRoundsMethod : public TrainingMethod {
 public:
  explicit TargetRoundsMethod(const FitOptions& options)
      : TrainingMethod(options),
        rounds_(options.method.rounds.value_or(kTargetRounds)),
        gram_share_(options.method.gram_share.value_or(kGramShareOfRounds)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    std::vector<ReleaseRequest> own{target_gram_request(terms, gram_share_)};
    const double rest = 1.0 - gram_share_;
    ++terms.dim;
    own.push_back(registered_statistic("residual_sizes").request(terms, rest * kSizesShareOfRest));
    terms.rounds = rounds_;
    own.push_back(registered_statistic("gradient").request(terms, rest * (1.0 - kSizesShareOfRest)));
    return own;
  }

  nlohmann::json settings() const override {
    nlohmann::json settings = row_shares();
    settings.update({{"rounds", rounds_}, {"loss", to_string(Loss::kSquare)}, {"gram_share", gram_share_}});
    return settings;
  }

  std::optional<Loss> loss() const override { return Loss::kSquare; }

  LinearScores train(TrainingRun& run) const override {
    const std::optional<TargetRidge> system = released_system(run);
    std::vector<double> weights = solution_of(system, kFirstRidges);
    run.rows().keep();
    std::vector<double> bound{bound_at(run, weights, system)};
    run.ranks().broadcast(bound);
    const double unit = Lattice{1.0, run.rows().classes()}.scale() * run.rows().lattice().scale() / bound.front();
    std::vector<double> sum(weights.size(), 0.0);
    std::uint64_t summed = 0;
    NewtonSteps steps;
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      const Release release =
          run.release("gradient", GradientPoint{shared_weights(run, weights), Loss::kSquare, {}, bound.front()});
      run.ranks().together([&] {
        if (!system) return;
        const ReleasedBlock& gradient = release.block("gradient");
        steps.make(*system, in_units(gradient, unit), gradient.sigma() / unit);
        if (round <= std::min(kFirstOfAverage, rounds_) || steps.was_too_far) summed = 0;
        ++summed;
        for (std::size_t e = 0; e < weights.size(); ++e) {
          weights[e] -= steps.last[e];
          sum[e] = weights[e] + (summed > 1 ? sum[e] : 0.0);
        }
      });
    }
    for (double& weight : sum) weight /= static_cast<double>(summed);
    run.end_phase("rounds");
    return scores_of(run, std::move(sum));
  }

 private:
  // At the coordinator. Collective.
  double bound_at(TrainingRun& run, const std::vector<double>& weights,
                  const std::optional<TargetRidge>& system) const {
    const Release release =
        run.release("residual_sizes", GradientPoint{.weights = shared_weights(run, weights), .loss = Loss::kSquare});
    return system ? residual_bound(release.block("sizes"), system->rows()) : 1.0;
  }

  std::uint64_t rounds_;
  double gram_share_;
};

}  // namespace

ReleaseRequest target_gram_request(ReleaseTerms terms, double share) {
  terms.dim += 1 + terms.classes;
  return registered_statistic("gram").request(terms, share);
}

void set_rows_with_targets(TrainingRun& run) {
  run.rows().set_intercept(kConstantShare);
  TargetColumns targets = run.rows().preprocessing().targets;
  targets.share = kTargetShare;
  run.rows().set_targets(std::move(targets));
}

nlohmann::json row_shares() {
  return {{"target_share", kTargetShare}, {"intercept", kConstantShare}};
}

std::unique_ptr<TrainingMethod> make_target_least_squares(const FitOptions& options) {
  return std::make_unique<TargetLeastSquaresMethod>(options);
}

std::unique_ptr<TrainingMethod> make_target_rounds(const FitOptions& options) {
  return std::make_unique<TargetRoundsMethod>(options);
}

}  // namespace dpreduce
