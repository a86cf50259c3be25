// Scores that a method trains on rows of ranks, without the fit around it.
#pragma once

#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

struct TrainedScores {
  LinearScores scores;
  Preprocessing prepared;  ///< how rows were, at the end
};

/// By the method of `options`, with the noise of this seed, charged on that ledger. A method may choose `candidates`.
inline TrainedScores trained_scores(Communicator& ranks, const FitOptions& options, std::size_t dim, WorkerRows rows,
                                    const std::string& ledger, std::optional<std::uint64_t> seed,
                                    std::size_t memory = std::size_t{1} << 20, WorkerRows* candidates = nullptr) {
  const FitPlan plan = make_fit_plan(options, dim, candidates == nullptr ? 0 : candidates->range().count);
  auto releaser = std::make_unique<Releaser>(ranks);
  if (plan.noise) {
    const RunTerms terms{.method = "test",
                         .accountant = Accountant::kGdp,
                         .epsilon = {},
                         .delta = {},
                         .config_digest = plan.config_digest,
                         .version = "test"};
    releaser =
        std::make_unique<Releaser>(ranks, *plan.noise, RunFile(), Charging{.ledger_path = ledger, .seed = seed}, terms);
  }
  const StreamPlan stream{options.data.classes, BadRows::kFail, memory, 1};
  Timings timings;
  TrainingRun run(ranks, rows, *releaser, plan, stream, [](std::string_view) -> OnChunk { return [](double) {}; },
                  timings, {.candidates = candidates});
  LinearScores scores = make_method(options)->train(run);
  return {std::move(scores), run.rows().preprocessing()};
}

}  // namespace dpreduce
