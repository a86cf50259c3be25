// The commands, one file each. Every one is run by all ranks at once; rank 0 prints.
#pragma once

#include "commands/command_line/command.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

void run_command(const PrintText& text, Communicator& ranks);
void run_command(const FitOptions& options, Communicator& ranks);
void run_command(const SweepOptions& options, Communicator& ranks);
void run_command(const PredictOptions& options, Communicator& ranks);
void run_command(const EvaluateOptions& options, Communicator& ranks);
void run_command(const CalibrateOptions& options, Communicator& ranks);
void run_command(const ConvertOptions& options, Communicator& ranks);
void run_command(const ComposeOptions& options, Communicator& ranks);
void run_command(const SplitOptions& options, Communicator& ranks);
void run_command(const ExplainOptions& options, Communicator& ranks);
void run_command(const ReportOptions& options, Communicator& ranks);
void run_command(const ExportOptions& options, Communicator& ranks);
void run_command(const LedgerShowOptions& options, Communicator& ranks);
void run_command(const LedgerVerifyOptions& options, Communicator& ranks);
void run_command(const LedgerReleaseOptions& options, Communicator& ranks);
void run_command(const LedgerExportOptions& options, Communicator& ranks);
void run_command(const SynthOptions& options, Communicator& ranks);
void run_command(const SanitizeOptions& options, Communicator& ranks);
void run_command(const PartitionOptions& options, Communicator& ranks);
void run_command(const InspectOptions& options, Communicator& ranks);
void run_command(const AuditOptions& options, Communicator& ranks);
void run_command(const BenchOptions& options, Communicator& ranks);
void run_command(const KeygenOptions& options, Communicator& ranks);

}  // namespace dpreduce
