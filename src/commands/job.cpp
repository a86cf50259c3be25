#include "commands/job.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "commands/commands.hpp"
#include "common/base/peer_failed.hpp"

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

}  // namespace dpreduce
