// How well each public row stands for each class of a worker's rows: what prototypes are chosen by.
//
//     u_cz = sum_{i : y_i = c} u(q_i, z)        u as cosine_clip.hpp has it, z the public rows on the lattice
//
// A row adds to its own class only, and there between 0 and upper - lower to every candidate. Where nothing is clipped
//
//     u_cz = n_c S^2 + <b_c, z>,  b_c = sum_{i : y_i = c} q_i
//
// and n_c S^2, which all candidates of the class share, is left out: one product with the class sums, whatever n. Class
// sums pass 16 bits; they are written in balanced digits of base 65535, b_c = sum_l 65535^l b_cl with |b_cl| <= 32767,
// so that the integer kernel takes them. Otherwise all n x m pairs are needed.
//
// Every rank does so for all public rows, in blocks, and its own rows: utilities are then one sum over ranks, and no
// exact class sum leaves the rank that holds it.
#pragma once

#include "dpreduce/lattice/cosine_clip.hpp"
#include "dpreduce/worker/statistic_inputs.hpp"

namespace dpreduce {

/// The block "utilities" of `selection` (empty_utilities: row c holds class c), of inputs.rows and the public rows of
/// `candidates`.
///
/// Cost, L the digits of class sums (2 for up to 65535 rows a class): n d additions and L K m d multiply-adds where
/// nothing is clipped, else n m d multiply-adds. Passes over public rows: one, or, clipped, as often as half of
/// inputs.plan's memory_bytes is filled by the worker's rows (2 d + 4 bytes each). Memory beside the 8 K m bytes of the
/// statistic: 8 K d, and 8 L K or 8 kRowsOfPairs bytes a public row of a chunk. Preconditions (asserted): one class a
/// row; transforms are the same; the selection is of so many classes and public rows. Errors: as
/// for_each_lattice_chunk.
Statistic prototype_utilities(const PlannedSelection& selection, const CosineClip& clip, const StatisticInputs& inputs,
                              const StatisticInputs& candidates);

/// Private rows whose products with a chunk of public rows are in memory at once.
inline constexpr std::size_t kRowsOfPairs = 1024;

}  // namespace dpreduce
