// The options of a call from a program: `epsilon=1, center="dp"` is --epsilon 1 --center dp.
//
// They are read through the tables that command lines are read through, with the same checks and messages. A key has -
// or _ between words; values are words as on a command line, truth values true and false.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "commands/command_line/command_entry.hpp"
#include "common/base/toml_items.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// A fit on rows that the program holds, as `keywords` ask for it. Not validated: fit() does that, with its rows.
/// Throws UsageError naming the keyword, where it is no option of fit, is there twice or of another type, or is the
/// command's alone (fit_keywords).
FitOptions fit_options_of(std::span<const TomlItem> keywords);

/// What such a fit takes: an option's name, with _ between words, and its help.
struct KeywordHelp {
  std::string name;
  std::string help;
  std::string type;  ///< of a value: "a|b|c" are all choices; empty: a truth value
};

/// All of `dpreduce fit` but what names files of rows, of names and of outputs, is about silos, or about how a command
/// prints.
std::vector<KeywordHelp> fit_keywords();

/// The result of `command`, one that programs call, with these options: JSON. Throws UsageError as fit_options_of,
/// where a required option is missing, and as the command does.
std::string result_of_call(CommandEntry command, std::span<const TomlItem> keywords);

}  // namespace dpreduce
