#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/output_check.hpp"
#include "common/model/classifier_file.hpp"
#include "fit/default_threads.hpp"
#include "fit/ranked_rows.hpp"

namespace dpreduce {
namespace {

Existing existing(const PredictOptions& options) {
  return options.overwrite ? Existing::kReplace : Existing::kKeep;
}

// The rows of this rank of so many, which are not what is written.
WorkerRows open_features(const PredictOptions& options, const Classifier& classifier, int rank, int ranks) {
  WorkerRows rows = open_rows_for(classifier.input_dim(), {options.x, {}, options.bad_rows}, rank, ranks);
  require_not_read(std::array{NamedPath{"--out", options.out}}, rows);
  return rows;
}

// Labels fit the memory of the coordinator (4 bytes each); they are gathered in rank order, which is row order.
void predict_labels(const PredictOptions& options, Communicator& ranks, const Classifier& classifier) {
  const std::size_t per_row = options.top_k.value_or(1);
  std::vector<std::int32_t> labels;
  ranks.together([&] {
    WorkerRows rows = open_features(options, classifier, ranks.rank(), ranks.size());
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      if (!options.top_k) {
        const auto predicted = classifier.predict_labels(features, default_threads());
        labels.insert(labels.end(), predicted.begin(), predicted.end());
        return;
      }
      const std::vector<double> scores = classifier.predict_scores(features, default_threads());
      for (std::size_t first = 0; first < scores.size(); first += classifier.classes()) {
        const auto best = largest_classes(std::span(scores).subspan(first, classifier.classes()), per_row);
        labels.insert(labels.end(), best.begin(), best.end());
      }
    });
  });
  const std::vector<std::int32_t> all = ranks.gather_to_coordinator(labels);
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    if (options.out.empty()) {
      const std::vector<std::string>& names = classifier.parts().class_names;
      for (std::size_t place = 0; place < all.size(); ++place) {
        const bool is_last = (place + 1) % per_row == 0;
        // Names hold no tab, but may hold spaces.
        fmt::print("{}{}", name_of_class(names, static_cast<std::size_t>(all[place])),
                   is_last         ? '\n'
                   : names.empty() ? ' '
                                   : '\t');
      }
      return;
    }
    const std::uint64_t rows = all.size() / per_row;
    NpyWriter writer(options.out, DType::kInt64, options.top_k ? Shape{rows, per_row} : Shape{rows}, existing(options));
    writer.append(std::span<const std::int32_t>(all));
    writer.commit();
  });
}

// n x K scores may be more than fit into memory, so the coordinator goes through all rows and writes what is made of
// them to the file as it goes.
void predict_of_scores(const PredictOptions& options, Communicator& ranks, const Classifier& classifier, DType dtype,
                       const std::function<void(std::span<const double> scores, NpyWriter& writer)>& append) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    WorkerRows rows = open_features(options, classifier, 0, 1);
    NpyWriter writer(options.out, dtype, {rows.range().count, classifier.classes()}, existing(options));
    for_each_chunk(ranks, classifier, rows, options.bad_rows, [&](const RowChunk&, std::span<const float> features) {
      append(classifier.predict_scores(features, default_threads()), writer);
    });
    writer.commit();
  });
}

void predict_scores(const PredictOptions& options, Communicator& ranks, const Classifier& classifier) {
  predict_of_scores(options, ranks, classifier, DType::kFloat32, [](std::span<const double> exact, NpyWriter& writer) {
    const std::vector<float> scores(exact.begin(), exact.end());
    writer.append(std::span<const float>(scores));
  });
}

// Decides by exact scores. Those that --scores writes are rounded to float32, which may put a score on the other side
// of the threshold.
void predict_sets(const PredictOptions& options, Communicator& ranks, const Classifier& classifier, double threshold) {
  predict_of_scores(
      options, ranks, classifier, DType::kUint8, [threshold](std::span<const double> scores, NpyWriter& writer) {
        std::vector<std::byte> sets(scores.size());
        std::transform(scores.begin(), scores.end(), sets.begin(),
                       [threshold](double score) { return score >= threshold ? std::byte{1} : std::byte{0}; });
        writer.append_stored(sets);
      });
}

std::optional<double> threshold_of(const PredictOptions& options, const Classifier& classifier) {
  const std::optional<double> threshold = options.threshold ? options.threshold : classifier.parts().threshold;
  if (options.sets && !threshold) {
    throw UsageError(fmt::format(
        "--sets: {} has no threshold, since its scores only rank classes; give one with --threshold, or use --top-k",
        options.model));
  }
  return threshold;
}

}  // namespace

void run_command(const PredictOptions& options, Communicator& ranks) {
  std::optional<Classifier> classifier;
  std::optional<double> threshold;
  ranks.together([&] {
    classifier.emplace(load_classifier(options.model));
    check_top_k(options.top_k, classifier->classes());
    threshold = threshold_of(options, *classifier);
    require_not_read(std::array{NamedPath{"--out", options.out}}, options.model);
    open_features(options, *classifier, ranks.rank(), ranks.size());  // to be refused before anything is written
    if (ranks.is_coordinator() && !options.out.empty()) AtomicFile check_writable(options.out, existing(options));
  });
  if (options.scores) {
    predict_scores(options, ranks, *classifier);
  } else if (options.sets) {
    predict_sets(options, ranks, *classifier, threshold.value());
  } else {
    predict_labels(options, ranks, *classifier);
  }
}

}  // namespace dpreduce
