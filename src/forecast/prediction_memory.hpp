// What it takes to predict rows, and to test a model on them.
//
// Legend: d_in features of a raw row, d of a transformed one, K classes, k label slots a row (label_slots.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Row buffers of one rank while it predicts.
inline constexpr std::size_t kPredictionMemory = std::size_t{64} << 20;

/// Rows of a chunk: at most 4096, and as many as fit into kPredictionMemory with their features (as read, decoded and
/// mended), label slots and K scores; at least 1.
std::size_t rows_predicted_at_once(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row);

/// Bytes that a rank needs to test the model of that plan: the model, a chunk, counts of classes and the report of
/// them. Rows of several classes take 24 bytes more for each label (evaluation.hpp), which no plan knows.
std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
