// `--config run.toml`: options from a file.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace dpreduce {

/// `arguments` with `--config FILE` replaced by what FILE says: `key = value` becomes `--key value`, unless `--key` is
/// given on the command line, which wins. Keys stand at the top of the file or in a section with the command's name;
/// sections of other commands are passed over. Throws UsageError naming the file and the key where a key is not an
/// option of the command, and where the file cannot be read or parsed.
std::vector<std::string> with_config_file(const CLI::App& app, std::vector<std::string> arguments);

/// The items of a configuration text; `path` is for messages. Throws UsageError where it is not TOML.
std::vector<CLI::ConfigItem> parse_config(const std::string& text, const std::string& path);

}  // namespace dpreduce
