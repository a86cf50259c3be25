#include "methods/training_method.hpp"

#include <algorithm>
#include <utility>

#include "common/base/error.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// Default of --memory. Where rows are read once, in chunks that are summed and forgotten, little is enough. Methods in
// rounds keep all rows where they fit, and least squares by class keep the rows of as many classes as fit.
constexpr std::size_t kMemoryMib = 64;
constexpr std::size_t kMostMemoryMibOfKeptRows = 4096;

std::size_t kept_features(const FitOptions& options, std::size_t input_dim) {
  if (options.rows.select > 0) return options.rows.select;
  if (options.rows.pca > 0) return options.rows.pca;
  return input_dim / options.rows.pool;
}

}  // namespace

FitOptions resolved(FitOptions options, std::size_t input_dim, std::uint64_t public_rows,
                    std::uint64_t bytes_for_rank) {
  const RowsAhead rows{input_dim, kept_features(options, input_dim), public_rows};
  while (method_entry(options.method).resolve != nullptr) {
    if (!method_entry(options.method).resolved_by.empty()) options.method.asked = options.method.name;
    // NOLINTNEXTLINE(bugprone-use-after-move): it is given a value before it is used
    options = method_entry(options.method).resolve(std::move(options), rows);
  }
  const MethodEntry& method = method_entry(options.method);
  const bool descends = method.takes_option("--loss");
  if (descends && !options.method.loss && options.data.most_labels() > 1) options.method.loss = Loss::kSigmoid;
  // The length of a row, too, holds what a number depends on.
  if (options.data.has_targets() && options.is_of_training_rows() && options.rows.leaves_clip_open())
    options.rows.chooses_clip = true;
  if (!options.rows.center) options.rows.center = Centering::kNone;
  if (!options.machine.memory_mib) {
    const std::size_t most = std::clamp<std::uint64_t>(bytes_for_rank >> 21, kMemoryMib, kMostMemoryMibOfKeptRows);
    const bool reads_once = method.reads_rows_once != nullptr && method.reads_rows_once(options);
    options.machine.memory_mib = reads_once ? kMemoryMib : most;
  }
  return options;
}

std::unique_ptr<TrainingMethod> make_method(const FitOptions& options) {
  const MethodEntry& method = method_entry(options.method);
  DPREDUCE_ASSERT(method.make != nullptr);
  return method.make(options);
}

LinearScores shared_scores(LinearScores scores, TrainingRun& run) {
  scores.weights.resize(run.rows().classes() * run.rows().preprocessing().dim());
  scores.bias.resize(run.rows().classes());
  run.ranks().broadcast(scores.weights);
  run.ranks().broadcast(scores.bias);
  return scores;
}

}  // namespace dpreduce
