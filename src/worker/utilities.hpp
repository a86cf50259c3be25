// Utilities of public rows for the classes of a worker's rows. Prototypes are chosen by these utilities.
//
//     u_cz = sum_{i : y_i = c} u(q_i, z)        u as in lattice_rows.hpp, z the public rows on the lattice
//
// A row adds to its own class only: between 0 and upper - lower to every candidate. Without clipping,
//
//     u_cz = n_c S^2 + <b_c, z>,  b_c = sum_{i : y_i = c} q_i
//
// and n_c S^2, which all candidates of the class share, is left out: one product with the class sums, whatever n. Class
// sums do not fit into 16 bits. They are written in balanced digits of base 65535, b_c = sum_l 65535^l b_cl with |b_cl|
// <= 32767, which the integer kernel accepts. With clipping all n x m pairs are needed.
//
// A row with a weight w (weighted_rows.hpp) adds floor(w u / J), or <[w q / J], z> without clipping. With the omitted w
// S^2 / J the latter is between 0 and 2 w S^2 / J. So the rows of a unit together add between 0 and B times the range
// of a row.
//
// Utilities over many workers are computed in one of two ways. First: each worker goes through all public rows with its
// own rows, and utilities are summed. This is the only way if pairs are clipped, since rows do not leave their worker,
// and the way used if nobody may see exact sums of others (silos). Second: class sums are summed first, and each worker
// takes its part of the public rows. Utilities are then complete, and nothing that grows with n is left to sum.
#pragma once

#include <span>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/ledger/statistic.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Selection "prototypes": `chosen` of `candidates` public rows for every class, by u_cz.
///
/// Sensitivity: a row adds to the utilities of its own class alone, between 0 and upper - lower to each candidate. The
/// amounts that a row adds to two candidates differ by at most clip.range(). (Without the n_c S^2 omitted above, a row
/// adds <q, z> in [-S^2, S^2], an equally wide range.) With `chosen` > 1 the utility of a set is that of its worst
/// member, and changes no more. Source: [wahdany2025], DPPL-Public and C.3, without its factor 2 and with another
/// number of sets: docs/explanation/selections.md, "The number of sets". `epsilon` 0 stands for a run without noise.
/// Preconditions: none beyond fault_of.
PlannedSelection prototype_selection(std::size_t classes, std::uint64_t candidates, std::uint64_t chosen,
                                     const CosineClip& clip, double epsilon);

/// Block "utilities" of `selection` (empty_utilities: row c holds class c), of inputs.rows and the public rows of
/// `candidates`.
///
/// Cost, with L the digits of class sums (2 for up to 65535 rows a class): n d additions and L K m d multiply-adds
/// without clipping, else n m d multiply-adds. Passes over public rows: one; if clipped, one for each time that the
/// worker's rows (2 d + 4 bytes each) fill half of inputs.plan's memory_bytes. Memory beside the 8 K m bytes of the
/// statistic: 8 K d, and 8 L K or 8 kRowsOfPairs bytes a public row of a chunk. Preconditions (asserted): one class a
/// row; transforms are the same; the selection is of so many classes and public rows. Throws as for_each_lattice_chunk.
Statistic prototype_utilities(const PlannedSelection& selection, const CosineClip& clip, const StatisticInputs& inputs,
                              const StatisticInputs& candidates);

/// Class sums b_c over a worker's rows (K x d). Cost: n d additions. Throws as for_each_lattice_chunk.
SecretVector<std::int64_t> exact_class_sums(const StatisticInputs& inputs);

/// Utilities of the public rows of `candidates`, classes x their number, from class sums b over all rows (K x d),
/// without clipping; `sums` is consumed. The number of classes is that of candidates.plan. Cost and memory: as above,
/// with one pass over the public rows. Throws BadInput if ||b_c|| S may exceed 2^63, which needs 2^33 rows of a class;
/// else as for_each_lattice_chunk.
SecretVector<std::int64_t> utilities_by_class_sums(SecretVector<std::int64_t> sums, const StatisticInputs& candidates);

/// Number of private rows whose products with a chunk of public rows are in memory at once.
inline constexpr std::size_t kRowsOfPairs = 1024;

// Number of rows that each of several candidate classifiers classifies correctly. One candidate is chosen by this
// number.
//
//     u_m = #{i : argmax_c s_mc(q_i) is among the classes of row i}       of equal scores the smaller c wins
//     s_mc(q) = factor_mc <q, w_mc>, with a second head u (residuals.hpp) softmax_c(factor_m <q, w_m>) + u_c(q)
//
// A row of one class or of several adds 0 or 1 to each u_m; a row without a class adds 0. As utilities of a private
// selection the u_m have sensitivity 1, and are monotone. A row with a weight adds the same in units of its weight. So
// a unit adds 0 to B to each sum, and the same to each sum rounded down to a whole number.

/// Block "utilities", one entry a candidate (empty_utilities, one group). Scores are exact integer products, so that a
/// row's verdict does not depend on other rows; a second head, `prior`, adds to them in one sequence of IEEE operations
/// a row. Cost: n K d multiply-adds a candidate, in one pass, and as many for `prior`; memory: 8 K bytes for some rows
/// of a chunk on each thread, with `prior` 16 K a row of a chunk. Preconditions (asserted): candidates are K x d, d
/// that of inputs.transform. Throws as for_each_lattice_chunk.
Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs,
                         const Prior& prior = {});

}  // namespace dpreduce
