// dpreduce: one program, alone or under mpirun. Join the ranks, parse, run the command, end together.
#include <exception>
#include <string>
#include <vector>

#include "aggregator/solvers/blas.hpp"
#include "commands/command_line/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "common/base/error.hpp"
#include "common/base/standard_output.hpp"
#include "common/files/atomic_file.hpp"
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
  return closed_standard_output(main_of(with_help_as_option({argv + 1, argv + argc})));
}
