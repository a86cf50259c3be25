// DP-LS: a ridge regression for each class, from Gram matrices of the classes, streamed.
#include "aggregator/solvers/class_least_squares.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/accounting/guarantee.hpp"
#include "methods/least_squares.hpp"

namespace dpreduce {
namespace {

constexpr double kLeastAlpha = 1.0;
constexpr double kMostAlpha = 10.0;
// What --choose tries: multiples of alpha and of the usual ridge, 1 first. The noise is split by the usual alpha in any
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

// 1 / mu, held between 1 and 10. The noise in A_j + alpha G is the same for every alpha; the smaller the budget, the
// more it hides A_j, which has the rows of one class only, and the more weight G should have.
double usual_alpha(const FitOptions& options) {
  if (options.privacy.budget.non_private) return kLeastAlpha;
  const double mu = budget_from(options.privacy.budget).mu(options.privacy.budget.accountant);
  return std::clamp(1.0 / mu, kLeastAlpha, kMostAlpha);
}

class ClassLeastSquaresMethod : public TrainingMethod {
 public:
  ClassLeastSquaresMethod(std::string_view name, const FitOptions& options)
      : name_(name),
        gram_share_(least_squares_gram_share(options)),
        intercept_(least_squares_intercept(options)),
        alpha_(options.method.alpha ? *options.method.alpha : usual_alpha(options)),
        lambda_(options.method.lambda),
        ridges_(ridges_to_try(alpha_, lambda_, options.method.choose)) {}

  std::string_view name() const override { return name_; }

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
    std::optional<ReleasedBlock> gram;
    std::vector<ClassLeastSquares> problems;
    std::vector<std::int64_t> class_sums;
    const std::size_t width = ridges_.size() * dim;
    const std::vector<double> solutions = run.release_class_grams(
        "class_least_squares", width,
        [&](const Release& sums) {
          if (alpha_ > 0.0) gram = sums.block("gram");
          for (const ClassRidge& ridge : ridges_)
            problems.emplace_back(ridge, run.rows().lattice(), gram ? &*gram : nullptr);
          const auto released = sums.block("class_sums").values();
          class_sums.assign(released.begin(), released.end());
        },
        [&](std::size_t label, const ReleasedBlock& class_gram) {
          std::vector<double> thetas;
          for (const ClassLeastSquares& problem : problems) {
            const auto theta = problem.solve(class_gram, std::span(class_sums).subspan(label * dim, dim));
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
      // Where a share p of the rows with features x is positive, least squares give theta x = p / (p + alpha). The
      // threshold is its value at p = 1/2.
      candidates[m].threshold = 0.5 / (0.5 + ridges_[m].alpha);
      candidates[m].setting = fmt::format("alpha {:g}, ridge x {:g}", ridges_[m].alpha, ridges_[m].ridge_factor);
    }
    const Candidate chosen = run.choices().choose(std::move(candidates));
    LinearScores scores = fold_intercept(chosen.weights, run.rows().preprocessing());
    scores.threshold = chosen.threshold;
    return scores;
  }

 private:
  std::string_view name_;
  double gram_share_;
  double intercept_;
  double alpha_;
  std::optional<double> lambda_;
  std::vector<ClassRidge> ridges_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_class_least_squares(std::string_view name, const FitOptions& options) {
  return std::make_unique<ClassLeastSquaresMethod>(name, options);
}

}  // namespace dpreduce
