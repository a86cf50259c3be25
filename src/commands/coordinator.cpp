// dpreduce coordinator: leads a run among silos over a network.
#include "commands/commands.hpp"
#include "commands/network_party.hpp"

namespace dpreduce {

CommandEntry coordinator_command() {
  return network_command(
      PartyRole::kCoordinator, "coordinator", "coordinate a run among silos over a network",
      "Examples:\n"
      "  dpreduce coordinator --listen 0.0.0.0:7000 --config common.toml --roster roster.toml --identity hub.key \\\n"
      "    --out model.safetensors --report report.json --log hub.log --wait 600");
}

}  // namespace dpreduce
