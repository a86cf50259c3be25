// What a user asked for: one validated struct a command. Names and defaults are the command-line contract.
#pragma once

#include <string>
#include <variant>

#include "commands/command_line/audit_command.hpp"
#include "commands/command_line/bench_command.hpp"
#include "commands/command_line/calibrate_command.hpp"
#include "commands/command_line/compose_command.hpp"
#include "commands/command_line/convert_command.hpp"
#include "commands/command_line/evaluate_command.hpp"
#include "commands/command_line/explain_command.hpp"
#include "commands/command_line/export_command.hpp"
#include "commands/command_line/inspect_command.hpp"
#include "commands/command_line/keygen_command.hpp"
#include "commands/command_line/ledger_command.hpp"
#include "commands/command_line/partition_command.hpp"
#include "commands/command_line/predict_command.hpp"
#include "commands/command_line/report_command.hpp"
#include "commands/command_line/sanitize_command.hpp"
#include "commands/command_line/split_command.hpp"
#include "commands/command_line/sweep_command.hpp"
#include "commands/command_line/synth_command.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// What to print and stop: --help, --help-all or --version.
struct PrintText {
  std::string text;
  bool operator==(const PrintText&) const = default;
};

using Command =
    std::variant<PrintText, FitOptions, SweepOptions, PredictOptions, EvaluateOptions, CalibrateOptions, ConvertOptions,
                 ComposeOptions, SplitOptions, ExplainOptions, LedgerShowOptions, LedgerVerifyOptions,
                 LedgerReleaseOptions, LedgerExportOptions, SynthOptions, SanitizeOptions, PartitionOptions,
                 InspectOptions, AuditOptions, BenchOptions, KeygenOptions, ReportOptions, ExportOptions>;

}  // namespace dpreduce
