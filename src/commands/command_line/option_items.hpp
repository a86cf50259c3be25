// `key = value` of a configuration file, or of a call, as arguments of the option that the key names.
#pragma once

#include <string>
#include <vector>

#include "common/base/option_table.hpp"
#include "common/base/toml_items.hpp"

namespace dpreduce {

/// The option that the item's key names, with - or _ between words. Throws UsageError with the nearest name where
/// `table`, of the command of that name, has none; messages begin with `place`, as in "run.toml, line 3".
const Option& option_of(const OptionTable& table, const std::string& command, const TomlItem& item,
                        const std::string& place);

struct OptionArguments {
  bool is_set = true;                       ///< false: a flag, and its value is false
  std::vector<std::string> arguments = {};  ///< none of a flag
};

/// What the item gives its option. Throws UsageError where a flag is neither true nor false, or an option of one value
/// has a list.
OptionArguments arguments_of(const Option& option, const TomlItem& item, const std::string& place);

}  // namespace dpreduce
