#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/commands/evaluation.hpp"
#include "dpreduce/data/npy_writer.hpp"
#include "dpreduce/model/classifier_file.hpp"

namespace dpreduce {
namespace {

// Labels fit the memory of the coordinator (4 bytes a row); they are gathered in rank order, which is row order.
void predict_labels(const PredictOptions& options, Communicator& ranks, const Classifier& classifier) {
  std::vector<std::int32_t> labels;
  ranks.together([&] {
    WorkerRows rows =
        open_rows_for(classifier.input_dim(), {options.x, {}, options.bad_rows}, ranks.rank(), ranks.size());
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      const auto predicted = classifier.predict_labels(features, default_threads());
      labels.insert(labels.end(), predicted.begin(), predicted.end());
    });
  });
  const std::vector<std::int32_t> all = ranks.gather_to_coordinator(labels);
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    if (options.out.empty()) {
      for (const std::int32_t label : all) fmt::print("{}\n", label);
      return;
    }
    NpyWriter writer(options.out, DType::kInt64, {all.size()});
    writer.append(std::span<const std::int32_t>(all));
    writer.commit();
  });
}

// Scores may not fit any memory: the coordinator goes through all rows and streams them to the file.
void predict_scores(const PredictOptions& options, Communicator& ranks, const Classifier& classifier) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    WorkerRows rows = open_rows_for(classifier.input_dim(), {options.x, {}, options.bad_rows}, 0, 1);
    NpyWriter writer(options.out, DType::kFloat32, {rows.range().count, classifier.classes()});
    std::vector<float> scores;
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      const auto exact = classifier.predict_scores(features, default_threads());
      scores.assign(exact.begin(), exact.end());
      writer.append(std::span<const float>(scores));
    });
    writer.commit();
  });
}

}  // namespace

void run_command(const PredictOptions& options, Communicator& ranks) {
  std::optional<Classifier> classifier;
  ranks.together([&] {
    classifier.emplace(load_classifier(options.model));
    if (ranks.is_coordinator() && !options.out.empty()) AtomicFile check_writable(options.out);
  });
  if (options.scores) {
    predict_scores(options, ranks, *classifier);
  } else {
    predict_labels(options, ranks, *classifier);
  }
}

}  // namespace dpreduce
