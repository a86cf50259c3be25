// Classifier: public constants, and class scores that are linear in the transformed row.
//
// Legend: x a raw row of d_in floats, u = T(x) the transformed row of d entries (row_transform), K classes.
//
//     scores(x) = W u + b                                          one head; W is K x d, b has K entries
//     scores(x) = softmax(W u + b) + softmax(h(u))                 with prototypes: h_k = <u, c_k> / (||u|| ||c_k||)
//     label(x)  = the smallest k with the largest score
//
// All methods end in one of the two: nearest directions and centers, mean distances to prototypes, least squares,
// gradient methods and shared-variance Fisher rules are linear in u; so is an intercept coordinate, once folded into W
// and b. The second is the warm start of "mean estimation strikes back",
// Definition 2.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {

// Products of rows with a classifier's weights, and probabilities computed from them by a link.

// Link from a classifier's scores to probabilities.

/// Model files spell it.
enum class Link {
  kSoftmax,  ///< of the K scores of a row together
  kSigmoid   ///< of each score by itself
};

template <>
inline constexpr auto spellings<Link> = spelled<Link>("softmax", "sigmoid");

// The products of rows with a classifier's weights, in one fixed order of operations.
//
// Legend: K classes, d features, V a K x d matrix, U an n x d chunk of transformed rows.
//
// A library's matrix product sums a row's tail in another order than its body, so that a score would depend on where
// the row stands and on how the rows were split over ranks. Here each score is one plain sum over a = 0, 1, ..., d - 1;
// the speed comes from scores that are computed side by side.

class ClassScores {
 public:
  /// Keeps a copy of `matrix` (K x d, row-major) in tiles of eight classes. Cost: K * d doubles.
  ClassScores(std::span<const double> matrix, std::size_t classes, std::size_t dim);

  /// scores_rk = sum_a U_ra V_ka, in the order of a. `rows` is n x d, `scores` n x K, both row-major; sizes are
  /// asserted. Cost: n K d multiply-adds.
  void operator()(std::span<const double> rows, std::span<double> scores) const;

 private:
  std::size_t classes_;
  std::size_t dim_;
  std::vector<double> tiles_;  // [tile][feature][class within the tile]; the last tile is filled up with zeros
};

// Probabilities computed from scores.
//
// Legend: s the K scores of a row.
//
//     softmax       p_k = exp(s_k) / sum_j exp(s_j)       the row is of one class
//     sigmoid       p_k = 1 / (1 + exp(-s_k))             of each class or not, whatever the others
//
// These are the class probabilities of the losses of the same names. They come from noised sums, and are not calibrated
// frequencies.

/// v <- softmax(v). Precondition: not empty, finite entries.
void softmax(std::span<double> v);

/// v <- the probabilities of scores v. Precondition: not empty, finite entries.
void to_probabilities(Link link, std::span<double> v);

/// Terms of a guarantee for persons, beside its figures.
struct PersonStatement {
  std::uint64_t rows = 1;                             ///< B: what a person's rows count for together; at least 1
  std::optional<std::uint64_t> silos = std::nullopt;  ///< s, where s silos at most promised to have rows of one person

  bool operator==(const PersonStatement&) const = default;
};

/// Guarantee of a private model, in the forms that its accountant reports. All finite and positive (delta: in [0, 1));
/// epsilon goes with delta, and at least one of epsilon, mu and rho is present.
struct PrivacyStatement {
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> mu;   ///< Gaussian DP
  std::optional<double> rho;  ///< zero-concentrated DP
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<PersonStatement> person = std::nullopt;  ///< where the unit is a person; empty: it is a row

  bool operator==(const PrivacyStatement&) const = default;
};

