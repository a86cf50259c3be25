// Plan of noise: from a budget mu to the noise of every block.
//
//   s_b     noise standard deviation on each coordinate of block b, in lattice units
//   D_pb^2  squared L2 sensitivity of block b under profile p
//   W_b     loss weight: how much the loss grows per unit of s_b^2; (coordinates) x (loss per coordinate)
//
// A release of blocks b minimizes sum_b W_b s_b^2 subject to max_p sum_b D_pb^2 / s_b^2 <= mu^2. With one profile,
//   s_b^2 = (D_b / sqrt(W_b)) (sum_j D_j sqrt(W_j)) / mu^2.
// With several, s_b^2 = sqrt(c_b / W_b) (...), c_b = sum_p theta_p D_pb^2, where theta on the simplex maximizes the
// concave A(theta) = sum_b sqrt(W_b c_b).
//
// Releases follow one another, each possibly chosen after seeing the earlier ones, and their mu^2 add up. Every sigma
// is rounded up, and the mu that the rounded sigmas realize is computed again, upwards: it never passes the budget.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/privacy_terms.hpp"

namespace dpreduce {

// Sensitivity of a statistic: how far one neighboring change can move it, exactly.
//
// A change moves all blocks of a statistic at once: with profile (D_1^2, ..., D_B^2) and noise s_b on block b, it costs
// mu^2 = sum_b D_b^2 / s_b^2. Different kinds of change have different profiles, and a release must stand the worst:
// mu^2 = max over profiles. Example, class sums of rows with norm at most S and class counts:
//
//   add-remove                 {S^2, 1}      one record comes or goes: one class, (q, 1)
//   replace-one, same class    {4 S^2, 0}    q -> q', |q - q'| <= 2S; no count moves
//   replace-one, other class   {2 S^2, 2}    -q in one class, +q' in another; two counts move by one
//
// Taking the largest D_b^2 of each block instead, {4 S^2, 2}, would be safe as well, and pay for a change that cannot
// occur.

/// One kind of neighboring change.
struct SensitivityProfile {
  std::string change;  ///< what a report calls it: "add-remove", "same class", "other class"
  /// Exact squared L2 sensitivity of every block, in squared lattice units, in the statistic's order of blocks.
  std::vector<std::uint64_t> squared_l2;
};

/// Largest noise that is sampled exactly (fill_rounded_gaussian); 40 s is far below 2^63 there.
inline constexpr double kLargestPlannedSigma = 0x1p45;
/// Smallest noise: a budget that would allow less noise gets this, and spends less.
inline constexpr double kSmallestPlannedSigma = 0.5;
/// Largest noise of a block in fractions, which leaves as much of 64 bits to its sum.
inline constexpr double kLargestFractionalSigma = 0x1p30;

/// Spread of a block's noise over its elements.
enum class BlockNoise {
  kEqual,     ///< variance s^2 on every element
  kSymmetric  ///< upper triangles of symmetric matrices (triangle.hpp): s^2 on the diagonals, s^2 / 2 beside them
};

struct BlockRequest {
  std::string name;
  std::uint64_t elements;
  double loss_weight;  ///< W_b; only the ratios within a release matter
  BlockNoise noise = BlockNoise::kEqual;
  std::uint64_t triangles = 1;  ///< of a symmetric block: equally large ones that follow one another
  /// The statistic's elements are in units of 2^-fraction_bits; sensitivity, noise and what is released are in units of
  /// 1, to which sums are rounded after the noise.
  unsigned fraction_bits = 0;
};

struct ReleaseRequest {
  std::string name{};
  double share;              ///< of mu^2, relative to the other releases' shares
  std::uint64_t rounds = 1;  ///< how often this release is repeated; its share is divided among them
  std::vector<BlockRequest> blocks;
  std::vector<SensitivityProfile> profiles;
  bool in_parts = false;     ///< made one triangle at a time, which are never in memory together
  double sampling_rate = 1;  ///< q of every round's Poisson sample; 1: all rows (spending.hpp for others)
  /// B: the number of rows that a unit's rows count for together. `profiles` are of one row; a unit moves every block B
  /// times as far.
  std::uint64_t rows_per_unit = 1;
  bool clips_units = false;  ///< a unit's sums are clipped to that; else each of its rows weighs less
  std::size_t dim = 0;       ///< features of the rows that it is of
};

struct PlannedBlock {
  std::string name;
  std::uint64_t elements;
  std::uint64_t squared_sensitivity;  ///< of one row, largest over profiles, exact
  double sensitivity;                 ///< B times its root, rounded up
  double sigma;                       ///< of one round, in lattice units
  double mu;                          ///< sensitivity / sigma, of one round, rounded up
  BlockNoise noise = BlockNoise::kEqual;
  std::uint64_t triangles = 1;  ///< as in the request
  unsigned fraction_bits = 0;   ///< as in the request
};

struct PlannedRelease {
  std::string name;
  std::uint64_t rounds;
  std::vector<PlannedBlock> blocks;
  std::vector<SensitivityProfile> profiles;
  double mu;  ///< realized by all rounds together, rounded up; of a sampled one: were a row in all of them
  double sampling_rate = 1;         ///< as in the request
  std::uint64_t rows_per_unit = 1;  ///< B, as in the request

