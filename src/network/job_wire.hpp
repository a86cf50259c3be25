// The wires of parties that one launcher has started, each as a process of its own: network_wire.hpp, between processes
// that find each other through their parents (common/ranks/party_process.hpp).
//
//     first exchange    the key of each party's line, made for this job alone; the roster of its lines
//     second exchange   where the coordinator listens: a port of the system's choice, and the addresses of its machine
//
// A job that is on one machine stays there: the coordinator listens at 127.0.0.1 alone.
#pragma once

#include <functional>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// Runs `party` on a wire of the job, and returns what it returns, once the others have what it has sent. Parties that
/// have ended by then are lost. Throws PeerFailed where the coordinator has ended; AggregationAborted naming what was
/// tried where it cannot be reached.
int run_on_job_wire(const JobPlace& place, const std::function<int(Wire& wire)>& party);

}  // namespace dpreduce