/// The content of a classifier, and of its file. Released values and public constants only.
struct ClassifierParts {
  std::string method;                       ///< name of the training method: a-z, 0-9 and '-', 1 to 40 characters
  std::optional<PrivacyStatement> privacy;  ///< empty where nothing is promised
  Preprocessing preprocessing;
  std::size_t classes = 0;          ///< K; where rows have targets (preprocessing.targets) m, and scores predict them
  std::vector<double> weights;      ///< W, K x d, row-major
  std::vector<double> bias;         ///< b, K
  std::vector<double> cosine_head;  ///< c, the prototypes, K x d, row-major; empty without the second head
  /// The score from which a class is predicted, if rows may have several classes; finite.
  std::optional<double> threshold = std::nullopt;
  /// Name k is that of class k (class_name_fault); empty where classes have numbers only.
  std::vector<std::string> class_names{};
  /// Name a is that of feature a of a raw row; empty where features have none.
  std::vector<std::string> feature_names{};
  /// Link that makes probabilities of W u + b; empty if scores only rank classes.
  std::optional<Link> link = std::nullopt;
  Forfeits forfeits{};  ///< why nothing is promised, beside a seed; none where something is
};

/// Bound on K and on d_in, so that products of two fit std::size_t.
inline constexpr std::size_t kMaxExtent = std::size_t{1} << 24;

/// Rows that a thread scores at once: 1664 doubles each stay in a second-level cache.
inline constexpr std::size_t kRowsScoredAtOnce = 32;

/// Throws UsageError where the method's name, the promise, or the names of classes or features are not as said above:
/// all but weights, and what RowTransform requires. Precondition: extents are within bounds.
void require_terms(const ClassifierParts& parts);

class Classifier {
 public:
  /// Throws UsageError unless 2 <= K <= 2^24 (1 <= K with targets), d_in <= 2^24, and the preprocessing is in range.
  /// Sizes must follow from K and d, and entries be finite. The method's name, the privacy statement and the names must
  /// satisfy require_terms.
  explicit Classifier(ClassifierParts parts);

  const ClassifierParts& parts() const { return parts_; }
  std::size_t classes() const { return parts_.classes; }
  std::size_t input_dim() const { return transform_.input_dim(); }

  /// scores(x) of each row, n x K. `rows` is n x d_in, row-major. The scores of a row have the same bits for any other
  /// rows in the call, and any number of threads. Throws BadInput where the size is no multiple of d_in, or a row has a
  /// NaN or an infinity; the message numbers rows from `first_row`. Cost: n K d multiply-adds.
  std::vector<double> predict_scores(std::span<const float> rows, unsigned threads = 1,
                                     std::size_t first_row = 0) const;

  /// Returns whether scores are numbers, and not of classes.
  bool predicts_numbers() const { return parts_.preprocessing.targets.count > 0; }

  /// Makes probabilities of the scores of one row (to_probabilities); with prototypes, which go with softmax, half of
  /// the scores: what their training takes the probability to be. Precondition (asserted): parts().link; K scores.
  void to_probabilities(std::span<double> scores) const;

  /// label(x) of each row; otherwise as predict_scores.
  std::vector<std::int32_t> predict_labels(std::span<const float> rows, unsigned threads = 1,
                                           std::size_t first_row = 0) const;

 private:
  template <typename Visit>
  void for_each_block(std::span<const float> rows, unsigned threads, std::size_t first_row, const Visit& visit) const;
  void score_block(std::span<const double> transformed, std::span<double> scores) const;

  ClassifierParts parts_;
  RowTransform transform_;
  ClassScores linear_;
  std::optional<ClassScores> directions_;  // of c_k / ||c_k||
};

/// The indices of the k largest entries, the largest first, of equal ones the smaller index first. Precondition
/// (asserted): k <= scores.size().
std::vector<std::int32_t> largest_classes(std::span<const double> scores, std::size_t k);

/// The smallest index of the largest entry. `scores` is not empty; a NaN is never the largest.
std::int32_t argmax(std::span<const double> scores);

// Weights of classes, for a model whose scores are log probabilities.
//
//     b_k <- b_k + log w_k      odds of class k times w_k
//
// The weight of a class is the cost of a missed row of it, in units of the cost of a false alarm. It is a public
// number, so the weighed model is post-processing.

/// Throws UsageError unless scores of the method are log probabilities (link softmax, no second head), and there are
/// `classes` weights, above 0 and finite.
void require_weighable(std::string_view method, std::optional<Link> link, bool has_second_head,
                       std::span<const double> weights, std::size_t classes);

/// Weighs the classes of `parts`, as above. Throws as require_weighable.
void weigh_classes(ClassifierParts& parts, std::span<const double> weights);

}  // namespace dpreduce
