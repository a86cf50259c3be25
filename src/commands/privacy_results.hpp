// What the subcommands of `dpreduce privacy` find, as --format json prints it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "commands/command_line/command.hpp"

namespace dpreduce {

/// {"sigma", "sensitivity", "steps", "sampling_rate", "accountant", "epsilon", "delta", "mu", "rho"}. Throws UsageError
/// where no noise makes the budget.
nlohmann::json result_of(const CalibrateOptions& options);

/// As AccountedGuarantee, and "sensitivity". Throws UsageError where the budget is none.
nlohmann::json result_of(const ConvertOptions& options);

/// As AccountedGuarantee, and "adjacency", "group", "mechanisms": [{"mechanism", "count"}]. Throws UsageError naming a
/// mechanism that is out of range.
nlohmann::json result_of(const ComposeOptions& options);

/// The guarantee, and "blocks": [{"name", "sensitivity", "loss_weight", "sigma", "variance", "share_of_mu2"}]. Throws
/// UsageError where the budget or a block is none.
nlohmann::json result_of(const SplitOptions& options);

}  // namespace dpreduce
