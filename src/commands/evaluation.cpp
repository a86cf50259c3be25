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

// Figures of rows that may be of several classes, in two passes over them: the first counts, and keeps the scores that
// rows have of their own classes; the second counts all rows between those. No pass keeps n x K scores.
class LabelSetEvaluation {
 public:
  LabelSetEvaluation(const Classifier& classifier, const LabelSetTerms& terms) : own_scores_(classifier.classes()) {
    figures_.threshold = terms.threshold ? terms.threshold : classifier.parts().threshold;
    figures_.classes.resize(classifier.classes());
    if (terms.top_k) figures_.top = {*terms.top_k, 0};
  }

  void add(const RowChunk& chunk, std::span<const double> scores) {
    const std::size_t classes = own_scores_.size();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      add_row(scores.subspan(row * classes, classes), chunk.classes_of(row));
    }
  }

  // Between the passes: every rank learns the scores of all positive rows. Collective.
  void share_scores(Communicator& ranks) {
    std::uint64_t none = 0;
    std::vector<std::uint64_t*> counts{&figures_.rows, &figures_.labeled_rows, &figures_.hits,
                                       figures_.top ? &figures_.top->hits : &none};
    for (LabelSetFigures::OfClass& of_class : figures_.classes) {
      counts.insert(counts.end(), {&of_class.positives, &of_class.given, &of_class.right});
    }
    std::vector<std::uint64_t> sums(counts.size());
    std::ranges::transform(counts, sums.begin(), [](const std::uint64_t* count) { return *count; });
    ranks.sum_everywhere(sums);
    for (std::size_t place = 0; place < sums.size(); ++place) *counts[place] = sums[place];
    ranks_of_rows_.reserve(own_scores_.size());
    for (std::size_t c = 0; c < own_scores_.size(); ++c) {
      ranks_of_rows_.emplace_back(shared(ranks, std::exchange(own_scores_[c], {}), figures_.classes[c].positives));
    }
  }

  void rank(std::size_t rows, std::span<const double> scores) {
    const std::size_t classes = ranks_of_rows_.size();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < classes; ++c) ranks_of_rows_[c].add(scores[row * classes + c]);
    }
  }

  // At the coordinator. Collective.
  LabelSetFigures over(Communicator& ranks) {
    for (std::size_t c = 0; c < ranks_of_rows_.size(); ++c) {
      ranks.sum_everywhere(ranks_of_rows_[c].rows());
      figures_.classes[c].average_precision = ranks_of_rows_[c].average_precision();
    }
    return std::move(figures_);
  }

 private:
  void add_row(std::span<const double> scores, std::span<const std::int32_t> labels) {
    const std::optional<double>& threshold = figures_.threshold;
    const auto is_own = [&](std::int32_t label) { return std::ranges::find(labels, label) != labels.end(); };
    ++figures_.rows;
    figures_.labeled_rows += labels.empty() ? 0 : 1;
    figures_.hits += is_own(argmax(scores)) ? 1 : 0;
    for (const std::int32_t label : labels) {
      const auto c = static_cast<std::size_t>(label);
      own_scores_[c].push_back(scores[c]);
      ++figures_.classes[c].positives;
      if (threshold && scores[c] >= *threshold) ++figures_.classes[c].right;
    }
    if (threshold) {
      for (std::size_t c = 0; c < scores.size(); ++c) figures_.classes[c].given += scores[c] >= *threshold ? 1 : 0;
    }
    if (!figures_.top) return;
    for (const std::int32_t label : largest_classes(scores, figures_.top->k))
      figures_.top->hits += is_own(label) ? 1 : 0;
  }

  static std::vector<double> shared(Communicator& ranks, const std::vector<double>& own, std::uint64_t all) {
    if (all == 0 || ranks.size() == 1) return own;
    std::vector<double> scores(all);
    const std::span<double> gathered = ranks.is_coordinator() ? std::span(scores) : std::span<double>();
    ranks.gather_to_coordinator(std::as_bytes(std::span(own)), std::as_writable_bytes(gathered));
    ranks.broadcast(std::span<double>(scores));
    return scores;
  }

  std::vector<std::vector<double>> own_scores_;  // of this rank's rows of each class
  std::vector<RankCounts> ranks_of_rows_;        // of each class
  LabelSetFigures figures_;
};

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
  if (!has_sets) return counts_on_ranks(ranks, classifier, rows, bad_rows, threads);
  LabelSetEvaluation sets(classifier, terms);
  const auto for_each_scored = [&](const auto& visit) {
    ranks.together([&] {
      for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
        visit(chunk, classifier.predict_scores(features, threads));
      });
    });
  };
  for_each_scored([&](const RowChunk& chunk, const std::vector<double>& scores) { sets.add(chunk, scores); });
  sets.share_scores(ranks);
  for_each_scored([&](const RowChunk& chunk, const std::vector<double>& scores) { sets.rank(chunk.rows, scores); });
  return sets.over(ranks);
}

}  // namespace dpreduce
