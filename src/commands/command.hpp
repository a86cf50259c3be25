// What a user asked for: one validated struct a command. Names and defaults are the command-line contract.
#pragma once

#include <string>
#include <variant>

#include "dpreduce/commands/audit_command.hpp"
#include "dpreduce/commands/bench_command.hpp"
#include "dpreduce/commands/calibrate_command.hpp"
#include "dpreduce/commands/compose_command.hpp"
#include "dpreduce/commands/convert_command.hpp"
#include "dpreduce/commands/evaluate_command.hpp"
#include "dpreduce/commands/explain_command.hpp"
#include "dpreduce/commands/inspect_command.hpp"
#include "dpreduce/commands/keygen_command.hpp"
#include "dpreduce/commands/ledger_command.hpp"
#include "dpreduce/commands/partition_command.hpp"
#include "dpreduce/commands/predict_command.hpp"
#include "dpreduce/commands/sanitize_command.hpp"
#include "dpreduce/commands/split_command.hpp"
#include "dpreduce/commands/sweep_command.hpp"
#include "dpreduce/commands/synth_command.hpp"
#include "dpreduce/methods/options/fit_options.hpp"

namespace dpreduce {

/// What to print and stop: --help or --version.
struct PrintText {
  std::string text;
};

using Command = std::variant<PrintText, FitOptions, SweepOptions, PredictOptions, EvaluateOptions, CalibrateOptions,
                             ConvertOptions, ComposeOptions, SplitOptions, ExplainOptions, LedgerShowOptions,
                             LedgerVerifyOptions, LedgerReleaseOptions, SynthOptions, SanitizeOptions, PartitionOptions,
                             InspectOptions, AuditOptions, BenchOptions, KeygenOptions>;

}  // namespace dpreduce
