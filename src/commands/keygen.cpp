// dpreduce keygen: an identity for a silo or a coordinator.
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
  save_new_identity(identity, options.out, "--out");
  const std::string key = to_hex(identity.public_key());
  const nlohmann::json told{{"name", options.name}, {"key", key}, {"private", options.out}};
  print_result(options.format, told, [&] {
    return fmt::format(
        "# {}: keep it, it is the silo's alone; the lines below go into every party's roster\nname = \"{}\"\nkey = "
        "\"{}\"\n",
        options.out, options.name, key);
  });
}

void declare(OptionTable& table, KeygenOptions& options) {
  table.file("--out", options.out, "file for the private key, mode 0600; never overwritten").required().written();
  table.text("--name", options.name, "name in the roster");
}

}  // namespace

CommandEntry keygen_command() {
  return command_reading<KeygenOptions>(
      "keygen", "make an identity for a silo or coordinator", declare,
      [](const auto& options, auto&) { return by_coordinator(run, options); },
      "  dpreduce keygen --out north.key --name north");
}

}  // namespace dpreduce
