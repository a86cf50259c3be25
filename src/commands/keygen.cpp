// dpreduce keygen: an identity for a silo or a coordinator.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/silos/parties.hpp"

namespace dpreduce {
namespace {

struct KeygenOptions {
  std::string out;  // of the private half
  std::string name = "silo";
  OutputFormat format = OutputFormat::kText;
};

void run(const KeygenOptions& options) {
  const Identity identity = Identity::generate();
  identity.save_new(options.out, "--out");
  const std::string key = to_hex(identity.public_key());
  const nlohmann::json told{{"name", options.name}, {"key", key}, {"private", options.out}};
  print_result(options.format, told, [&] {
    return fmt::format(
        "# {}: keep it, it is the silo's alone; the lines below go into every party's roster\nname = \"{}\"\nkey = "
        "\"{}\"\n",
        options.out, options.name, key);
  });
}

}  // namespace

CommandEntry keygen_command() {
  const auto options = std::make_shared<KeygenOptions>();
  CommandEntry command{.name = "keygen", .help = "make an identity for a silo or coordinator"};
  OptionTable& table = command.options;
  table.file("--out", options->out, "file for the private key, mode 0600; never overwritten").required().written();
  table.text("--name", options->name, "name in the roster");
  declare_format(table, options->format);
  declare_config(table);
  command.footer = "Examples:\n  dpreduce keygen --out north.key --name north";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, *options); };
  return command;
}

}  // namespace dpreduce