  bool is_sampled() const { return sampling_rate < 1; }
  /// Returns the block of that name. Precondition (asserted): there is one.
  const PlannedBlock& block(std::string_view block_name) const;
};

/// Name of one round in ledgers and reports: "gram" if a release is made once, "gradient/3" for the third of several.
std::string label_of_round(const PlannedRelease& release, std::uint64_t round);

/// A private selection, made once.
struct PlannedSelection {
  std::string name;
  SelectionTerms terms;
  unsigned fraction_bits =
      0;  ///< utilities are summed in units of 2^-fraction_bits, and rounded down before the choice

  bool operator==(const PlannedSelection&) const = default;
};

/// A plan may have releases, selections, or both; a run of selections alone has mu 0.
struct NoisePlan {
  Adjacency adjacency;
  double budget_mu = 0;  ///< as requested
  double mu = 0;         ///< realized by all releases but sampled ones together, rounded up; <= budget_mu
  std::vector<PlannedRelease> releases{};
  std::vector<PlannedSelection> selections{};

  /// Returns the release of that name. Precondition (asserted): there is one.
  const PlannedRelease& release(std::string_view release_name) const;
  /// Returns the selection of that name. Precondition (asserted): there is one.
  const PlannedSelection& selection(std::string_view selection_name) const;
};

/// The optimal plan; see the top of this file.
///
/// Preconditions (asserted): at least one release, names all different; every share > 0 and finite, rounds >= 1,
/// sampling rate 1; every release has at least one block and one profile; block names not empty and all different,
/// elements >= 1, loss weight > 0 and finite; every profile has one entry a block, and every block a positive one in
/// some profile (a block that no change moves is public, and needs no noise); add-remove has exactly one profile.
/// Throws UsageError naming the value unless kSmallestMu <= mu <= kLargestMu, and naming the block whose sigma passes
/// kLargestPlannedSigma.
NoisePlan make_noise_plan(double mu, Adjacency adjacency, std::vector<ReleaseRequest> releases);

/// The plan with these selections beside whatever it has.
///
/// Preconditions (asserted): every name is not empty and no other release's or selection's; the mechanism is the
/// exponential one. Throws UsageError naming the selection unless fault_of(terms) is empty.
NoisePlan with_selections(NoisePlan plan, std::vector<PlannedSelection> selections);

/// B sqrt(rounds max_p sum_b D_pb^2 / s_b^2), rounded up: what given sigmas cost, B = rows_per_unit.
///
/// Precondition (asserted): one sigma a block of every profile. Throws UsageError naming a sigma that is not > 0 and
/// finite.
double realized_mu(std::span<const double> sigmas, const std::vector<SensitivityProfile>& profiles,
                   std::uint64_t rounds = 1, std::uint64_t rows_per_unit = 1);

/// realized_mu of this many rounds of a release; for a sampled release, if a row is drawn into all of them.
double mu_of_rounds(const PlannedRelease& release, std::uint64_t rounds);

/// sigma / sqrt(2), rounded up: the noise of the entries beside the diagonal of an upper-triangular Gram matrix.
///
/// Only entries i <= j of G = x x^T are released. With variance s^2 on the diagonal and s^2 / 2 beside it, one record
/// costs sum_i G_ii^2 / s^2 + sum_{i<j} 2 G_ij^2 / s^2 = |x x^T|_F^2 / s^2: a block of squared sensitivity |x|^4 and
/// noise s. Precondition: sigma > 0 and finite. Throws UsageError naming the value.
double off_diagonal_sigma(double sigma);

}  // namespace dpreduce
