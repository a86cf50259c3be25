// dpreduce coordinator: leads a run among silos over a network.
#include "commands/commands.hpp"
#include "commands/network_party.hpp"

namespace dpreduce {

CommandEntry coordinator_command() {
  CommandEntry command = network_command(PartyRole::kCoordinator);
  command.help = "coordinate a run among silos over a network";
  command.footer =
      "Examples:\n"
      "  dpreduce coordinator --listen 0.0.0.0:7000 --config common.toml --roster roster.toml --identity hub.key \\\n"
      "    --out model.safetensors --report report.json --log hub.log --wait 600";
  return command;
}

}  // namespace dpreduce
