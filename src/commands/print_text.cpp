#include <cstdio>

#include "commands/commands.hpp"

namespace dpreduce {

void run_command(const PrintText& text, Communicator& ranks) {
  if (ranks.is_coordinator()) std::fputs(text.text.c_str(), stdout);
}

}  // namespace dpreduce
