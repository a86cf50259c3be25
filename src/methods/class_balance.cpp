#include "dpreduce/methods/class_balance.hpp"

#include <algorithm>
#include <cmath>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
bool adjusts_scores(const FitOptions& options) {
  const bool is_trained_in_rounds = options.method == Method::kFc || options.method == Method::kAdam;
  return options.objective == Objective::kBalanced && is_trained_in_rounds;
}

LinearScores trained_scores(const TrainingMethod& method, TrainingRun& run, const FitOptions& options) {
  if (!adjusts_scores(options)) return method.train(run);
  const Release release = run.release("class_sizes");
  run.end_phase("sizes");
  LinearScores scores = method.train(run);
  DPREDUCE_ASSERT(scores.bias.size() == run.classes());
  if (run.ranks().is_coordinator()) {
    const ReleasedBlock& sizes = release.block("class_counts");
    const double least = std::max(sizes.sigma(), 1.0);
    for (std::size_t c = 0; c < scores.bias.size(); ++c) {
      scores.bias[c] -= std::log(std::max(static_cast<double>(sizes.values()[c]), least));
    }
  }
  run.ranks().broadcast(scores.bias);
  return scores;
}

}  // namespace dpreduce
