// What a fit takes of memory and of the wire, before any row is read: arithmetic on its plan and on how many rows there
// are. Their number is private, and so is what follows from it: for the data's owner alone.
#pragma once

#include <cstdint>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// Words of 8 bytes that one of so many ranks sends into sums, once each, and gets of every broadcast, in a whole run.
double words_of_rank(const FitOptions& options, const FitPlan& plan, int ranks);

/// Bytes that one of so many ranks needs at most: its chunk or kept rows, residuals, statistic, released copies, and
/// what the program itself takes; or, once that is gone, what test rows take (memory_of_test). Unlike
/// FitPlan::memory_bytes it depends on the number of rows. Throws as rows_of_chunk.
std::uint64_t memory_of_rank(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here, int ranks = 1);

}  // namespace dpreduce
