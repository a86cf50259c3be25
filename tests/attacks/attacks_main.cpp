// dpreduce_attacks: the program itself, one party of which deviates where --fault says so (lying_sessions.hpp).
//
//     mpirun -n 4 dpreduce_attacks fit --secure-aggregation --fault 3:kill@masked ...
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "common/base/error.hpp"
#include "common/base/standard_output.hpp"
#include "tests/attacks/lying_sessions.hpp"

int main(int argc, char** argv) {
  using namespace dpreduce;
  keep_errors_of_standard_output();
  std::vector<std::string> words = with_help_as_option({argv + 1, argv + argc});
  std::optional<Fault> fault;
  try {
    fault = take_fault(words);
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  }
  return closed_standard_output(run_program(dpreduce_command, words, LyingSessions(fault)));
}
