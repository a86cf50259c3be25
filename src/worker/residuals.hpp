// Residual of one row: difference between its scores and its label, clipped, on the lattice.
//
//     z_c = factor_c <q, w_c>      p = softmax(z), 1 / (1 + exp(-z)) or z      r = p - sum_{c in Y} onehot(c)
//     with a prior u (K probabilities), of the loss -log((p_y + u_y) / 2):  r = (p - onehot(y)) p_y / (p_y + u_y)
//     r <- r / max(Z, |r|_2)       rho = round(r (S - ceil(sqrt(K)/2))),  sum_c rho_c^2 <= S^2 checked in integers
//
// Z is public (residual_norm_of). rho is in units of Z, and S^2 is checked in these units: |r| <= Z, and a gradient
// moves by Z S^2 in units of features.
//
// Every step is one fixed sequence of IEEE double operations, with an exponential of our own. So a row's residual has
// the same bits whatever rows are processed with it, in a vector's body and in its tail.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "common/ledger/loss.hpp"

namespace dpreduce {

/// exp(x) for x <= 0, within 4e-16 relative; 0 below -700. No branch, no table, no library call.
double exp_of_nonpositive(double x);

/// Writes p (K entries) of a row with exact products <q, w_c>. Preconditions: all spans have K >= 2 entries.
void class_probabilities(std::span<const std::int64_t> products, std::span<const double> factors, Loss loss,
                         std::span<double> p);

/// Writes u = softmax(h) (K entries), h_c = <q, w_c> / (|q| |w_c|), or 0 if one of the lengths is 0. Preconditions: all
/// spans have K >= 2 entries.
void prior_probabilities(std::span<const std::int64_t> products, double row_length,
                         std::span<const double> direction_lengths, std::span<double> u);

/// Share of the trained head in the row's probability: p_y / (p_y + u_y). Preconditions: equal sizes; (asserted) one
/// class.
double share_of_head(std::span<const double> p, std::span<const double> prior, std::span<const std::int32_t> classes);

/// Writes rho (K entries) of r, which is clipped in its place. Returns |r|_2 from before. Preconditions: equal sizes;
/// residual_norm > 0.
double clipped_to_lattice(std::span<double> r, double residual_norm, std::span<std::int16_t> rho);

/// Writes rho (K entries) of a row with exact products <q, w_c> and the classes Y; returns |r|_2 before division.
/// Softmax chooses one class: for a row without a class the loss -log p_y is 0, and so is the residual. With other
/// losses a row without a class is a negative example of every class. `scratch` has K entries; `prior` is empty or,
/// with Loss::kSoftmax, has K entries. Preconditions: residual_norm > 0; all other spans have K >= 2 entries; classes
/// are distinct and < K; (asserted) at most one class with Loss::kSoftmax. Source of the loss with a prior: [zhu2024],
/// Definition 2.4.
double lattice_residual(std::span<const std::int64_t> products, std::span<const double> factors,
                        std::span<const std::int32_t> classes, Loss loss, std::span<double> scratch,
                        std::span<std::int16_t> rho, std::span<const double> prior = {}, double residual_norm = 1.0);

// Residuals of rows side by side: lattice_residual for eight rows at once, one row per lane.
//
// With few classes one row does not fill a vector. Each lane performs the sequence of operations of its row alone, so
// that a residual has the same bits either way.

inline constexpr std::size_t kMostClassesAcross = 64;

/// Terms that the residuals of several rows share.
struct ResidualTerms {
  std::span<const double> factors;  ///< K
  Loss loss = Loss::kSoftmax;
  double residual_norm = 1.0;  ///< Z
};

/// Writes rho (n x K) and |r|_2 before division (n) of rows with exact products (n x K), without a prior.
/// classes_of(row) returns the classes of each row < n. Preconditions: as lattice_residual; 2 <= K <=
/// kMostClassesAcross.
void lattice_residuals(std::span<const std::int64_t> products,
                       const std::function<std::span<const std::int32_t>(std::size_t)>& classes_of,
                       const ResidualTerms& terms, std::span<std::int16_t> rho, std::span<double> norms);

}  // namespace dpreduce
