#include "commands/commands.hpp"

namespace dpreduce {

CommandEntry privacy_command() {
  return {.name = "privacy", .help = "accounting; no data involved", .needs_command = true};
}

}  // namespace dpreduce
