// Memory and network traffic that a fit, and predictions after it, use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"

namespace dpreduce {

// Cost of predicting rows, and of testing a model on them.
//
// Legend: d_in features of a raw row, d of a transformed row, K classes, k label slots a row (label_slots.hpp).

/// Bytes that each label of test rows uses on every rank, if rows may have several classes (metrics.hpp).
inline constexpr std::uint64_t kBytesOfTestLabel = 24;

/// Sizes of a linear model that is tested on rows.
struct TestedModel {
  std::size_t input_dim = 0;
  std::size_t dim = 0;
  std::size_t classes = 0;
  std::size_t labels_per_row = 1;  ///< k
  std::size_t heads = 1;           ///< 2: with prototypes beside the weights
  unsigned threads = 1;
};

/// Bytes that a rank needs to test the model: the model, a chunk, counts of classes and their report. kBytesOfTestLabel
/// of each label comes on top.
std::uint64_t memory_of_test(const TestedModel& model);
/// Bytes to test the model of that plan.
std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan);

// Memory and network traffic of a fit, before any row is read: arithmetic on its plan and on the number of rows. This
// number is private, and so is what follows from it: for the data's owner alone.

/// Words of 8 bytes that one of `ranks` ranks sends into sums, once each, and receives from every broadcast, in a whole
/// run.
double words_of_rank(const FitOptions& options, const FitPlan& plan, int ranks);

/// Bytes that one of `ranks` ranks needs at most: its chunk or kept rows, residuals, statistic, released copies, and
/// the memory of the program itself; or, once those are freed, the memory of test rows (memory_of_test). Unlike
/// FitPlan::memory_bytes this depends on the number of rows. Throws as rows_of_chunk.
std::uint64_t memory_of_rank(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here, int ranks = 1);

}  // namespace dpreduce
