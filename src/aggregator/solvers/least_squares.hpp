// Least squares by released sums, whose rows are solved in groups.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

// Rows that are made in groups, by one rank or by ranks that trust each other, with the same bits.

/// `count` rows of one length, at most 192 in a group, and one group or an even number. Results may depend on the rows
/// of a group, but groups do not depend on the number of ranks. `make` receives the index of a group's first row, and
/// its rows.
class RowGroups {
 public:
  using Make = std::function<void(std::size_t first, std::span<double> group)>;

  explicit RowGroups(std::size_t count);

  /// Returns whether there are several groups, and several `owners` (Communicator::owners) to make them.
  bool are_shared_by(int owners) const { return owners > 1 && groups_ > 1; }

  /// Makes each group, here. Precondition (asserted): whole rows.
  void make_all(std::span<double> rows, const Make& make) const;

  /// Makes each group on one of the owners (Communicator::owners); all ranks have all rows then. Collective.
  /// Precondition (asserted): whole rows.
  void make_on_ranks(Communicator& ranks, std::span<double> rows, const Make& make) const;

 private:
  std::size_t count_;
  std::size_t groups_;
};

// Ridge regression on one-hot labels from one released Gram matrix and class sums.
//
//     W = B (G + ridge I)^-1        B = class sums (K x d), G the cleaned Gram matrix (gram_spectrum.hpp)
//
// argmin_W sum_i |W x_i - onehot(y_i)|^2 + ridge |W|^2. Post-processing of release "least_squares".

/// Ridge of --method ls: half of the noise's radius.
inline constexpr double kLsRidgeInRadii = 0.5;

/// For each of `factors` W, K x d, in units of 1 / feature, where `release` is known: on the coordinator. ridge =
/// factor (ridge_in_radii * w + C^2), w the noise's radius: with factor 1 as much as noise alone makes of a direction
/// that no row has, and one row. With `components`, within the span of so many eigenvectors of G
/// (GramSpectrum::inverse_factors). Ranks share several groups of classes. Collective. Preconditions:
/// `release` has gram and class_sums of `classes`; ridge_in_radii >= 0; factors > 0; with components, noise.
std::vector<std::vector<double>> solve_least_squares(Communicator& ranks, const Release& release,
                                                     const Lattice& lattice, std::size_t classes, double ridge_in_radii,
                                                     std::span<const double> factors, std::size_t components = 0);

/// A released block in units of its lattice: values / unit.
std::vector<double> in_units(const ReleasedBlock& block, double unit);

// Ridge regression of one class against all, from released Gram matrices of the class and of all rows.
//
//     theta_j = [A_j + alpha G + lambda I]^-1 b_j          A_j, G cleaned together of the noise in A_j + alpha G
//
// argmin over theta of sum_{i : y_i = j} (theta x_i - 1)^2 + alpha sum_i (theta x_i)^2 + lambda |theta|^2: positives
// weigh 1 + alpha with target 1 / (1 + alpha), negatives alpha. Post-processing of release "class_least_squares".
// Source: [mehta2023], Algorithm 2 (DP-LS); docs/explanation/sensitivities.md, "Gram matrices of the classes".

/// lambda = ridge_factor (1 + alpha) (0.5 w + C^2), w the noise radius of (A_j + alpha G) / (1 + alpha), unless it is
/// given: with factor 1 as for the shared Gram matrix, which has the same noise at the same budget.
struct ClassRidge {
  double alpha = 1.0;
  std::optional<double> lambda{};
  double ridge_factor = 1.0;
};

/// theta_j, d entries, in units of 1 / feature. `gram` is G's upper triangle, used where alpha > 0, `class_gram` A_j's,
/// `class_sum` b_j (d) in lattice units. Memory: 8 d^2 bytes beside the triangles. Cost: solve_cleaned's. Preconditions
/// (asserted): 0 <= alpha < infinity; `gram` is there when alpha > 0; lambda > 0 where it is given; ridge_factor > 0;
/// the shapes.
std::vector<double> solve_class(const ClassRidge& ridge, const Lattice& lattice, const ReleasedBlock* gram,
                                const ReleasedBlock& class_gram, std::span<const std::int64_t> class_sum);

}  // namespace dpreduce
