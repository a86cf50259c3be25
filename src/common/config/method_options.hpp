// The options that decide which statistics are released: those of `fit` that `audit` has too.
#pragma once

#include <CLI/CLI.hpp>

#include "dpreduce/config/options.hpp"

namespace dpreduce {

void add_method(CLI::App& app, FitOptions& options);

}  // namespace dpreduce
