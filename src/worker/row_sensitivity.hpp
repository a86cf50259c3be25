// How far one row moves a sum of rows: what the declarations of statistics share.
//
// Legend: a lattice row q has ||q||_2 <= S (kLatticeNorm) and a set Y of at most k of the K classes (most_labels; 1
// where every row has one class); d features (an intercept is one of them).
//
// Rows of several classes. One row more or less moves the sums, counts and Gram matrices of the classes in Y, each by
// what a row of one class moves: k times the square. A row exchanged for another with m classes in common moves these m
// by |q - q'|^2 and t others, t <= 2 (k - m) and t <= K - m, by |q|^2 or |q'|^2. With t at its bound 2 (k - m) squares
// are linear in m, so that the worst is m = k, k times "the same class", or m = 0, k times "another class".
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/noise_plan.hpp"

namespace dpreduce {

/// S^2.
inline constexpr std::uint64_t kSquaredNorm = std::uint64_t{kLatticeNorm} * std::uint64_t{kLatticeNorm};
/// S^4. 16 of these fit into 64 bits.
inline constexpr std::uint64_t kFourthNorm = kSquaredNorm * kSquaredNorm;

/// sqrt(k): the sensitivity of what a row adds to each of its classes, over that of a row of one class.
inline double root_of(std::size_t most_labels) {
  return std::sqrt(static_cast<double>(most_labels));
}

/// A loss weight W_b that gives a block of a release the `share` of its mu^2: with one profile a block gets
/// D_b sqrt(W_b) / sum, D_b its `sensitivity`, where all blocks get their weights in this way.
inline double weight_of_share(double share, double sensitivity) {
  const double root = share / sensitivity;
  return root * root;
}

/// A row exchanged for another one.
struct LabelExchange {
  std::string change;    ///< as SensitivityProfile has it
  std::uint64_t common;  ///< m: classes that both rows have
  std::uint64_t others;  ///< t: classes that one of them has
};

/// The exchanges that no other exchange of rows of at most `most_labels` classes passes, at any price of a count: the
/// corners of the polygon of (m, t). m = k, t = 0; m = 0, t = min(2 k, K); and, where k < K < 2 k, the corner between
/// these, m = 2 k - K, t = 2 (K - k). Preconditions: classes >= 2; 1 <= most_labels <= classes.
std::vector<LabelExchange> label_exchanges(std::uint64_t classes, std::uint64_t most_labels);

/// The largest square of every block, as one change. Of units exchanged, where blocks hold a weighed row in different
/// powers (weighted_rows.hpp): these are rounded apart, so that no block's change says anything of another's.
SensitivityProfile largest_of_each_block(const std::vector<SensitivityProfile>& profiles);

}  // namespace dpreduce
