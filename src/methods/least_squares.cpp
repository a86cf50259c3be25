// Ridge regression from one release: a Gram matrix that all classes share, and class sums.
#include "dpreduce/aggregator/least_squares.hpp"

#include <nlohmann/json.hpp>

#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

// The Gram matrix has d^2 / 2 noised entries, class sums K d: the more classes, the more the sums need.
constexpr double kGramShare = 0.5;
constexpr double kGramShareManyClasses = 0.3;
constexpr std::size_t kManyClasses = 30;
constexpr double kRidgeInRadii = 0.7;

class LeastSquaresMethod : public TrainingMethod {
 public:
  explicit LeastSquaresMethod(const FitOptions& options) : gram_share_(least_squares_gram_share(options)) {}

  std::string_view name() const override { return "ls"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.gram_share = gram_share_;
    return {registered_statistic("least_squares").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"shared_gram", true}, {"gram_share", gram_share_}}; }

  LinearScores train(TrainingRun& run) const override {
    const Release release = run.release("least_squares");
    run.end_phase("sums");
    LinearScores scores;
    if (run.ranks().is_coordinator()) {
      scores = fold_intercept(solve_least_squares(release, run.lattice(), kRidgeInRadii), run.preprocessing());
    }
    return shared_scores(std::move(scores), run);
  }

 private:
  double gram_share_;
};

}  // namespace

double least_squares_gram_share(const FitOptions& options) {
  return options.gram_share.value_or(options.classes < kManyClasses ? kGramShare : kGramShareManyClasses);
}

std::unique_ptr<TrainingMethod> make_least_squares_method(const FitOptions& options) {
  return std::make_unique<LeastSquaresMethod>(options);
}

}  // namespace dpreduce
