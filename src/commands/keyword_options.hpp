// `key = value`, of a configuration file or of a call from a program, as arguments of an option: `epsilon=1,
// center="dp"` is --epsilon 1 --center dp.
//
// Items are read through the same tables as command lines, with the same checks and messages. A key has - or _ between
// words; values are words as on a command line, truth values true and false.
#pragma once

#include "commands/command_entry.hpp"
#include "common/base/toml_items.hpp"

namespace dpreduce {

/// Returns the option that the item's key names. Throws UsageError with the nearest name where `table`, of the command
/// of that name, has none. Messages begin with `place`, as in "run.toml, line 3".
const Option& option_of(const OptionTable& table, const std::string& command, const TomlItem& item,
                        const std::string& place);

/// Returns the arguments that the item gives its option: none to a flag that is true, nullopt to one that is false.
/// Throws UsageError where a flag is neither, or an option of one value has a list.
std::optional<std::vector<std::string>> arguments_of(const Option& option, const TomlItem& item,
                                                     const std::string& place);

/// Reads the keywords into the options of `table`, those of `command`; messages begin with `call`. Throws UsageError as
/// fit_options_of.
void read_keywords(OptionTable& table, const std::string& command, std::span<const TomlItem> keywords,
                   const std::string& call);

/// Returns the fit that `keywords` request, on rows that the program holds. Not validated: fit() does that, with its
/// rows. Throws UsageError naming the keyword, where it is no option of fit, is there twice or of another type, or is
/// the command's alone (fit_keywords).
FitOptions fit_options_of(std::span<const TomlItem> keywords);

/// Keyword that such a fit takes: an option's name, with _ between words, and its help.
struct KeywordHelp {
  std::string name;
  std::string help;
  std::string type;       ///< of a value: "a|b|c" are all choices; empty: a truth value
  bool is_about_classes;  ///< and so none of a fit to numbers
};

/// Keywords of a fit: the options of `dpreduce fit` but those that name files of rows, of names and of outputs, are
/// about silos, or are about how a command prints.
std::vector<KeywordHelp> fit_keywords();

/// Returns what runs `command` with these options, on rows and files that the program has in their place. Throws
/// UsageError as fit_options_of, and as the command does.
RunnableCommand run_of_call(CommandEntry command, std::span<const TomlItem> keywords);

/// Returns the result of `command`, one that programs call, with these options: JSON. Throws UsageError as
/// fit_options_of, where a required option is missing, and as the command does.
std::string result_of_call(CommandEntry command, std::span<const TomlItem> keywords);

}  // namespace dpreduce
