// dpreduce silo: takes part in a run among silos over a network.
#include "commands/commands.hpp"
#include "commands/network_party.hpp"

namespace dpreduce {

CommandEntry silo_command() {
  return network_command(PartyRole::kSilo, "silo", "take part as a silo in a run over a network, with its own rows",
                         "Examples:\n"
                         "  dpreduce silo --connect hub.example.org:7000 --config common.toml --roster roster.toml \\\n"
                         "    --identity north.key --silo-config north.toml --log north.log");
}

}  // namespace dpreduce
