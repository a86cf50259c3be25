#include "commands/job.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "commands/command_line/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/silo_party.hpp"
#include "common/base/error.hpp"
#include "common/base/rank_pattern.hpp"
#include "common/silos/party_log.hpp"

namespace dpreduce {
namespace {

// A failure that the ranks have not agreed on would leave the others waiting: the job is ended.
int end_with(Communicator& ranks, const char* message, ExitCode code) {
  report_error(message, code);
  if (ranks.size() > 1 && !ranks.failure_agreed()) ranks.abort(code);
  return static_cast<int>(code);
}

}  // namespace

int report_error(const char* message, ExitCode code) {
  std::fprintf(stderr, "dpreduce: %s\n", message);
  return static_cast<int>(code);
}

int run_job(const std::vector<std::string>& arguments, Communicator& ranks) {
  try {
    command_of_job(dpreduce_command(), arguments, ranks)(ranks);
    return static_cast<int>(ExitCode::kDone);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    return end_with(ranks, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return end_with(ranks, "out of memory; use more ranks, or a smaller --memory", ExitCode::kInternal);
  } catch (const std::exception& error) {
    return end_with(ranks, error.what(), ExitCode::kInternal);
  }
}

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

}  // namespace dpreduce
