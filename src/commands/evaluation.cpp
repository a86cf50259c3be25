#include "commands/evaluation.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"

namespace dpreduce {
namespace {

ClassCounts counts_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                            unsigned threads) {
  ClassCounts counts(classifier.classes());
  ranks.together([&] {
    for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
      const std::vector<std::int32_t> predicted = classifier.predict_labels(features, threads);
      for (std::size_t row = 0; row < chunk.rows; ++row) counts.add(chunk.labels[row], predicted[row]);
    });
  });
  ranks.sum_everywhere(counts.counts());
  return counts;
}

TargetFigures target_figures(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                             unsigned threads) {
  const std::size_t count = classifier.classes();
  TargetFigures figures(classifier.parts().preprocessing.targets);
  ranks.together([&] {
    require_targets_of_model(rows, count);
    std::vector<double> targets(count);
    for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
      const std::vector<double> predicted = classifier.predict_scores(features, threads);
      for (std::size_t row = 0; row < chunk.rows; ++row) {
        const auto slots = slots_of(chunk.labels, chunk.labels_per_row, row);
        if (!are_finite_targets(slots)) continue;
        for (std::size_t t = 0; t < count; ++t) targets[t] = target_in(slots, t);
        figures.add(targets, std::span(predicted).subspan(row * count, count));
      }
    });
  });
  ranks.sum_everywhere(figures.words());
  return figures;
}

// The scores that rows of all ranks have of one class of theirs, on every rank. Collective.
std::vector<double> shared_scores(Communicator& ranks, std::vector<double> own, std::uint64_t all) {
  if (all == 0 || ranks.size() == 1) return own;
  std::vector<double> scores(all);
  const std::span<double> gathered = ranks.is_coordinator() ? std::span(scores) : std::span<double>();
  ranks.gather_to_coordinator(std::as_bytes(std::span(own)), std::as_writable_bytes(gathered));
  ranks.broadcast(std::span<double>(scores));
  return scores;
}

// Figures of rows that may be of several classes, in two passes over them: the first counts, and keeps the scores that
// rows have of their own classes; the second counts all rows between those. No pass keeps n x K scores.
LabelSetFigures label_set_figures(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                                  unsigned threads, const LabelSetTerms& terms) {
  const std::size_t classes = classifier.classes();
  LabelSetFigures figures(classes);
  figures.threshold = terms.threshold ? terms.threshold : classifier.parts().threshold;
  figures.top_k = terms.top_k;
  const auto for_each_row = [&](const auto& visit) {
    ranks.together([&] {
      for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
        const std::vector<double> scores = classifier.predict_scores(features, threads);
        for (std::size_t row = 0; row < chunk.rows; ++row) {
          visit(std::span(scores).subspan(row * classes, classes), chunk.classes_of(row));
        }
      });
    });
  };
  std::vector<std::vector<double>> own_scores(classes);  // of this rank's rows of each class
  for_each_row([&](std::span<const double> scores, std::span<const std::int32_t> labels) {
    figures.add(scores, labels);
    for (const std::int32_t label : labels) {
      const auto c = static_cast<std::size_t>(label);
      own_scores[c].push_back(scores[c]);
    }
  });
  ranks.sum_everywhere(figures.counts);
  std::vector<RankCounts> ranks_of_rows;  // of each class
  ranks_of_rows.reserve(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    const std::uint64_t positives = figures.counts[LabelSetFigures::at(c, LabelSetFigures::kPositives)];
    ranks_of_rows.emplace_back(shared_scores(ranks, std::exchange(own_scores[c], {}), positives));
  }
  for_each_row([&](std::span<const double> scores, std::span<const std::int32_t> /*labels*/) {
    for (std::size_t c = 0; c < classes; ++c) ranks_of_rows[c].add(scores[c]);
  });
  for (std::size_t c = 0; c < classes; ++c) {
    ranks.sum_everywhere(ranks_of_rows[c].rows());
    figures.average_precisions[c] = ranks_of_rows[c].average_precision();
  }
  return figures;
}

}  // namespace

void for_each_chunk(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                    const OnFeatureChunk& visit) {
  for_each_feature_chunk(rows, classifier.classes(), bad_rows, visit, [&](double) { ranks.check_peers(); });
}

void require_top_k(const std::optional<std::size_t>& top_k, std::size_t classes) {
  if (!top_k || *top_k <= classes) return;
  throw UsageError("--top-k {}: must be at most {}, the model's number of classes", *top_k, classes);
}

void require_targets_of_model(const WorkerRows& test, std::size_t count) {
  if (test.targets() == count) return;
  throw BadInput("test targets: {} a row, but the model predicts {}; give as many", test.targets(), count);
}

void warn_of_training_rows(const std::string& found, bool are_private) {
  if (found.empty()) return;
  fmt::print(stderr, "dpreduce: warning: {}: test figures {}do not measure the model on new rows\n", found,
             are_private ? "" : "are exact figures about training rows; do not publish them, and they ");
}

TestFigures evaluate_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                              unsigned threads, const LabelSetTerms& terms) {
  if (classifier.predicts_numbers()) return target_figures(ranks, classifier, rows, bad_rows, threads);
  const bool has_sets = ranks.max_everywhere(rows.has_label_sets() ? 1.0 : 0.0) > 0.0;
  ranks.together([&] {
    if (rows.has_label_sets() != has_sets) {
      throw BadInput("test labels: some ranks have a class index a row, others zeros and ones; give all in one form");
    }
  });
  return has_sets ? TestFigures(label_set_figures(ranks, classifier, rows, bad_rows, threads, terms))
                  : counts_on_ranks(ranks, classifier, rows, bad_rows, threads);
}

}  // namespace dpreduce
