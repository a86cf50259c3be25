// What words on a command line come to, in process.
#pragma once

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "common/ranks/communicator.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline std::vector<std::string> words_in(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

inline RunnableCommand parsed_command(std::vector<std::string> words, std::optional<std::size_t> party = std::nullopt) {
  return parse_command_line(dpreduce_command(), std::move(words), party);
}

/// Precondition: the words ask for a fit, and not for help.
inline FitOptions parsed_fit(std::vector<std::string> words, std::optional<std::size_t> party = std::nullopt) {
  return parsed_command(std::move(words), party).target<FitCommand>()->options;
}

/// Precondition: the words ask for help, or for the version.
inline std::string printed_text(std::vector<std::string> words) {
  return parsed_command(std::move(words)).target<PrintText>()->text;
}

}  // namespace dpreduce
