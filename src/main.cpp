// dpreduce: one program, alone or under mpirun. Parse, join the ranks, run the command, end together.
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/commands/silo_party.hpp"
#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/data/atomic_file.hpp"
#include "dpreduce/transport/communicator.hpp"
#include "dpreduce/transport/lifetime.hpp"
#include "dpreduce/transport/postman.hpp"

namespace {

using namespace dpreduce;

int report_error(const char* message, ExitCode code) {
  std::fprintf(stderr, "dpreduce: %s\n", message);
  return static_cast<int>(code);
}

// A failure that the ranks have not agreed on would leave the others waiting: the job is ended.
int end_with(Communicator& ranks, const char* message, ExitCode code) {
  report_error(message, code);
  if (ranks.size() > 1 && !ranks.failure_agreed()) ranks.abort(code);
  return static_cast<int>(code);
}

// Every rank parses the same words; what is wrong with them is agreed upon like any other failure, and told once.
int parse_and_run(const std::vector<std::string>& words) {
  Communicator ranks = Communicator::join();
  try {
    Command command;
    ranks.together([&] { command = parse_command_line(words); });
    std::visit([&](const auto& options) { run_command(options, ranks); }, command);
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

// A party of a run among silos: they do not share their failures, but for what the coordinator tells them.
int run_party(const FitOptions& options, Wire& wire, int rank, int size) {
  try {
    SiloParty party(wire, rank, size, options);
    run_command(options, party.ranks());
    return static_cast<int>(ExitCode::kDone);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const UsageError& error) {  // of words that all have: told once
    return rank == 0 ? report_error(error.what(), error.code()) : static_cast<int>(error.code());
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return report_error("out of memory; use a smaller --memory", ExitCode::kInternal);
  } catch (const std::exception& error) {
    return report_error(error.what(), ExitCode::kInternal);
  }
}

int main_of(const std::vector<std::string>& words) {
  if (launched_by_mpi()) {
    if (const std::optional<FitOptions> fit = asked_for_silos(words)) {
      return run_with_postman([&](Wire& wire, int rank, int size) { return run_party(*fit, wire, rank, size); },
                              AtomicFile::remove_unfinished);
    }
  }
  return run_guarded([&] { return parse_and_run(words); }, AtomicFile::remove_unfinished);
}

}  // namespace

int main(int argc, char** argv) {
  return main_of({argv + 1, argv + argc});
}
