// How a silo's process talks MPI without speaking it: its relay does.
//
// Under --secure-aggregation every rank is two processes. The relay, which the launcher started, is the MPI process:
// it carries sealed messages between its child and the other relays, point to point, and reads none. Its child, the
// party, computes and holds the keys. A party that is killed or hangs therefore leaves an MPI job that is whole: the
// others are told, the run goes on, and the job ends with the coordinator's exit code.
//
//     party  <- socket ->  relay  <- MPI point to point ->  relay  <- socket ->  party
//
// In simulations what a silo sends and receives lies at its relay for as long as its line takes (line.hpp); ends of
// processes go the same way, but for the coordinator's, which empties the lines: nothing is decided any more.
//
// A relay that is itself lost ends the job, as MPI would have it, unless the launcher lets jobs go on without some of
// their processes (mpirun --enable-recovery); its silo is then lost by timeout.
#pragma once

#include <functional>

#include "common/ranks/socket_wire.hpp"

namespace dpreduce {

/// Runs `party(wire, rank, size)` in a child, and is its relay. Returns the exit code of this process: at rank 0 the
/// party's, 5 where it was killed; elsewhere 0, for a lost silo does not fail the job, or 5 without a coordinator; 2 on
/// every rank where some are not of silos, with one message.
/// Call it before MPI, threads or files. Precondition: launched_by_mpi(). `before_the_end` as in run_guarded.
int run_with_relay(const std::function<int(SocketWire& wire, int rank, int size)>& party,
                   void (*before_the_end)() noexcept);

}  // namespace dpreduce
