#include "dpreduce/commands/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/transport/lifetime.hpp"

namespace dpreduce {
namespace {

bool is_finite(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float entry) { return std::isfinite(entry); });
}

// Zeroes rows that are not finite. The first one stops the pass under BadRows::kFail.
void mend_rows(std::span<float> features, std::size_t dim, BadRows bad_rows, const WorkerRows& rows,
               std::uint64_t first_row) {
  for (std::size_t row = 0; row * dim < features.size(); ++row) {
    const std::span<float> entries = features.subspan(row * dim, dim);
    if (is_finite(entries)) continue;
    if (bad_rows == BadRows::kFail) {
      throw BadInput(fmt::format("{}: not a finite number; mend the file, or use --bad-rows zero{}",
                                 rows.where(first_row + row), kForOwnerOnly));
    }
    std::fill(entries.begin(), entries.end(), 0.0F);
  }
}

}  // namespace

unsigned default_threads() {
  return launched_by_mpi() ? 1U : std::max(1U, std::thread::hardware_concurrency());
}

void for_each_chunk(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                    const std::function<void(const RowChunk&)>& visit) {
  const std::size_t dim = classifier.input_dim();
  RowStream stream(rows, classifier.classes(), std::min<std::size_t>(rows_per_chunk(kPredictionMemory, dim), 4096));
  std::vector<float> features;
  while (auto chunk = stream.next()) {
    ranks.check_peers();
    features.assign(chunk->features.begin(), chunk->features.end());
    mend_rows(features, dim, bad_rows, rows, chunk->first_row);
    chunk->features = features;
    visit(*chunk);
  }
}

WorkerRows open_rows_for(std::size_t input_dim, const RowsOptions& options, int worker, int workers) {
  WorkerRows rows =
      WorkerRows::open(options.x, options.y, static_cast<std::size_t>(worker), static_cast<std::size_t>(workers));
  if (rows.dim() != input_dim) {
    throw BadInput(fmt::format("{}: rows have {} features, but the model was trained on {}", options.x.front(),
                               rows.dim(), input_dim));
  }
  return rows;
}

std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks) {
  constexpr std::uint64_t kLabelsAtOnce = std::uint64_t{1} << 20;
  std::vector<std::uint64_t> counts(classes, 0);
  std::vector<std::int32_t> chunk;
  for (std::uint64_t row = range.first; row < range.end(); row += chunk.size()) {
    ranks.check_peers();
    chunk.resize(std::min(kLabelsAtOnce, range.end() - row));
    labels.read_labels(row, chunk.size(), classes, chunk);
    for (const std::int32_t label : chunk) ++counts[static_cast<std::size_t>(label)];
  }
  return counts;
}

ConfusionMatrix evaluate_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                                  unsigned threads) {
  ConfusionMatrix local(classifier.classes());
  ranks.together([&] {
    for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk) {
      const std::vector<std::int32_t> predicted = classifier.predict_labels(chunk.features, threads);
      for (std::size_t row = 0; row < chunk.rows; ++row) local.add(chunk.labels[row], predicted[row]);
    });
  });
  std::vector<std::uint64_t> words(local.counts().begin(), local.counts().end());
  ranks.sum_everywhere(words);
  const std::vector<std::int64_t> counts(words.begin(), words.end());
  ConfusionMatrix total(classifier.classes());
  total.merge(counts);
  return total;
}

}  // namespace dpreduce
