// A long-tailed subset of labeled rows, for experiments on imbalance.
//
// Legend: K classes, R the imbalance ratio, p_c the share of class c that is kept.
//
//     p_c = R^(-c / (K - 1))        row (x, c) is kept  <=>  h(seed, x, c) < p_c 2^64
//
// Classes of one size n become n R^(-c / (K - 1)) in expectation, the exponential long tail of [cao2019] and of
// [wahdany2025], B.2; there sizes are met exactly, which would
// make every row's fate hang on the others. Here h is a hash of the row's own bytes: a row is kept or not whatever
// else is in the files, wherever it lies and whoever reads it. Files that differ in one row have parts that differ in
// at most that row, so that a guarantee for the part is one for the files. Equal rows of a class share one fate.
//
// R, the seed and the order of classes are given by the experimenter, never taken from the rows. h is no secret and no
// source of privacy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/data/worker_rows.hpp"

namespace dpreduce {

struct LongTail {
  double ratio = 1.0;      ///< R
  std::uint64_t seed = 1;  ///< another seed, another part

  bool operator==(const LongTail&) const = default;
};

/// p_0, ..., p_(K-1), the same bits everywhere. Preconditions (asserted): K >= 2; ratio finite and at least 1.
std::vector<double> long_tail_shares(std::size_t classes, double ratio);

/// Keeps those of this worker's rows that the rule above keeps. Cost: a pass over the rows, 4 d bytes hashed each, and
/// 8 bytes of memory for each that is kept. Preconditions (asserted): as long_tail_shares; rows have one class each.
/// Throws BadInput where rows cannot be read or a label is no class.
void keep_long_tail(WorkerRows& rows, std::size_t classes, const LongTail& tail);

}  // namespace dpreduce
