// Synthetic features, made row by row: any row, at any time, from the specification alone.
//
// Legend: K classes, d features, y the label of a row, M_0 .. M_{K-1} the class means, g standard normal in R^d.
//
//     training row    x = M_y + s g + v                      ||v||_inf = offset, the same v for every row
//     test row        x = M_y + s g + w_y                    ||w_y||_inf = adversarial
//     rows of several classes: M_y is the sum of M_c over the classes Y of the row, over sqrt(|Y|); y, their first one,
//     follows the shares of classes, |Y| is uniform in 1 .. most_labels, and the others are any other classes
//     s^2 = spread^2 (Gaussian mixture) + train_noise^2 or test_noise^2
//
//     neural collapse     M = sqrt(K / (K-1)) P (I_K - 1 1^T / K), a simplex equiangular tight frame (ETF) of unit
//                         vectors with inner products -1 / (K-1); P is a random partial isometry
//     Gaussian mixture    M_k uniform on the sphere of radius `separation`
//
// Sources: [wang2024], eq. 2.2, sections 3.2 and 5.2 (v; perturbed tests; alpha);
// the exponential long tail of [wahdany2025], B.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/output_file.hpp"
#include "common/data/counter_random.hpp"

namespace dpreduce {

/// Returns M^T for M = sqrt(K/(K-1)) P (I_K - 1 1^T / K), P^T P = I_K: unit rows with inner products -1/(K-1).
///
/// P (I - 1 1^T/K) = (P H^T) H for Helmert's (K-1) x K matrix H (orthonormal rows, all orthogonal to 1), so it is made
/// as Q H with Q = P H^T a uniform d x (K-1) partial isometry: the same law, and d = K - 1 features are enough. Cost
/// O(d K^2). Preconditions (asserted): classes >= 2, dim >= classes - 1.
std::vector<double> simplex_frame(std::size_t classes, std::size_t dim, std::uint64_t seed);

/// Returns K independent uniform points of the sphere of this radius in R^d.
std::vector<double> sphere_points(std::size_t classes, std::size_t dim, double radius, std::uint64_t seed);

/// Returns row k = beta sign(M_j - M_k), with j the class that minimizes the margin left,
/// ||M_k - M_j||^2 / 2 - beta ||M_k - M_j||_1, the smallest j where several do. Cost O(d K^2).
std::vector<double> worst_perturbations(const std::vector<double>& means, std::size_t classes, std::size_t dim,
                                        double beta);

/// Layout of synthetic class means: a simplex equiangular tight frame, or anywhere on a sphere.
enum class ClassMeans { kNeuralCollapse, kGaussianMixture };
template <>
inline constexpr auto spellings<ClassMeans> = spelled<ClassMeans>("neural-collapse", "gaussian-mixture");

enum class SyntheticPart { kTrain, kTest };

/// Class 0 is the largest of a long tail.
struct SyntheticSpec {
  ClassMeans means = ClassMeans::kNeuralCollapse;
  std::uint64_t train_rows = 10'000;
  std::uint64_t test_rows = 2'000;
  std::size_t dim = 128;
  std::size_t classes = 10;
  double separation = 3.0;       ///< Gaussian mixture: Euclidean norm of each class mean
  double spread = 1.0;           ///< Gaussian mixture: standard deviation of each feature around its class mean
  double offset = 0.0;           ///< training rows: sup-norm of v, whose signs are random
  double train_noise = 0.0;      ///< training rows: standard deviation of each feature
  double test_noise = 0.0;       ///< test rows: the same
  double adversarial = 0.0;      ///< test rows: sup-norm of w_y
  double imbalance_ratio = 1.0;  ///< training rows: n_c proportional to IR^(-c / (K-1))
  std::optional<std::size_t> max_labels{};    ///< classes of a row at most; empty: one class a row, and no sets
  std::optional<double> first_class_share{};  ///< training rows: alpha, the share of class 0; the others share the rest
  /// Training rows: R, how many a person has on average; empty: no persons.
  std::optional<std::uint64_t> rows_per_person{};
  std::uint64_t seed = 0;
};

/// The same specification gives the same bytes on every machine (see counter_random.hpp). Immutable: threads may share
/// one. Memory 8 K d bytes; construction costs O(d K^2) for neural collapse, and for adversarial test rows.
class SyntheticRows {
 public:
  /// Throws UsageError with the argument's name, value and limit where, in this order: classes < 2 or >= 2^31; dim < 1,
  /// or dim < classes - 1 for neural collapse; a norm or standard deviation is negative or not finite, or separation
  /// is not positive; imbalance_ratio is not finite or < 1; first_class_share is not inside (0, 1), or comes with an
  /// imbalance_ratio other than 1; max_labels is 0 or above the number of classes, or above 1 with an adversarial
  /// shift; a class would have no training row.
  explicit SyntheticRows(const SyntheticSpec& spec);

