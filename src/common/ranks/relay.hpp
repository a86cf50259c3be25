// The relay of a party: the process that speaks MPI in its place.
//
// Under --secure-aggregation every rank is two processes. The relay, which the launcher started, is the MPI process: it
// carries sealed messages between its child and the other relays, point to point, and reads none. Its child, the party,
// computes and holds the keys. A party that is killed or hangs therefore leaves an MPI job that is whole: the others
// are informed, the run goes on, and the job ends with the coordinator's exit code.
//
//     party  <- socket ->  relay  <- MPI point to point ->  relay  <- socket ->  party
//
// In simulations the relay holds back whatever its silo sends and receives for as long as the silo's line takes
// (line.hpp). The news that a process has ended takes the same time. Only the end of the coordinator does not: it
// empties all lines, since nothing is decided any more.
//
// Relays tell each other that they are there, every two seconds, whatever their parties compute. So a silo that is slow
// is not mistaken for one that is gone: it is lost where its process has ended, or where its relay is silent.
//
// A silo's relay listens to the coordinator's alone, and either counts the other as lost where it sends what no relay
// sends. What MPI's library keeps of messages to which nobody listens is not bounded here, nor is MPI_Abort kept from
// ending the job: whoever may start a process of it can end it.
//
// A relay that is itself lost ends the job, as MPI would have it, unless the launcher lets jobs go on without some of
// their processes (mpirun --enable-recovery); its silo is then lost, since its line is dead.
#pragma once

#include <functional>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// Runs `party(wire, rank, size)` in a child process, and is its relay. Returns the exit code of this process. At rank
/// 0 it is the party's, or 5 where the party was killed. Elsewhere it is 0, since a lost silo does not fail the job, or
/// 5 where the coordinator is lost. It is 2 on every rank, with one message, where some processes were not started as
/// parties of silos. Call it before MPI, threads or files. Precondition: launched_by_mpi(). `before_the_end` as in
/// run_guarded.
int run_with_relay(const std::function<int(Wire& wire, int rank, int size)>& party, void (*before_the_end)() noexcept);

}  // namespace dpreduce
