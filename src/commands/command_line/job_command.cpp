#include "commands/command_line/job_command.hpp"

#include <boost/serialization/map.hpp>
#include <fmt/format.h>

#include "commands/command_line/command_line.hpp"
#include "common/base/error.hpp"
#include "common/ranks/rank_archive.hpp"

namespace dpreduce {

template <typename Archive>
void serialize(Archive& archive, SaidWords& said, unsigned) {
  auto& [words, lists] = said;
  archive_all(archive, words, lists);
}

RunnableCommand command_of_job(const CommandEntry& root, const std::vector<std::string>& arguments,
                               Communicator& ranks) {
  RunnableCommand command;
  std::string message;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    SaidWords said;
    command = parse_command_line(root, arguments, std::nullopt, &said);
    if (ranks.size() > 1) message = archived(said);
  });
  if (ranks.size() == 1) return command;
  message = ranks.broadcast_message(std::move(message));
  ranks.together([&] {
    if (ranks.is_coordinator()) return;
    auto said = unarchived<SaidWords>(message);
    const std::string unheard = unheard_words(root, arguments, said.words);
    if (!unheard.empty()) throw UsageError(fmt::format("rank {} {}", ranks.rank(), unheard));
    command = command_of(root, std::move(said));
  });
  return command;
}

}  // namespace dpreduce
