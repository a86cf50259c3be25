// The options of a fit, and the parts of them that other commands have as well.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands/command_line/command_entry.hpp"
#include "common/accounting/budget.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// --epsilon, --delta, --rho, --mu.
void declare_stated_budget(OptionTable& table, StatedBudget& budget);

/// --epsilon, --delta, --rho, --mu and --accountant.
void declare_budget(OptionTable& table, BudgetOptions& budget);

/// What is asked of a model privately, on the rows of options.data.train: the list of figures is the option `metrics`.
/// An option that is there already stays.
void declare_evaluation(OptionTable& table, FitOptions& options, const char* metrics);

/// What a private evaluation has beside its rows, which are options.data.train: persons, what it may spend, silos. A
/// --threshold that is there already stays.
void declare_private_evaluation(OptionTable& table, FitOptions& options);

/// The parts of an option's value between colons: "NAME", "D" and "W" of "NAME:D:W"; at least one.
std::vector<std::string> parts_of(const std::string& text);

/// `text` as a finite number. Throws UsageError, in whose place the caller's tells the form of the whole value.
double read_finite(const std::string& text);

/// --sensitivity.
void declare_sensitivity(OptionTable& table, double& sensitivity);

/// On samples (a rate below 1) the accountant is pld where --accountant of `table` is not given.
void choose_accountant(BudgetOptions& budget, double sampling_rate, const OptionTable& table);

/// All options of a fit, which are read into `options`; they outlive the table.
void declare_fit(OptionTable& table, FitOptions& options);

/// The options of `release` but for what is released.
void declare_release(OptionTable& table, FitOptions& options);

/// The options of `fit`, as given, that all parties must have been told alike, one a line (SaidBy::kAll, kAllOfFiles).
std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names);

}  // namespace dpreduce
