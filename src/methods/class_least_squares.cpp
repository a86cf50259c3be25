// DP-LS: a ridge regression for each class, from Gram matrices of the classes, streamed.
#include "dpreduce/aggregator/class_least_squares.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <nlohmann/json.hpp>

#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {
namespace {

// Within half a point of the best alpha on balanced classes, at any budget; see docs/methods.md.
constexpr double kAlpha = 10.0;

class ClassLeastSquaresMethod : public TrainingMethod {
 public:
  explicit ClassLeastSquaresMethod(const FitOptions& options)
      : gram_share_(least_squares_gram_share(options)),
        alpha_(options.alpha.value_or(kAlpha)),
        lambda_(options.lambda) {}

  std::string_view name() const override { return "ls"; }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.gram_share = gram_share_;
    terms.alpha = alpha_;
    return {registered_statistic("class_least_squares").request(terms, 1.0)};
  }

  nlohmann::json settings() const override {
    nlohmann::json settings{{"shared_gram", false}, {"gram_share", gram_share_}, {"alpha", alpha_}};
    settings["lambda"] = lambda_ ? nlohmann::json(*lambda_) : nlohmann::json("auto");
    return settings;
  }

  // A share p of positives among rows of the same features is met by theta x = p / (p + alpha).
  std::optional<double> threshold() const override { return 0.5 / (0.5 + alpha_); }

  LinearScores train(TrainingRun& run) const override {
    const std::size_t dim = run.lattice().dim;
    std::optional<ClassLeastSquares> problem;
    std::vector<std::int64_t> class_sums;
    std::vector<double> weights(run.classes() * dim, 0.0);  // of the classes that this rank owns
    run.release_class_grams(
        "class_least_squares",
        [&](const Release& sums) {
          std::optional<ReleasedBlock> gram;
          if (alpha_ > 0.0) gram = sums.block("gram");
          problem.emplace(alpha_, lambda_, run.lattice(), std::move(gram));
          const auto released = sums.block("class_sums").values();
          class_sums.assign(released.begin(), released.end());
        },
        [&](std::size_t label, const ReleasedBlock& gram) {
          const auto theta = problem->solve(gram, std::span(class_sums).subspan(label * dim, dim));
          std::copy(theta.begin(), theta.end(), weights.begin() + static_cast<std::ptrdiff_t>(label * dim));
        });

    // One rank alone has bits at each place: their sum gathers them as they are.
    std::vector<std::uint64_t> words(weights.size());
    std::transform(weights.begin(), weights.end(), words.begin(),
                   [](double w) { return std::bit_cast<std::uint64_t>(w); });
    run.ranks().sum_to_coordinator(words);
    LinearScores scores;
    if (run.ranks().is_coordinator()) {
      std::transform(words.begin(), words.end(), weights.begin(),
                     [](std::uint64_t w) { return std::bit_cast<double>(w); });
      scores = fold_intercept(weights, run.preprocessing());
    }
    return shared_scores(std::move(scores), run);
  }

 private:
  double gram_share_;
  double alpha_;
  std::optional<double> lambda_;
};

}  // namespace

std::unique_ptr<TrainingMethod> make_class_least_squares_method(const FitOptions& options) {
  return std::make_unique<ClassLeastSquaresMethod>(options);
}

}  // namespace dpreduce
