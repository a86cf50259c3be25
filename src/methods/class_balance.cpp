#include "methods/class_balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aggregator/solvers/public_refit.hpp"
#include "common/base/error.hpp"
#include "methods/options/fit_options.hpp"
#include "methods/options/method_options.hpp"
#include "methods/prototype_choice.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
bool adjusts_scores(const FitOptions& options) {
  return options.method.objective == Objective::kBalanced && method_entry(options.method).scores_are_adjustable;
}

bool refits_on_public_rows(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  return adjusts_scores(options) && method_entry(options.method).scores_are_refinable &&
         options.rows.center == Centering::kPublic && noise_exceeds_sampling(options, dim, public_rows);
}

LinearScores trained_scores(const TrainingMethod& method, TrainingRun& run, const FitOptions& options) {
  if (!adjusts_scores(options)) return method.train(run);
  const Release release = run.release("class_sizes");
  run.end_phase("sizes");
  LinearScores scores = method.train(run);
  DPREDUCE_ASSERT(scores.bias.size() == run.rows().classes());
  if (run.ranks().is_coordinator()) {
    const ReleasedBlock& sizes = release.block("class_counts");
    const double least = std::max(sizes.sigma(), 1.0);
    for (std::size_t c = 0; c < scores.bias.size(); ++c) {
      scores.bias[c] -= std::log(std::max(static_cast<double>(sizes.values()[c]), least));
    }
  }
  const std::uint64_t public_rows =
      options.rows.center == Centering::kPublic ? run.choices().candidates().features().rows() : 0;
  if (!refits_on_public_rows(options, run.rows().preprocessing().dim(), public_rows)) {
    run.ranks().broadcast(scores.bias);
    return scores;
  }
  run.ranks().together([&] {
    if (run.ranks().is_coordinator()) {
      scores = with_public_refit(std::move(scores), run.rows().preprocessing(), run.choices().candidates().features());
    }
  });
  run.end_phase("public rows");
  return shared_scores(std::move(scores), run);
}

}  // namespace dpreduce
