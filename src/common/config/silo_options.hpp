// The options of a run among silos (`fit --secure-aggregation`): declared, agreed on, checked.
#pragma once

#include <cstddef>
#include <string>

#include <CLI/CLI.hpp>

#include "dpreduce/config/options.hpp"

namespace dpreduce {

void add_silos(CLI::App& app, SiloOptions& silos);

/// The options of `fit` that all parties must have been told alike, one a line: all but what is a party's own, or the
/// coordinator's alone. Of files that one party may have elsewhere than another it only says that there are some.
std::string agreed_options(const CLI::App& fit);

/// Where the party of that rank charges: the ledger that its own file names, or that which all were given, with {rank}
/// replaced; where that has no {rank}, it is the coordinator's, and silo 3 has "ledger-silo3.jsonl" beside it.
std::string ledger_of_party(const FitOptions& options, std::size_t rank);

/// What would bring one silo's rows, or the exact number of all, to the coordinator has no place among silos; without
/// silos no option of theirs has. Errors: UsageError.
void check_silos(const FitOptions& options);

}  // namespace dpreduce