  const SyntheticSpec& spec() const { return spec_; }
  std::uint64_t rows(SyntheticPart part) const;
  /// M_k, d entries.
  std::span<const double> class_mean(std::size_t k) const;
  /// v, d entries.
  std::span<const double> offset() const { return offset_; }
  /// w_k = beta sign(M_j - M_k), d entries: of all perturbations of sup-norm beta the one that moves class k furthest
  /// over the plane between M_k and M_j, with j the class for which that leaves the smallest margin.
  std::span<const double> adversarial(std::size_t k) const;

  /// The class of a row, of several the first; classes are shuffled over rows. As many are of each as the imbalance
  /// says in training rows (rounded cumulatively, so that they add up), and equally many in test rows.
  std::int32_t label(SyntheticPart part, std::uint64_t row) const;

  /// Person of a training row: floor(P u^2), with P = ceil(n / R) persons, u uniform. The tail is long: person k has
  /// about n / (2 sqrt(P k)) rows, and some have none. Preconditions (asserted): there are persons; the row exists.
  std::uint64_t person(std::uint64_t row) const;

  /// Slots of a row's labels (label_slots.hpp).
  std::size_t labels_per_row() const { return spec_.max_labels.value_or(1); }

  /// Writes a row: d features, and labels_per_row() slots. Preconditions (asserted): the row exists; the spans have
  /// these sizes.
  void fill(SyntheticPart part, std::uint64_t row, std::span<float> features, std::span<std::int32_t> slots) const;

 private:
  struct Part {
    std::vector<std::uint64_t> class_ends;  // cumulative class counts
    IndexPermutation shuffle;
  };
  void fill_classes(SyntheticPart which, std::uint64_t row, std::span<std::int32_t> slots) const;
  // Mean of a row of these classes: the sum of their means over the root of their number.
  std::vector<double> mean_of(std::span<const std::int32_t> classes) const;
  const Part& part(SyntheticPart which) const { return which == SyntheticPart::kTrain ? train_ : test_; }

  SyntheticSpec spec_;
  std::vector<double> means_;        // K x d
  std::vector<double> offset_;       // d
  std::vector<double> adversarial_;  // K x d; empty without
  Part train_;
  Part test_;
};

// Synthetic data on disk.

struct SyntheticFiles {
  std::vector<std::string> train_x;
  std::vector<std::string> train_y;
  std::vector<std::string> train_person{};  ///< none without persons
  std::vector<std::string> test_x;
  std::vector<std::string> test_y;
};

/// Writes train_x.npy (float32), train_y.npy (int64; with max_labels n x K zeros and ones, uint8) and, where there are
/// test rows, test_x.npy and test_y.npy, where there are persons train_person.npy (int64) into `directory`, which is
/// made if need be. With shards > 1 training rows are cut evenly into train_x_0.npy, ... and train_y_0.npy, ..., names
/// that 'train_x_{rank}.npy' fits. Returns the paths. Memory: a row and 32 KiB a file, whatever the number of rows.
/// Throws UsageError where shards is 0 or above the number of training rows; BadInput where a file cannot be written,
/// or is there already and is to be kept: those that this call has written before are then removed.
SyntheticFiles write_synthetic(const SyntheticRows& rows, const std::string& directory, std::size_t shards,
                               Existing existing = Existing::kKeep);

}  // namespace dpreduce
