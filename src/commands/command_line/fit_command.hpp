// `dpreduce fit`: train a classifier.
#pragma once

#include "methods/options/fit_options.hpp"

namespace dpreduce {

struct CommandEntry;

/// The command as the command line sees it.
CommandEntry fit_command();

}  // namespace dpreduce
