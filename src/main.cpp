// dpreduce: one program, alone or under mpirun. Parse, join the ranks, run the command, end together.
#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/data/atomic_file.hpp"
#include "dpreduce/transport/communicator.hpp"
#include "dpreduce/transport/lifetime.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  return run_guarded([&] { return parse_and_run({argv + 1, argv + argc}); }, AtomicFile::remove_unfinished);
}
