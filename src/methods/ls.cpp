// Least squares in closed form: a ridge regression for each class, or one whose Gram matrix all classes share.
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/least_squares.hpp"
#include "methods/fit_options.hpp"
#include "methods/least_squares_terms.hpp"
#include "methods/registry.hpp"
#include "methods/target_regression.hpp"

namespace dpreduce {

namespace {

// The noise of a released center is the same vector in every row. An intercept can make up for it, and least squares
// have none: so the center gets more of the budget here, and has less noise.
constexpr double kCenterShareOfLeastSquares = 0.05;

// Ridge factors that --choose tries, the usual ridge first.
constexpr std::array kRidgeFactors{1.0, 0.125, 0.25, 0.5, 2.0, 4.0, 8.0};

// Ridge regression from one release: a Gram matrix that all classes share, and class sums.
class LeastSquaresMethod : public TrainingMethod {
 public:
  explicit LeastSquaresMethod(const FitOptions& options)
      : gram_share_(least_squares_gram_share(options)),
        factors_(std::span(kRidgeFactors).first(options.method.choose ? kRidgeFactors.size() : 1)),
        intercept_(least_squares_intercept(options)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.gram_share = gram_share_;
    if (intercept_ > 0.0) ++terms.dim;
    return {registered_statistic("least_squares").request(terms, 1.0)};
  }

  std::size_t candidates() const override { return factors_.size(); }

  nlohmann::json settings() const override {
    return {{"shared_gram", true}, {"gram_share", gram_share_}, {"intercept", intercept_}};
  }

  std::optional<double> threshold() const override { return 0.5; }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(intercept_);
    const Release release = run.release("least_squares");
    run.end_phase("sums");
    auto solutions = solve_least_squares(run.ranks(), release, run.rows().lattice(), run.rows().classes(),
                                         kLsRidgeInRadii, factors_);
    std::vector<Candidate> candidates;
    for (std::size_t m = 0; m < factors_.size(); ++m) {
      candidates.push_back({fmt::format("ridge x {:g}", factors_[m]), std::move(solutions[m])});
    }
    return fold_intercept(run.choose(std::move(candidates)).weights, run.rows().preprocessing());
  }

 private:
  double gram_share_;
  std::span<const double> factors_;
  double intercept_;
};

// Multiples of alpha and of the usual ridge that --choose tries, 1 first. The noise is split by the usual alpha in any
// case.
constexpr std::array kAlphaFactors{1.0, 0.1, 0.3, 3.0};
constexpr std::array kClassRidgeFactors{1.0, 0.25, 4.0};

std::vector<ClassRidge> ridges_to_try(double alpha, std::optional<double> lambda, bool choose) {
  if (!choose) return {{.alpha = alpha, .lambda = lambda}};
  std::vector<ClassRidge> ridges;
  for (const double alpha_factor : kAlphaFactors) {
    if (alpha == 0.0 && alpha_factor != 1.0) continue;
    for (const double ridge_factor : kClassRidgeFactors) {
      ridges.push_back({.alpha = alpha * alpha_factor, .lambda = lambda, .ridge_factor = ridge_factor});
    }
  }
  return ridges;
}

// DP-LS: a ridge regression for each class, from Gram matrices of the classes, streamed.
class ClassLeastSquaresMethod : public TrainingMethod {
 public:
  explicit ClassLeastSquaresMethod(const FitOptions& options)
      : gram_share_(least_squares_gram_share(options)),
        intercept_(least_squares_intercept(options)),
        alpha_(options.method.alpha ? *options.method.alpha : usual_alpha(options)),
        lambda_(options.method.lambda),
        ridges_(ridges_to_try(alpha_, lambda_, options.method.choose)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.gram_share = gram_share_;
    terms.alpha = alpha_;
    if (intercept_ > 0.0) ++terms.dim;
    return {registered_statistic("class_least_squares").request(terms, 1.0)};
  }

  std::size_t candidates() const override { return ridges_.size(); }

  nlohmann::json settings() const override {
    nlohmann::json settings{
        {"shared_gram", false}, {"gram_share", gram_share_}, {"intercept", intercept_}, {"alpha", alpha_}};
    settings["lambda"] = lambda_ ? nlohmann::json(*lambda_) : nlohmann::json("auto");
    return settings;
  }

  LinearScores train(TrainingRun& run) const override {
    run.rows().set_intercept(intercept_);
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
    const Candidate chosen = run.choose(std::move(candidates));
    LinearScores scores = fold_intercept(chosen.weights, run.rows().preprocessing());
    scores.threshold = chosen.threshold;
    return scores;
  }

 private:
  double gram_share_;
  double intercept_;
  double alpha_;
  std::optional<double> lambda_;
  std::vector<ClassRidge> ridges_;
};

std::unique_ptr<TrainingMethod> make_least_squares(const FitOptions& options) {
  if (options.data.has_targets()) return make_target_least_squares(options);
  if (options.method.shared_gram) return std::make_unique<LeastSquaresMethod>(options);
  return std::make_unique<ClassLeastSquaresMethod>(options);
}

}  // namespace

const MethodEntry& ls_method() {
  static const MethodEntry entry{
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
          [](const FitOptions& options) {
            return options.data.has_targets() || least_squares_intercept(options) > 0.0;
          },
      .center_share = kCenterShareOfLeastSquares};
  return entry;
}

}  // namespace dpreduce
