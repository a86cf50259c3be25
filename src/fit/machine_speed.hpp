// A short calibration of this job on this machine, on rows of no data set.
#pragma once

#include "common/ranks/communicator.hpp"
#include "fit/run_cost.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// The speed of the slowest rank while all ranks work at once, by a small product, round, preparation of rows, memory
/// copy, noise and sum over ranks in the plan's shapes, cut to a fraction of a second in all; eigenproblems of 192
/// features at the coordinator. The same on every rank. Collective. Memory: some 64 MiB.
MachineSpeed measure_speed(const FitOptions& options, const FitPlan& plan, unsigned threads, Communicator& ranks);

}  // namespace dpreduce
