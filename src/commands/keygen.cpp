// dpreduce keygen: an identity for a silo or a coordinator.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/base/json_text.hpp"
#include "common/silos/identity.hpp"

namespace dpreduce {

void run_command(const KeygenOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const Identity identity = Identity::generate();
    identity.save_new(options.out, "--out");
    const std::string key = to_hex(identity.public_key());
    if (options.format == OutputFormat::kJson) {
      fmt::print("{}\n",
                 readable_json_text(nlohmann::json{{"name", options.name}, {"key", key}, {"private", options.out}}, 2));
      return;
    }
    fmt::print("# {}: keep it, it is the silo's alone; the lines below go into every party's roster\n", options.out);
    fmt::print("name = \"{}\"\nkey = \"{}\"\n", options.name, key);
  });
}

}  // namespace dpreduce
