// dpreduce: one program, alone or under mpirun.
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/job.hpp"
#include "common/base/standard_output.hpp"

int main(int argc, char** argv) {
  dpreduce::keep_errors_of_standard_output();
  return dpreduce::closed_standard_output(
      dpreduce::run_program(dpreduce::dpreduce_command, dpreduce::with_help_as_option({argv + 1, argv + argc})));
}
