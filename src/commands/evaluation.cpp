#include "commands/evaluation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "worker/lattice_stream.hpp"

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
      refuse_not_finite(rows.where(first_row + row));
    }
    std::fill(entries.begin(), entries.end(), 0.0F);
  }
}

ConfusionMatrix confusion_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows,
                                   BadRows bad_rows, unsigned threads) {
  ConfusionMatrix local(classifier.classes());
  ranks.together([&] {
    for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
      const std::vector<std::int32_t> predicted = classifier.predict_labels(features, threads);
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

// This rank's rows as each class sees them.
class RankedRows {
 public:
  RankedRows(std::size_t classes, const LabelSetTerms& terms) : terms_(terms), by_class_(classes) {}

  void add(const RowChunk& chunk, std::span<const double> scores) {
    const std::size_t classes = by_class_.size();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      const std::span<const double> of_row = scores.subspan(row * classes, classes);
      for (std::size_t c = 0; c < classes; ++c) by_class_[c].scores.push_back(of_row[c]);
      for (OfClass& of_class : by_class_) of_class.is_positive.push_back(0);
      const auto labels = chunk.classes_of(row);
      for (const std::int32_t label : labels) by_class_[static_cast<std::size_t>(label)].is_positive.back() = 1;
      const auto first = static_cast<std::int32_t>(std::max_element(of_row.begin(), of_row.end()) - of_row.begin());
      ++rows_;
      labeled_rows_ += labels.empty() ? 0 : 1;
      hits_ += std::find(labels.begin(), labels.end(), first) != labels.end() ? 1 : 0;
      if (!terms_.top_k) continue;
      for (const std::int32_t label : largest_classes(of_row, *terms_.top_k)) {
        top_hits_ += std::find(labels.begin(), labels.end(), label) != labels.end() ? 1 : 0;
      }
    }
  }

  // At the coordinator. Collective.
  LabelSetFigures over(Communicator& ranks, const std::optional<double>& model_threshold) const {
    const std::optional<double> threshold = terms_.threshold ? terms_.threshold : model_threshold;
    std::vector<std::uint64_t> counts{rows_, labeled_rows_, hits_, top_hits_};
    ranks.sum_everywhere(counts);
    LabelSetFigures figures{counts[0], counts[1], counts[2], threshold, {}};
    if (terms_.top_k) figures.top = {*terms_.top_k, counts[3]};
    for (const OfClass& of_class : by_class_) figures.classes.push_back(figures_of(ranks, of_class, threshold));
    return figures;
  }

 private:
  struct OfClass {
    std::vector<double> scores;
    std::vector<char> is_positive;
  };

  static LabelSetFigures::OfClass figures_of(Communicator& ranks, const OfClass& of_class,
                                             std::optional<double> threshold) {
    constexpr std::size_t kWords = 3;  // both halves of a score, and whether the row is positive
    std::vector<std::int32_t> words;
    for (std::size_t row = 0; row < of_class.scores.size(); ++row) {
      const auto halves = std::bit_cast<std::array<std::int32_t, 2>>(of_class.scores[row]);
      words.insert(words.end(), {halves[0], halves[1], of_class.is_positive[row]});
    }
    words = ranks.gather_to_coordinator(words);
    std::vector<RankedRow> rows;
    LabelSetFigures::OfClass figures;
    for (std::size_t word = 0; word < words.size(); word += kWords) {
      const auto score = std::bit_cast<double>(std::array<std::int32_t, 2>{words[word], words[word + 1]});
      const bool is_positive = words[word + 2] != 0;
      const bool is_given = threshold && score >= *threshold;
      rows.push_back({score, is_positive});
      figures.positives += is_positive ? 1 : 0;
      figures.given += is_given ? 1 : 0;
      figures.right += is_positive && is_given ? 1 : 0;
    }
    figures.average_precision = average_precision(std::move(rows));
    return figures;
  }

  LabelSetTerms terms_;
  std::vector<OfClass> by_class_;
  std::uint64_t rows_ = 0;
  std::uint64_t labeled_rows_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t top_hits_ = 0;
};

}  // namespace

void for_each_chunk(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                    const std::function<void(const RowChunk&, std::span<const float> features)>& visit) {
  const std::size_t dim = classifier.input_dim();
  const std::size_t slots = rows.has_label_sets() ? classifier.classes() : 1;
  RowStream stream(rows, classifier.classes(),
                   std::min<std::size_t>(rows_per_chunk(kPredictionMemory, dim, slots), 4096), slots);
  std::vector<float> decoded;
  std::vector<float> features;
  while (const auto chunk = stream.next()) {
    ranks.check_peers();
    const auto read = chunk->features.decoded(0, chunk->features.size(), decoded);
    features.assign(read.begin(), read.end());
    mend_rows(features, dim, bad_rows, rows, chunk->first_row);
    visit(*chunk, features);
  }
}

void require_valid_label_set_terms(const std::optional<std::size_t>& top_k, const std::optional<double>& threshold) {
  if (top_k == 0) throw UsageError("--top-k 0: must be at least 1");
  if (threshold && !std::isfinite(*threshold)) {
    throw UsageError(fmt::format("--threshold {}: must be a finite number", *threshold));
  }
}

void require_top_k(const std::optional<std::size_t>& top_k, std::size_t classes) {
  if (!top_k || *top_k <= classes) return;
  throw UsageError(fmt::format("--top-k {}: must be at most {}, the model's number of classes", *top_k, classes));
}

void warn_of_training_rows(const std::string& found) {
  if (found.empty()) return;
  fmt::print(stderr,
             "dpreduce: warning: {}: test figures are exact figures about training rows; do not publish them, and they "
             "say little of other rows\n",
             found);
}

TestFigures evaluate_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                              unsigned threads, const LabelSetTerms& terms) {
  const bool has_sets = ranks.max_everywhere(rows.has_label_sets() ? 1.0 : 0.0) > 0.0;
  ranks.together([&] {
    if (rows.has_label_sets() != has_sets) {
      throw BadInput("test labels: some ranks have a class index a row, others zeros and ones; give all in one form");
    }
  });
  if (!has_sets) return confusion_on_ranks(ranks, classifier, rows, bad_rows, threads);
  RankedRows local(classifier.classes(), terms);
  ranks.together([&] {
    for_each_chunk(ranks, classifier, rows, bad_rows, [&](const RowChunk& chunk, std::span<const float> features) {
      local.add(chunk, classifier.predict_scores(features, threads));
    });
  });
  return local.over(ranks, classifier.parts().threshold);
}

}  // namespace dpreduce
