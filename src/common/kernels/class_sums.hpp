// Sums of lattice rows by class: one addition a value, so bound by memory bandwidth and not by arithmetic.
#pragma once

#include <cstdint>
#include <span>

#include "dpreduce/kernels/matrix_view.hpp"

namespace dpreduce {

/// sums(j, a) += sum over rows i with labels[i] = j of rows(i, a), in Z mod 2^64.
/// Shapes: rows n x d; labels n, class indices, negative where the row counts nowhere; sums K x d. The same bits for
/// any order of the rows, any split of them, any number of threads. Memory: 8 bytes a row of a chunk of 65536.
/// Preconditions: labels.size() = rows.rows; sums.cols = rows.cols; every label < K; strides >= columns; threads >= 1.
/// Throws UsageError for each, before anything is written.
void accumulate_class_sums(const Int16View& rows, std::span<const std::int32_t> labels, const Int64View& sums,
                           unsigned threads = 1);

}  // namespace dpreduce
