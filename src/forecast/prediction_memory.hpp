// What it takes to predict rows, and to test a model on them.
//
// Legend: d_in features of a raw row, d of a transformed one, K classes, k label slots a row (label_slots.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Bytes that each label of test rows takes on every rank, where rows may have several classes (metrics.hpp).
inline constexpr std::uint64_t kBytesOfTestLabel = 24;

/// A linear model, as it is when rows are tested.
struct TestedModel {
  std::size_t input_dim = 0;
  std::size_t dim = 0;
  std::size_t classes = 0;
  std::size_t labels_per_row = 1;  ///< k
  std::size_t heads = 1;           ///< 2: with prototypes beside the weights
  unsigned threads = 1;
};

/// Bytes that a rank needs to test it: the model, a chunk, counts of classes and the report of them; beside
/// kBytesOfTestLabel of each label.
std::uint64_t memory_of_test(const TestedModel& model);
/// The same of the model of that plan.
std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
