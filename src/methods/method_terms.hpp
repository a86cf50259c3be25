// Options of training: --method, and the options that only some methods take.
//
// The methods' entries name the options that they take and refuse (registry.hpp). The refusals, and the help on which
// method takes which option, follow from both.
#pragma once

#include <string>
#include <string_view>

#include "common/base/option_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

/// Heading in help of all options of training.
inline constexpr const char* kMethodGroup = "Method";
/// Largest --expected-rows.
inline constexpr double kMostExpectedRows = 1e15;

/// Throws UsageError if `options` have an option that their method does not take, or refuses. The message names the
/// methods that take the option. Precondition: `table` is of these options, and has all options of a fit.
void check_method(const FitOptions& options, const OptionTable& table);

/// Adds --method and the methods' own options. Each option names the methods that take it, with their defaults.
void declare_method(OptionTable& table, MethodOptions& options);
/// Adds the options of a choice among candidates: --choose and --choose-share.
void declare_choice(OptionTable& table, MethodOptions& options);

/// Returns "a, b 5": the methods that take an option, each with its default if it has one.
std::string takers_with_defaults(std::string_view option);

}  // namespace dpreduce
