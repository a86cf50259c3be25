#include "methods/class_balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "aggregator/solvers/public_refit.hpp"
#include "common/base/error.hpp"
#include "methods/prototypes.hpp"

namespace dpreduce {

bool adjusts_scores(const FitOptions& options) {
  return options.method.objective == Objective::kBalanced && method_entry(options.method).scores_are_adjustable;
}

bool refits_on_public_rows(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  return adjusts_scores(options) && method_entry(options.method).scores_are_refinable &&
         options.rows.center == Centering::kPublic && noise_exceeds_sampling(options, dim, public_rows);
}

namespace {

// p_c of the header.
std::vector<double> log_shares(const ReleasedBlock& sizes) {
  const double least = std::max(sizes.sigma(), 1.0);
  std::vector<double> shares;
  for (const std::int64_t size : sizes.values()) shares.push_back(std::log(std::max(static_cast<double>(size), least)));
  const double largest = *std::ranges::max_element(shares);
  for (double& share : shares) share -= largest;
  return shares;
}

}  // namespace

LinearScores trained_scores(const TrainingMethod& method, TrainingRun& run, const FitOptions& options) {
  if (!adjusts_scores(options)) return method.train(run);
  const Release release = run.release("class_sizes");
  run.end_phase("sizes");
  std::vector<double> shares;
  if (run.ranks().is_coordinator()) shares = log_shares(release.block("class_counts"));
  run.set_first_scores(shares);
  LinearScores scores = method.train(run);
  DPREDUCE_ASSERT(scores.bias.size() == run.rows().classes());
  for (std::size_t c = 0; c < shares.size(); ++c) scores.bias[c] -= shares[c];
  const std::uint64_t public_rows =
      options.rows.center == Centering::kPublic ? run.public_candidates().features().rows() : 0;
  if (!refits_on_public_rows(options, run.rows().preprocessing().dim(), public_rows)) {
    run.ranks().broadcast(scores.bias);
    return scores;
  }
  run.ranks().at_coordinator([&] {
    scores = with_public_refit(std::move(scores), run.rows().preprocessing(), run.public_candidates().features());
  });
  run.end_phase("public rows");
  return shared_scores(std::move(scores), run);
}

}  // namespace dpreduce
