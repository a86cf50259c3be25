// Tables of the options of a fit, and of the parts of them that other commands share. Each option has its name, its
// help, its range of numbers and, in fit_rules.cpp, the options that it requires and those that it excludes. Command
// line, configuration files, calls from programs, help and documents are made from these tables. Options from elsewhere
// are checked by the same tables (check_options).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/option_table.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Declares all options of a fit. They are read into `options`, which outlives the table.
void declare_fit(OptionTable& table, FitOptions& options);

/// Adds the rules on which options of a fit, and of its parts, go together. Precondition: the table has all of them.
void add_fit_rules(OptionTable& table, const FitOptions& options);

/// Returns whether an option of a fit is about classes, and so does not apply if rows have numbers to predict: if
/// --targets excludes the option or an option that it requires, or if no method that takes --targets takes it.
/// Precondition: `fit` has the rules of a fit.
bool is_about_classes(const OptionTable& fit, const Option& option);

/// Adds the rules on which options do not go with rounds on samples. The option `rate` names the rate of the samples.
/// The rules do not apply if the option `unless` holds, unless that name is empty. Precondition: the table has
/// --adjacency, and the options of a budget.
void add_rules_of_samples(OptionTable& table, const std::string& rate, const std::string& unless = {});

/// Throws UsageError naming the option if an option is out of range, belongs to another method, or does not go with
/// another option.
void check_options(const FitOptions& options);

/// Declares the options of `release`, except those that name the released statistics.
void declare_release(OptionTable& table, FitOptions& options);

/// Declares --epsilon, --delta, --rho and --mu.
void declare_given_budget(OptionTable& table, GivenBudget& budget);

/// Declares --epsilon, --delta, --rho, --mu and --accountant.
void declare_budget(OptionTable& table, BudgetOptions& budget);

/// Sets the default of --accountant on samples: pld, if `rate` has a value below 1 and --accountant is not given.
/// Preconditions: the table has --accountant; `budget` and `rate` outlive the table.
template <typename Rate>
void choose_accountant(OptionTable& table, BudgetOptions& budget, const Rate& rate) {
  table.when_read([&](const OptionTable& read) {
    if (rate && rate < 1.0 && !read.find("--accountant")->is_given()) budget.accountant = Accountant::kPld;
  });
}

/// Adds the rules of a private evaluation, whose options are declared: the lists of metrics, the option that names
/// models, and the option with which there is an evaluation.
void add_evaluation_rules(OptionTable& table, const RowFiles& rows, const std::string& metrics,
                          const std::string& models, const std::string& when);

/// Declares the private evaluation of a model on the rows of options.data.train. The list of metrics is the option
/// `metrics`. Options that are already declared stay as they are.
void declare_evaluation(OptionTable& table, FitOptions& options, const char* metrics);

/// Declares the options of a private evaluation except its rows, which are options.data.train: persons, its budget,
/// silos. A --threshold that is already declared stays as it is.
void declare_private_evaluation(OptionTable& table, FitOptions& options);

/// Returns the given options of `fit` that must be the same at all parties, one a line (SetBy::kAll, kAllOfFiles).
std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names);

// Training: --method, and the options that only some methods take.
//
// The methods' entries name the options that they take and refuse (registry.hpp). The refusals, and the help on which
// method takes which option, follow from both.

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

// Rows: their persons, files, classes and targets, and their preparation before a method sees them.

inline constexpr const char* kTestTargets = "--test-targets";
/// Heading in help of the options of runs among silos.
inline constexpr const char* kSilosGroup = "Silos";

/// Declares persons: the person of each row, under the option `name`, and the bound on a person's contribution.
void declare_persons(OptionTable& table, DataOptions& data, const std::string& name);

/// Declares the files of training rows, and of their persons.
void declare_training_rows(OptionTable& table, DataOptions& data);

/// Declares the files of public rows. `also` continues the sentence of the help.
void declare_public_rows(OptionTable& table, DataOptions& data, const std::string& also);

/// Declares classes, the largest number of classes of a row, and the treatment of bad rows.
void declare_labels(OptionTable& table, DataOptions& data);

/// Declares --classes and the file of class names. The file is read while the command line is read: a job reads it on
/// rank 0 alone, and the other ranks receive the names with the words of the command (GivenWords). Reading throws
/// BadInput as read_class_names. Returns the option --classes.
Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help);

/// Declares the option that names a row's numbers to predict, instead of its `labels`, which are declared.
Option& declare_targets(OptionTable& table, RowFiles& rows, const char* name, const char* labels, const char* help);

/// Declares the range of numbers to predict.
void declare_target_range(OptionTable& table, DataOptions& data);

/// Declares the preparation of rows before a method sees them.
void declare_rows(OptionTable& table, PreparationOptions& rows);

}  // namespace dpreduce
