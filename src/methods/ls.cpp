// Least squares in closed form: a ridge regression for each class, or one whose Gram matrix all classes share.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/least_squares.hpp"
#include "methods/least_squares_terms.hpp"
#include "methods/registry.hpp"
#include "methods/target_regression.hpp"

namespace dpreduce {
namespace {

// The Gram matrix has d^2 / 2 noised entries, the class sums have K d: the more classes there are, the larger the share
// of the budget that the sums need.
constexpr double kLsGramShare = 0.5;
constexpr double kGramShareManyClasses = 0.3;
// Two classes need an intercept, since the threshold between them is not at the mean of all rows where one is rarer:
// without it up to 5 points are lost, by class 18. With more classes it acts as a prior, which favors large ones: it
// cost 0.2 points with 10 classes and 1.4 with 51 (measured).
constexpr double kIntercept = 0.02;

constexpr double kLeastAlpha = 1.0;
constexpr double kMostAlpha = 10.0;

// The noise of a released center is the same vector in every row. An intercept can make up for it, and least squares
// have none: so the center gets more of the budget here, and has less noise.
constexpr double kCenterShareOfLeastSquares = 0.05;

// Ridge factors that --choose tries with one Gram matrix, the usual ridge first.
constexpr std::array kRidgeFactors{1.0, 0.125, 0.25, 0.5, 2.0, 4.0, 8.0};
// Multiples of alpha and of the usual ridge that --choose tries otherwise, 1 first. The noise is split by the usual
// alpha in any case.
constexpr std::array kAlphaFactors{1.0, 0.1, 0.3, 3.0};
constexpr std::array kClassRidgeFactors{1.0, 0.25, 4.0};

}  // namespace

double least_squares_gram_share(const FitOptions& options) {
  return options.method.gram_share.value_or(options.data.classes < kManyClasses ? kLsGramShare : kGramShareManyClasses);
}

double least_squares_intercept(const FitOptions& options) {
  return options.data.classes == 2 || options.rows.center == Centering::kMoments ? kIntercept : 0.0;
}

double usual_alpha(const FitOptions& options) {
  if (options.privacy.budget.non_private) return kLeastAlpha;
  const double mu = mu_of(options.privacy.budget);
  return std::clamp(1.0 / mu, kLeastAlpha, kMostAlpha);
}

namespace {

std::vector<ClassRidge> ridges_to_try(const MethodOptions& options, double alpha) {
  if (!options.choose) return {{.alpha = alpha, .lambda = options.lambda}};
  std::vector<ClassRidge> ridges;
  if (options.shared_gram) {
    for (const double factor : kRidgeFactors) ridges.push_back({.ridge_factor = factor});
    return ridges;
  }
  for (const double alpha_factor : kAlphaFactors) {
    if (alpha == 0.0 && alpha_factor != 1.0) continue;
    for (const double ridge_factor : kClassRidgeFactors) {
      ridges.push_back({.alpha = alpha * alpha_factor, .lambda = options.lambda, .ridge_factor = ridge_factor});
    }
  }
  return ridges;
}

// With --shared-gram a ridge regression from one release: a Gram matrix that all classes share, and class sums. Else
// DP-LS: a ridge regression for each class, from Gram matrices of the classes, streamed.
class LeastSquaresMethod : public TrainingMethod {
 public:
  explicit LeastSquaresMethod(const FitOptions& options)
      : TrainingMethod(options),
        is_shared_(options.method.shared_gram),
        gram_share_(least_squares_gram_share(options)),
        intercept_(least_squares_intercept(options)),
        alpha_(options.method.alpha ? *options.method.alpha
               : is_shared_         ? 0.0
                                    : usual_alpha(options)),
        ridges_(ridges_to_try(options.method, alpha_)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.gram_share = gram_share_;
    terms.alpha = alpha_;
    if (intercept_ > 0.0) ++terms.dim;
    return {registered_statistic(is_shared_ ? "least_squares" : "class_least_squares").request(terms, 1.0)};
  }

  std::size_t candidates() const override { return ridges_.size(); }

