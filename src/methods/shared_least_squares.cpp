// Ridge regression from one release: a Gram matrix that all classes share, and class sums.
#include <array>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/solvers/least_squares.hpp"
#include "methods/least_squares.hpp"

namespace dpreduce {
namespace {

constexpr double kRidgeInRadii = 0.5;
// What --choose tries, the usual ridge first.
constexpr std::array kRidgeFactors{1.0, 0.125, 0.25, 0.5, 2.0, 4.0, 8.0};

class LeastSquaresMethod : public TrainingMethod {
 public:
  LeastSquaresMethod(std::string_view name, const FitOptions& options)
      : name_(name),
        gram_share_(least_squares_gram_share(options)),
        factors_(std::span(kRidgeFactors).first(options.method.choose ? kRidgeFactors.size() : 1)),
        intercept_(least_squares_intercept(options)) {}

  std::string_view name() const override { return name_; }

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
    std::vector<Candidate> candidates(factors_.size());
    if (run.ranks().is_coordinator()) {
      auto solutions = solve_least_squares(release, run.rows().lattice(), kRidgeInRadii, factors_);
      for (std::size_t m = 0; m < factors_.size(); ++m) {
        candidates[m] = {fmt::format("ridge x {:g}", factors_[m]), std::move(solutions[m])};
      }
    }
    return fold_intercept(run.choices().choose(std::move(candidates)).weights, run.rows().preprocessing());
  }

 private:
  std::string_view name_;
  double gram_share_;
  std::span<const double> factors_;
  double intercept_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_shared_least_squares(std::string_view name, const FitOptions& options) {
  return std::make_unique<LeastSquaresMethod>(name, options);
}

}  // namespace dpreduce
