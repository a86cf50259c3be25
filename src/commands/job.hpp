// One rank of a job, or one party among silos, from its arguments to its exit code.
#pragma once

#include <chrono>
#include <cmath>
#include <exception>

#include "commands/commands.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/handshake.hpp"
#include "common/silos/party_log.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

/// Ledger on which the party of that rank charges: the ledger that its own file names, or that which all were given,
/// with {rank} replaced. Where its name has no {rank}, it is the coordinator's, and silo 3 has "ledger-silo3.jsonl"
/// beside it.
std::string ledger_of_party(const FitOptions& options, std::size_t rank);

/// Entry of that party into a run, as its roster says. Throws UsageError where the roster and the threshold do not go
/// together; BadInput on roster and identity. Precondition: there is a roster.
SiloEntry entry_on_roster(const SiloOptions& options, int rank);

/// Terms of a run of so many parties, one of them the coordinator. Throws UsageError where silos, threshold and
/// colluding silos do not go together.
SiloTerms terms_of(const SiloOptions& options, int size);

/// Enters the run as rank `rank` of `size`, the coordinator being rank 0, and does `work` in it. Throws UsageError
/// where ranks, threshold and roster do not go together, BadInput on roster and identity, and what SiloJob throws. The
/// coordinator reports lost silos on standard error as they are lost.
void run_as_party(Wire& wire, int rank, int size, const FitOptions& options, PartyLog& log, const SessionMaker& maker,
                  const std::function<void(Communicator&)>& work);

inline std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(std::llround(1e3 * seconds));
}

/// How a piece of work has ended, as an exit code and in words.
struct WorkEnd {
  ExitCode code = ExitCode::kDone;
  std::string words = "done";
  std::exception_ptr failure = nullptr;  ///< none where it is done
  bool is_of_peer = false;               ///< another party's failure, which that one reports
};
WorkEnd end_of(const std::function<void()>& work, const char* cure_of_memory);

/// Runs `work`, and writes its result as the last line of the party's log. Throws what `work` throws.
void run_logged(PartyLog& log, const std::function<void()>& work);

/// Prints the message on standard error, as every message of the program begins. Returns the code as main does.
int report_error(const char* message, ExitCode code);

/// Runs the command that the arguments of rank 0 name, one of `root`, on all ranks of a job whose ranks trust each
/// other, and returns the exit code of this one. Collective. A failure is printed once, by the rank that failed.
int run_job(const CommandEntry& root, const std::vector<std::string>& arguments, Communicator& ranks);

/// Runs a program with these commands, and returns the exit code. Joins the job in which this process was started, as
/// one of its ranks or as the parent of a party, and runs the command that the arguments name. Each call of `commands`
/// creates its own tables; `maker` creates the sessions of silos and coordinators. Call it before MPI, threads or
/// files.
int run_program(CommandEntry (*commands)(), const std::vector<std::string>& arguments, const SessionMaker& maker = {});

/// Runs a party so that a launcher has started, on a wire of its job.
int run_party_of_job(const JobPlace& place, const std::vector<std::string>& arguments, const SessionMaker& maker = {});

}  // namespace dpreduce
