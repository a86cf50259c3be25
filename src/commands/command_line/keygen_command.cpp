#include "commands/command_line/keygen_command.hpp"

#include <memory>

#include "commands/command_line/command_entry.hpp"

namespace dpreduce {

CommandEntry keygen_command() {
  const auto options = std::make_shared<KeygenOptions>();
  CommandEntry command{.name = "keygen", .help = "make the identity of a silo or coordinator, for --roster"};
  OptionTable& table = command.options;
  table.text("--out", options->out, "file for the private half, 0600; never overwritten")
      .required()
      .typed("FILE")
      .written();
  table.text("--name", options->name, "for the roster");
  declare_format(table, options->format);
  declare_config(table);
  command.footer = "Examples:\n  dpreduce keygen --out north.key --name north";
  command.chosen = [options](const ParsedCommand&) { return *options; };
  return command;
}

}  // namespace dpreduce
