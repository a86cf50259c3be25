// Sums of lattice rows by class: one addition a value, so bound by memory bandwidth and not by arithmetic.
#pragma once

#include <cstdint>
#include <span>

#include "common/kernels/matrix_view.hpp"

namespace dpreduce {

/// sums(j, a) += sum over rows i of class j of rows(i, a), in Z mod 2^64.
/// Shapes: rows n x d; labels n x k slots, each row's class indices in ascending order, then negative numbers; sums
/// K x d. The same bits for any order of the rows, any split of them, any number of threads. Memory: 4 k + 4 bytes a
/// row of a chunk of 65535. Cost: d additions a row and class of it. Preconditions (asserted, before anything is
/// written): labels.size() = k rows.rows, k >= 1; a row's classes ascend, so that none is there twice; sums.cols =
/// rows.cols; every label < K; strides >= columns; threads >= 1.
void accumulate_class_sums(const Int16View& rows, std::span<const std::int32_t> labels, const Int64View& sums,
                           unsigned threads = 1);

}  // namespace dpreduce