  nlohmann::json settings() const override {
    nlohmann::json settings{{"shared_gram", is_shared_}, {"gram_share", gram_share_}, {"intercept", intercept_}};
    if (is_shared_) return settings;
    settings["alpha"] = alpha_;
    settings["lambda"] = options_.method.lambda ? nlohmann::json(*options_.method.lambda) : nlohmann::json("auto");
    return settings;
  }

  std::optional<double> threshold() const override { return is_shared_ ? std::optional(0.5) : std::nullopt; }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(intercept_);
    const Candidate chosen = run.choose(is_shared_ ? shared_candidates(run) : class_candidates(run));
    LinearScores scores = fold_intercept(chosen.weights, run.rows().preprocessing());
    scores.threshold = chosen.threshold;
    return scores;
  }

 private:
  std::vector<Candidate> shared_candidates(TrainingRun& run) const {
    const Release release = run.release("least_squares");
    run.end_phase("sums");
    std::vector<double> factors;
    for (const ClassRidge& ridge : ridges_) factors.push_back(ridge.ridge_factor);
    auto solutions =
        solve_least_squares(run.ranks(), release, run.rows().lattice(), run.rows().classes(), kLsRidgeInRadii, factors);
    std::vector<Candidate> candidates;
    for (std::size_t m = 0; m < factors.size(); ++m) {
      candidates.push_back({fmt::format("ridge x {:g}", factors[m]), std::move(solutions[m])});
    }
    return candidates;
  }

  std::vector<Candidate> class_candidates(TrainingRun& run) const {
    const std::size_t dim = run.rows().lattice().dim;
    const std::size_t width = ridges_.size() * dim;
    const std::vector<double> solutions =
        run.release_class_grams(width, [&](const Release& sums, std::size_t label, const ReleasedBlock& class_gram) {
          const ReleasedBlock* const gram = alpha_ > 0.0 ? &sums.block("gram") : nullptr;
          const auto class_sum = sums.block("class_sums").values().subspan(label * dim, dim);
          std::vector<double> thetas;
          for (const ClassRidge& ridge : ridges_) {
            const auto theta = solve_class(ridge, run.rows().lattice(), gram, class_gram, class_sum);
            thetas.insert(thetas.end(), theta.begin(), theta.end());
          }
          return thetas;
        });
    std::vector<Candidate> candidates(ridges_.size());
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      for (auto theta = solutions.begin(); theta != solutions.end(); theta += static_cast<std::ptrdiff_t>(width)) {
        const auto first = theta + static_cast<std::ptrdiff_t>(m * dim);
        candidates[m].weights.insert(candidates[m].weights.end(), first, first + static_cast<std::ptrdiff_t>(dim));
      }
      // Least squares give theta x = p / (p + alpha), where a share p of the rows with features x is positive. The
      // threshold is its value at p = 1/2.
      candidates[m].threshold = 0.5 / (0.5 + ridges_[m].alpha);
      candidates[m].setting = fmt::format("alpha {:g}, ridge x {:g}", ridges_[m].alpha, ridges_[m].ridge_factor);
    }
    return candidates;
  }

  bool is_shared_;
  double gram_share_;
  double intercept_;
  double alpha_;
  std::vector<ClassRidge> ridges_;
};

std::unique_ptr<TrainingMethod> make_least_squares(const FitOptions& options) {
  if (options.data.has_targets()) return make_target_least_squares(options);
  return std::make_unique<LeastSquaresMethod>(options);
}

}  // namespace

const MethodEntry ls_method{
    .name = "ls",
    .help = "ridge regression in closed form, by class or with one Gram matrix for all",
    .takes = {{"--shared-gram"},
              {"--alpha"},
              {"--lambda"},
              {"--gram-share", "0.5"},
              {"--choose"},
              {"--choose-share"},
              {"--center moments"},
              {"--targets"}},
    .make = make_least_squares,
    .reads_rows_once =
        [](const FitOptions& options) { return options.method.shared_gram || options.data.has_targets(); },
    .has_constant =
        [](const FitOptions& options) { return options.data.has_targets() || least_squares_intercept(options) > 0.0; },
    .center_share = kCenterShareOfLeastSquares};

}  // namespace dpreduce
