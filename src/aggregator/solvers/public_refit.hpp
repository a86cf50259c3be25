// Improvement by public rows: of a trained classifier, and of a released Gram matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aggregator/solvers/linear_scores.hpp"
#include "common/data/sharded_array.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

// Public rows improve a trained classifier by one step of expectation and maximization on rows without labels.
//
//     p_zc ~ pi_c exp(s_c(z)),  pi_c = (sum_z p_zc + 1) / (m + K)          20 times, from pi_c = 1 / K
//     N_c = sum_z p_zc,  mu_c = sum_z p_zc z / N_c,  D = (sum_z z z^T - sum_c N_c mu_c mu_c^T) / m
//     t_c(x) = mu_c^T E x - mu_c^T E mu_c / 2,  E = (D + tr(D) / m I)^-1         s_c <- s_c + t_c
//
// Legend: z the m public rows as rows are prepared, d features; s_c scores without the classes' shares
// (class_balance.hpp), pi the public rows' own mix of classes, which nobody needs to know; t linear discriminant
// analysis of rows that are of each class as far as s says so. A direction that noise put into s_c and that public rows
// do not have is averaged away; D is exact. tr(D) / m is the size of what m rows leave unknown of D in a direction. The
// sum is a product of both posteriors: where s is good its own differences are large, where it is mostly noise those of
// t are.
//
// Post-processing of released scores and of public rows. Sources: [dempster1977] (EM);
// [saerens2002] (the mix of unlabeled rows; with one row more a class, so that none ends at 0).

/// Posteriors that are kept at once: 1 GiB.
inline constexpr std::uint64_t kMostPosteriors = std::uint64_t{1} << 27;

/// `scores` and t of `rows`, prepared by `preprocessing` (its intercept aside, as scores are). Rows with a NaN or an
/// infinity are left out; without a row that is whole, `scores`. On one thread, rows in their order: the same bits
/// whatever the ranks. Of more than most_posteriors / K public rows one block of 512 in two, three, ... is looked at.
/// Shapes: scores K x preprocessing.dim(). Cost: m (d^2 / 2 + 2 d k + 20 K) multiply-adds, k the features before a
/// projection, and d^3 / 3; memory public_refit_bytes. Throws as ShardedArray::read_features.
LinearScores with_public_refit(LinearScores scores, Preprocessing preprocessing, ShardedArray& rows,
                               std::uint64_t most_posteriors = kMostPosteriors);

/// Bytes that posteriors of public rows and their sums, moments and blocks of rows use.
std::size_t public_refit_bytes(std::size_t classes, std::size_t dim, std::uint64_t public_rows);

// A released Gram matrix, cleaned about that of public rows.
//
// Legend: G + N the released d x d matrix, noise s, t its trace (or the noise of that, where it is more); P that of m
// public rows that are prepared alike, divided by its trace, q = |P|_F^2.
//
//     T = t ((1 - a) P + a / d I),   a = min(1, (1 - q) / m / (q - 1 / d))
//     G^ = T + clean(G + N - T)
//
// a is what m rows leave unknown of P, taken out toward the identity. T is a guess that owes nothing to noise. clean
// keeps the eigenvectors of the difference and takes of each eigenvalue what Stein's estimate says is noise
// (gram_spectrum.hpp). So if public rows are like the private ones, almost nothing of N is left. If they are not, the
// release corrects them where it exceeds its noise. Sources: [stein1975]; [ledoit2004] for a.

/// G^ as an upper triangle in lattice units. Its noise is taken to be a fifth of s: what is left of N, and how far
/// public rows may be trusted. Preconditions (asserted): upper triangles of rows on `lattice`. Cost: 15 d^3 flops, on
/// one thread; without noise none, and `gram` comes back. Throws as GramSpectrum.
ReleasedBlock gram_about_public(const ReleasedBlock& gram, const ReleasedBlock& of_public, const Lattice& lattice);

}  // namespace dpreduce
