// The option parsers on arbitrary bytes: lines are arguments of a command line up to an empty line; what follows is a
// TOML file, and its table [consent] a silo's. Any input is either parsed or refused by UsageError.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/config_file.hpp"
#include "common/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t blank = input.find("\n\n");
  std::vector<std::string> arguments;
  std::string word;
  for (const char c : input.substr(0, blank)) {
    if (c == '\n') {
      arguments.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  arguments.push_back(std::move(word));
  for (const std::string& candidate : arguments) {
    if (candidate.rfind("--config", 0) == 0) return 0;  // would read files of this machine
  }
  try {
    dpreduce::parse_command_line(dpreduce::dpreduce_command(), arguments);
  } catch (const dpreduce::UsageError&) {
  }
  if (blank == std::string::npos) return 0;
  try {
    std::vector<dpreduce::TomlItem> items = dpreduce::parse_config(input.substr(blank + 2), "fuzz.toml");
    const std::vector<std::string> consent{dpreduce::kConsentTable};
    std::erase_if(items, [&](const dpreduce::TomlItem& item) { return item.section != consent; });
    dpreduce::consent_of(items, "fuzz.toml");
  } catch (const dpreduce::UsageError&) {
  }
  return 0;
}
