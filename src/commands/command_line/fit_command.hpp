// `dpreduce fit`: train a classifier.
#pragma once

#include "methods/options/fit_options.hpp"

namespace dpreduce {

struct CommandEntry;
class OptionTable;

/// The options of a fit, which are read into `options`; they outlive the table.
void declare_fit(OptionTable& table, FitOptions& options);

/// The command as the command line sees it.
CommandEntry fit_command();

}  // namespace dpreduce
