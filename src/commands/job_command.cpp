#include "commands/job_command.hpp"

#include <fmt/format.h>

#include "commands/command_archive.hpp"
#include "commands/command_line/command_line.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// No argument of a program holds a zero.
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

std::vector<std::string> separated(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size(); begin += words.back().size() + 1) {
    words.push_back(text.substr(begin, text.find('\0', begin) - begin));
  }
  return words;
}

}  // namespace

Command command_of_job(const std::vector<std::string>& arguments, Communicator& ranks) {
  Command command;
  std::string archive;
  std::string words;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    command = parse_command_line(arguments);
    if (ranks.size() == 1) return;
    archive = archived_command(command);
    words = joined(said_words(arguments));
  });
  if (ranks.size() == 1) return command;
  archive = ranks.broadcast_message(std::move(archive));
  words = ranks.broadcast_message(std::move(words));
  ranks.together([&] {
    if (ranks.is_coordinator()) return;
    command = unarchived_command(archive);
    const std::string unheard = unheard_words(arguments, separated(words));
    if (!unheard.empty()) throw UsageError(fmt::format("rank {} {}", ranks.rank(), unheard));
  });
  return command;
}

}  // namespace dpreduce
