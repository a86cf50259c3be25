// `key = value`, of a configuration file or of a call from a program, as arguments of an option: `epsilon=1,
// center="dp"` is --epsilon 1 --center dp.
//
// Items are read through the same tables as command lines, with the same checks and messages. A key has - or _ between
// words; values are words as on a command line, truth values true and false.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "commands/command_entry.hpp"
#include "common/base/toml_items.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// The option that the item's key names. Throws UsageError with the nearest name where `table`, of the command of that
/// name, has none; messages begin with `place`, as in "run.toml, line 3".
const Option& option_of(const OptionTable& table, const std::string& command, const TomlItem& item,
                        const std::string& place);

struct OptionArguments {
  bool is_set = true;                       ///< false: a flag, and its value is false
  std::vector<std::string> arguments = {};  ///< none of a flag
};

/// The arguments that the item gives its option. Throws UsageError where a flag is neither true nor false, or an option
/// of one value has a list.
OptionArguments arguments_of(const Option& option, const TomlItem& item, const std::string& place);

/// A fit on rows that the program holds, as `keywords` ask for it. Not validated: fit() does that, with its rows.
/// Throws UsageError naming the keyword, where it is no option of fit, is there twice or of another type, or is the
/// command's alone (fit_keywords).
FitOptions fit_options_of(std::span<const TomlItem> keywords);

/// A keyword that such a fit takes: an option's name, with _ between words, and its help.
struct KeywordHelp {
  std::string name;
  std::string help;
  std::string type;  ///< of a value: "a|b|c" are all choices; empty: a truth value
};

/// The keywords of a fit: the options of `dpreduce fit` but those that name files of rows, of names and of outputs, are
/// about silos, or about how a command prints.
std::vector<KeywordHelp> fit_keywords();

/// The names of those that are about classes, and so none of a fit to numbers.
std::vector<std::string> keywords_of_classes();

/// Returns what runs `command` with these options, on rows and files that the program has in their place. Throws
/// UsageError as fit_options_of, and as the command does.
RunnableCommand run_of_call(CommandEntry command, std::span<const TomlItem> keywords);

/// The result of `command`, one that programs call, with these options: JSON. Throws UsageError as fit_options_of,
/// where a required option is missing, and as the command does.
std::string result_of_call(CommandEntry command, std::span<const TomlItem> keywords);

}  // namespace dpreduce
