#include "commands/command_line/split_command.hpp"

#include <memory>
#include <set>

#include <fmt/format.h>

#include "commands/command_line/budget_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "commands/command_line/specs.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

SplitOptions validated(SplitOptions options) {
  std::set<std::string> names;
  for (const BlockSpec& block : options.blocks) {
    if (!names.insert(block.name).second)
      throw UsageError(fmt::format("--block {}: the name occurs twice", block.name));
  }
  return options;
}

CommandEntry split_command() {
  const auto options = std::make_shared<SplitOptions>();
  CommandEntry command{.name = "split",
                       .help = "the noise of several blocks under one budget, for the least weighted loss"};
  OptionTable& table = command.options;
  table
      .add({.names = "--block",
            .help = "L2 sensitivity D; weight W = numbers in the block x loss per unit of a number's variance",
            .type = "NAME:D[:W]",
            .values = OptionValues::kMany,
            .read =
                [options = options.get()](const std::vector<std::string>& specs) {
                  for (const std::string& spec : specs) options->blocks.push_back(parse_block_spec(spec));
                }})
      .required();
  declare_budget(table, options->budget);
  declare_format(table, options->format);
  declare_config(table);
  command.footer =
      "One record may change all blocks at once, each by its D.\n"
      "Examples:\n"
      "  dpreduce privacy split --block sum:1:768 --block count:1:1 --epsilon 1 --delta 1e-5\n"
      "  dpreduce privacy split --block gram:1:589824 --block labels:1:7680 --mu 0.5 --format json";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
