// How long each rank took, phase by phase: who waits for whom.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/ranks/communicator.hpp"
#include "run/timings.hpp"

namespace dpreduce {

/// (phase, seconds), in the order in which phases began.
using RankTimings = std::vector<std::pair<std::string, double>>;

/// The timings of every rank, in rank order, at the coordinator; empty elsewhere. They follow the numbers of rows that
/// ranks hold: for the owner of the data, as all timings are. Not among silos. Collective.
std::vector<RankTimings> gather_timings(const Timings& timings, Communicator& ranks);

}  // namespace dpreduce
