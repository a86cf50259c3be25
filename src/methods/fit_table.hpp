// The options of a fit, and the parts of them that other commands have as well: each with its name, its help, the
// numbers that it may be and, in fit_rules.cpp, what it goes with and what it excludes. Command line, configuration
// files, calls from programs, help and documents are made from these tables, and options that come from elsewhere are
// checked by them (check_options).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/option_table.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Declares all options of a fit. They are read into `options`, which outlives the table.
void declare_fit(OptionTable& table, FitOptions& options);

/// Adds which options of a fit, and of its parts, go together. The table has all of them.
void add_fit_rules(OptionTable& table, const FitOptions& options);

/// Returns whether an option of a fit is about classes, and so does not apply where rows have numbers: --targets
/// excludes it, or what it goes with, or no method that takes --targets takes it. `fit` has the rules of a fit.
bool is_about_classes(const OptionTable& fit, const Option& option);

/// Adds which options do not go with rounds on samples. The option `rate` names the rate of the samples. The rules do
/// not apply where `unless`, if it is not empty, holds. The table has --adjacency, and the options of a budget.
void add_rules_of_samples(OptionTable& table, const std::string& rate, const std::string& unless = {});

/// Throws UsageError naming the option where one is out of range, is of another method, or does not go with another
/// one.
void check_options(const FitOptions& options);

/// Declares the options of `release`, but for those of what is released.
void declare_release(OptionTable& table, FitOptions& options);

/// --epsilon, --delta, --rho, --mu.
void declare_given_budget(OptionTable& table, GivenBudget& budget);

/// --epsilon, --delta, --rho, --mu and --accountant.
void declare_budget(OptionTable& table, BudgetOptions& budget);

/// Sets the default of --accountant on samples: pld, where `rate` has a value below 1 and --accountant is not given.
/// The table has --accountant. Both outlive the table.
template <typename Rate>
void choose_accountant(OptionTable& table, BudgetOptions& budget, const Rate& rate) {
  table.when_read([&](const OptionTable& read) {
    if (rate && rate < 1.0 && !read.find("--accountant")->is_given()) budget.accountant = Accountant::kPld;
  });
}

/// Declares the private evaluation of a model on the rows of options.data.train. The list of metrics is the option
/// `metrics`. An option that is already declared stays.
void declare_evaluation(OptionTable& table, FitOptions& options, const char* metrics);

/// Declares the options of a private evaluation beside its rows, which are options.data.train: persons, its budget,
/// silos. A --threshold that is already declared stays.
void declare_private_evaluation(OptionTable& table, FitOptions& options);

/// Options of `fit`, as given, that must be the same at all parties, one a line (SetBy::kAll, kAllOfFiles).
std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names);

// Rows: whose they are, their files, classes and numbers, and what is done to them before a method sees them.

inline constexpr const char* kTestTargets = "--test-targets";

/// Declares persons: the person of each row, under that name, and what a person's rows count for.
void declare_persons(OptionTable& table, DataOptions& data, const std::string& name);

/// Declares the files of training rows, and of their persons.
void declare_training_rows(OptionTable& table, DataOptions& data);

/// Declares the files of public rows. `also` goes on with the help's sentence.
void declare_public_rows(OptionTable& table, DataOptions& data, const std::string& also);

/// Declares classes, how many a row may have, and rows that are bad.
void declare_labels(OptionTable& table, DataOptions& data);

/// Declares both. The file of names is read while the command line is: a job reads it on rank 0 alone, and the other
/// ranks get the list with the words (GivenWords). Reading throws BadInput as read_class_names. Returns --classes.
Option& declare_classes(OptionTable& table, std::size_t& classes, std::vector<std::string>& names,
                        const std::string& help);

/// K where it is given, else the number of names.
std::size_t classes_of(std::size_t classes, const std::vector<std::string>& names);

/// Declares the option that names a row's numbers to predict, in place of its labels.
Option& declare_targets(OptionTable& table, RowFiles& rows, const char* name, const char* help);

/// Declares where numbers to predict lie.
void declare_target_range(OptionTable& table, DataOptions& data);

/// Declares the preparation of rows before a method sees them.
void declare_rows(OptionTable& table, PreparationOptions& rows);

}  // namespace dpreduce
