// Options of training: --method, and those that only some methods take.
//
// The methods' entries name what they take and what they refuse (registry.hpp). From both follow the refusals, and what
// help says of which method takes which option.
#pragma once

#include <string>
#include <string_view>

#include "common/base/option_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

/// Heading in help of all options of training.
inline constexpr const char* kMethodGroup = "Method";
/// The largest --expected-rows.
inline constexpr double kMostExpectedRows = 1e15;

/// Throws UsageError where `options` have an option that their method does not take, or refuses. The message names the
/// methods that take it. `table` is of these options, and has all options of a fit.
void check_method(const FitOptions& options, const OptionTable& table);

/// Adds --method and the options of methods' own, each with the methods that take it, and their defaults.
void declare_method(OptionTable& table, MethodOptions& options);
/// Adds the options of a choice among candidates: --choose and --choose-share.
void declare_choice(OptionTable& table, MethodOptions& options);

/// "a, b 5": the methods that take an option, each with its default where it has one.
std::string takers_with_defaults(std::string_view option);

}  // namespace dpreduce
