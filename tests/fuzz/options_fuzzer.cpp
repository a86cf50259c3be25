// The option parsers on arbitrary bytes: lines are arguments of a command line up to an empty line; what follows is a
// TOML file, and its table [consent] a silo's. Any input is either parsed or refused by UsageError.
#include <sstream>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/config_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace dpreduce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t blank = input.find("\n\n");
  std::vector<std::string> arguments;
  std::istringstream lines(input.substr(0, blank) + "\n");
  for (std::string line; std::getline(lines, line);) arguments.push_back(line);
  for (const std::string& candidate : arguments) {
    if (candidate.rfind("--config", 0) == 0) return 0;  // would read files of this machine
  }
  is_refused<UsageError>([&] { parse_command_line(dpreduce_command(), arguments); });
  if (blank == std::string::npos) return 0;
  is_refused<UsageError>([&] {
    std::vector<TomlItem> items = parse_config(input.substr(blank + 2), "fuzz.toml");
    const std::vector<std::string> consent{kConsentTable};
    std::erase_if(items, [&](const TomlItem& item) { return item.section != consent; });
    consent_of(items, "fuzz.toml");
  });
  return 0;
}
