#include "commands/command_line/command_entry.hpp"

#include <cstdio>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

RunnableCommand by_coordinator(std::function<void()> work) {
  return [work = std::move(work)](Communicator& ranks) {
    ranks.together([&] {
      if (ranks.is_coordinator()) work();
    });
  };
}

void PrintText::operator()(Communicator& ranks) const {
  if (ranks.is_coordinator()) std::fputs(text.c_str(), stdout);
}

const CommandEntry* CommandEntry::command(const std::string& word) const {
  for (const CommandEntry& own : commands) {
    if (own.name == word) return &own;
  }
  return nullptr;
}

NamedCommand named_command(const CommandEntry& root, const std::vector<std::string>& words) {
  NamedCommand named{&root, {}};
  for (const std::string& word : words) {
    const CommandEntry* const own = named.command->command(word);
    if (own == nullptr) break;
    named.command = own;
    named.names.push_back(word);
  }
  return named;
}

void declare_format(OptionTable& table, OutputFormat& format) {
  table.choice("--format", format, "what standard output gets").of_command_alone(SaidBy::kCommandLine);
}

void declare_config(OptionTable& table) {
  table
      .add({.names = "--config",
            .help = "TOML file with options of this command",
            .type = "FILE",
            .read = [](const std::vector<std::string>&) {}})
      .of_command_alone(SaidBy::kCommandLine);
}

}  // namespace dpreduce
