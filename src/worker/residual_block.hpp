// Residuals of rows side by side: lattice_residual (residuals.hpp) for eight rows at once, a lane each.
//
// With few classes a row has not enough of them to fill a vector. Each lane goes through the sequence of operations of
// its row alone, so that a residual has the same bits either way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "common/plan/loss.hpp"

namespace dpreduce {

inline constexpr std::size_t kMostClassesAcross = 64;

/// What residuals of several rows have in common.
struct ResidualTerms {
  std::span<const double> factors;  ///< K
  Loss loss = Loss::kSoftmax;
  double residual_norm = 1.0;  ///< Z
};

/// Writes rho (n x K) and |r|_2 before it was divided (n) of rows with exact products (n x K); classes_of(row) tells
/// the classes of each, row < n. Without a prior. Preconditions: as lattice_residual; 2 <= K <= kMostClassesAcross.
void lattice_residuals(std::span<const std::int64_t> products,
                       const std::function<std::span<const std::int32_t>(std::size_t)>& classes_of,
                       const ResidualTerms& terms, std::span<std::int16_t> rho, std::span<double> norms);

}  // namespace dpreduce
