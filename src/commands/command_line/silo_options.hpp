// The options of a run among silos (`fit --secure-aggregation`): declared, and agreed on.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/option_table.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

void declare_silos(OptionTable& table, SiloOptions& silos);

/// The options of `fit`, as given, that all parties must have been told alike, one a line: all but what is a party's
/// own, or the coordinator's alone. Of files that one party may have elsewhere than another it only says that there are
/// some.
std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names);

/// Where the party of that rank charges: the ledger that its own file names, or that which all were given, with {rank}
/// replaced; where that has no {rank}, it is the coordinator's, and silo 3 has "ledger-silo3.jsonl" beside it.
std::string ledger_of_party(const FitOptions& options, std::size_t rank);

}  // namespace dpreduce
