// What it takes to predict rows, and to test a model on them.
//
// Legend: d_in features of a raw row, d of a transformed one, K classes, k label slots a row (label_slots.hpp).
#pragma once

#include <cstdint>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Bytes that a rank needs to test the model of that plan: the model, a chunk, counts of classes and the report of
/// them. Rows of several classes take 24 bytes more for each label (evaluation.hpp), which no plan knows.
std::uint64_t memory_of_test(const FitOptions& options, const FitPlan& plan);

}  // namespace dpreduce
