// Wires between parties that one launcher has started, each as a process of its own: network_wire.hpp, between
// processes that find each other through their parents (common/ranks/party_process.hpp).
//
//     first exchange    the key of each party's line, made for this job alone; the roster of its lines
//     second exchange   address of the coordinator: a port, and the addresses of its machine
//
// The coordinator listens at the first free port of the range that DPREDUCE_PORTS names in its environment, else at one
// that the system chooses; in a job on one machine, at 127.0.0.1 alone.
#pragma once

#include <functional>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// Runs `party` on a wire of the job, and returns its result, once the others have received its messages. Parties that
/// have ended are lost. Throws PeerFailed if the coordinator has ended; AggregationAborted naming
/// what was tried if the coordinator cannot be reached; UsageError if DPREDUCE_PORTS is no range; BadInput if none of
/// its ports is free.
int run_on_job_wire(const JobPlace& place, const std::function<int(Wire& wire)>& party);

}  // namespace dpreduce
