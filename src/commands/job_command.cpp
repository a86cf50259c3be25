#include "commands/job_command.hpp"

#include "commands/command_archive.hpp"
#include "commands/command_line/command_line.hpp"

namespace dpreduce {

Command command_of_job(const std::vector<std::string>& arguments, Communicator& ranks) {
  Command command;
  std::string archive;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    command = parse_command_line(arguments);
    if (ranks.size() > 1) archive = archived_command(command);
  });
  if (ranks.size() == 1) return command;
  archive = ranks.broadcast_message(std::move(archive));
  ranks.together([&] {
    if (!ranks.is_coordinator()) command = unarchived_command(archive);
  });
  return command;
}

}  // namespace dpreduce
