// The options that only some methods take, and those that some refuse: what each is named, and whether it is given.
//
// The methods' entries name them (registry.hpp). From both follow the refusals, and what help says of which method
// takes which option.
#pragma once

#include <span>
#include <string_view>

#include "common/base/option_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

/// The heading in help of all options that say how to train.
inline constexpr const char* kMethodGroup = "Method";

/// An option that only some methods take.
struct MethodOption {
  std::string_view name;
  std::string_view help;  ///< what it does, not which methods take it
  std::string_view type;  ///< a word for its value; empty: the usual one
  Option& (*declare)(const MethodOption& own, OptionTable& table, MethodOptions& options);
  bool (*is_given)(const MethodOptions& options);
};

/// All of them, in the order of help.
std::span<const MethodOption> method_options();

/// A value of an option of all fits, "--center moments", or one of another room, "--resume".
struct FitTerm {
  std::string_view name;
  bool (*is_given)(const FitOptions& options);
};
std::span<const FitTerm> fit_terms();

/// Throws UsageError where `options` have what their method does not take, or refuses; with the methods that do. Then
/// the method's own check.
void check_method(const FitOptions& options);

/// Adds --method and the options of methods' own, each with the methods that take it, and their defaults.
void declare_method(OptionTable& table, MethodOptions& options);
/// Adds those of a choice among candidates: --choose and --choose-share.
void declare_choice(OptionTable& table, MethodOptions& options);

/// "a, b 5": the methods that take an option, each with its default where it has one.
std::string takers_with_defaults(std::string_view option);

}  // namespace dpreduce
