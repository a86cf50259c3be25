// dpreduce: one program, alone or under mpirun. Join the ranks, parse, run the command, end together.
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregator/solvers/blas.hpp"
#include "commands/command_line/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "commands/silo_party.hpp"
#include "common/base/error.hpp"
#include "common/base/rank_pattern.hpp"
#include "common/base/standard_output.hpp"
#include "common/data/atomic_file.hpp"
#include "common/ranks/communicator.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/relay.hpp"

namespace {

using namespace dpreduce;

int join_and_run(const std::vector<std::string>& arguments, const std::string& doubt) {
  try {
    Communicator ranks = Communicator::join(doubt);
    return run_job(arguments, ranks);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  }
}

// Runs one party of a run among silos. Parties do not share their failures; a silo knows only what the coordinator
// sends it.
int run_party(const std::vector<std::string>& arguments, Wire& wire, int rank, int size) {
  PartyLog log;
  bool has_entered = false;
  const auto end = [&](ExitCode code, const std::string& how) {
    log.line(fmt::format("end: exit code {}{}{}", static_cast<int>(code), how.empty() ? "" : ": ", how));
    return static_cast<int>(code);
  };
  const auto end_with_error = [&](ExitCode code, const char* message) {
    report_error(message, code);
    return end(code, message);
  };
  try {
    const FitCommand fit{options_of_party(dpreduce_command(), arguments, rank)};
    log = PartyLog(with_rank(fit.options.silos.log, static_cast<std::size_t>(rank)));
    SiloParty party(wire, rank, size, fit.options, log);
    has_entered = true;
    fit(party.ranks());
    return end(ExitCode::kDone, "done");
  } catch (const PeerFailed& failure) {
    return end(failure.code(), failure.rank == 0 ? std::string("the coordinator is gone, or has given the run up")
                                                 : fmt::format("silo {} has ended the run", failure.rank));
  } catch (const Error& error) {
    // A mistake in the options that all parties were given stops each of them. The coordinator has reported it by now;
    // a silo writes it into its own log and prints nothing.
    const bool is_reported =
        !has_entered && rank != 0 && error.code() == ExitCode::kUsage && has_coordinator_ended(wire);
    return is_reported ? end(error.code(), error.what()) : end_with_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return end_with_error(ExitCode::kInternal, "out of memory; use a smaller --memory");
  } catch (const std::exception& error) {
    return end_with_error(ExitCode::kInternal, error.what());
  }
}

int main_of(const std::vector<std::string>& arguments) {
  const AskedJob asked = asked_job(dpreduce_command(), arguments);
  if (launched_by_mpi() && asked.is_of_silos) {
    return run_with_relay([&](Wire& wire, int rank, int size) { return run_party(arguments, wire, rank, size); },
                          AtomicFile::remove_unfinished);
  }
  return run_guarded([&] { return join_and_run(arguments, asked.doubt); }, AtomicFile::remove_unfinished);
}

}  // namespace

int main(int argc, char** argv) {
  keep_errors_of_standard_output();
  choose_blas_kernels(argv);
  return closed_standard_output(main_of({argv + 1, argv + argc}));
}
