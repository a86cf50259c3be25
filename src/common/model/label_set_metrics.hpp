// Figures about test rows that may be of several classes, or of none.
//
// Legend: K classes; Y the classes of a row; s_c its score of class c. A row is positive for the classes in Y.
// These are exact figures of the test rows. They are outside of the privacy guarantee, which is about training rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// A test row as one class sees it.
struct RankedRow {
  double score = 0.0;
  bool is_positive = false;
};

/// Average precision, sum over the scores t that occur of P(t) (R(t) - R(t + 1)): P(t) the share of positives among
/// rows with a score >= t, R(t) the share of positives that have one, t + 1 the next larger score. Rows of equal score
/// come together, so that their order does not matter. Empty without positives. Cost: n log n.
std::optional<double> average_precision(std::vector<RankedRow> rows);

struct LabelSetFigures {
  struct OfClass {
    std::uint64_t positives = 0;  ///< rows of the class
    std::uint64_t given = 0;      ///< rows with s_c >= threshold
    std::uint64_t right = 0;      ///< rows that are both
    std::optional<double> average_precision;
  };

  /// Of the k largest scores of every row, equal ones by class.
  struct Top {
    std::size_t k = 1;
    std::uint64_t hits = 0;  ///< pairs of a row and one of its classes among these k
  };

  std::uint64_t rows = 0;
  std::uint64_t labeled_rows = 0;  ///< Y is not empty
  std::uint64_t hits = 0;          ///< rows whose largest score (of equal ones the first) is of a class in Y
  std::optional<double> threshold;
  std::vector<OfClass> classes;  ///< K
  std::optional<Top> top{};
};

/// {"rows", "rows_without_labels", "hit_rate": hits over labeled rows, "mean_average_precision": the mean over classes
/// with positives, "classes_without_positives": [c], "per_class_average_precision", "per_class_support"}, and where
/// there is a threshold {"threshold", "micro_f1": 2 right / (positives + given) of all classes together, "macro_f1":
/// the mean of the classes' own over those with positives, "per_class_f1"}; where there is a top {"top_k",
/// "precision_at_k": its hits over k times the labeled rows, "recall_at_k": over all positives}. Figures without a
/// denominator are null.
nlohmann::json to_json(const LabelSetFigures& figures);

}  // namespace dpreduce
