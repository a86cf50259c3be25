// The options of rows: whose they are, their files, classes and numbers, and what is done to them before a method sees
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands/command_line/command_entry.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

inline constexpr const char* kTestTargets = "--test-targets";

/// Persons: whose each row is, under that name, and what a person's rows count for.
void declare_persons(OptionTable& table, DataOptions& data, const char* name);

/// The files of training rows, and whose they are.
void declare_training_rows(OptionTable& table, DataOptions& data, bool has_targets);

/// The files of public rows; `also` goes on with the help's sentence.
void declare_public_rows(OptionTable& table, DataOptions& data, const std::string& also);

/// Classes, how many a row may have, and rows that are bad.
void declare_labels(OptionTable& table, DataOptions& data);

/// Declares both. The file of names is read while the command line is: a job reads it on rank 0 alone, and the other
/// ranks get the list with the words (SaidWords). Reading throws BadInput as read_class_names. Returns --classes.
Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help);

/// K where it is given, else the number of names.
std::size_t classes_of(std::size_t classes, const std::vector<std::string>& names);

/// Declares the option that names a row's numbers to predict, in the place of its labels.
Option& declare_targets(OptionTable& table, RowFiles& rows, const char* name, const char* help);

/// Declares where numbers to predict lie.
void declare_target_range(OptionTable& table, DataOptions& data);

/// Where the arguments name classes, targets, or a model to evaluate in the place of a fit, --classes need not be
/// given; with targets no labels either. Throws UsageError where both are.
void let_options_replace_others(CommandEntry& root, const std::vector<std::string>& arguments);

/// What is done to rows before a method sees them.
void declare_rows(OptionTable& table, PreparationOptions& rows);

}  // namespace dpreduce
