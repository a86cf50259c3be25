// Every option of every command, declared once.
#pragma once

#include <CLI/CLI.hpp>

#include "dpreduce/config/options.hpp"

namespace dpreduce {

/// The structs that CLI11 writes into while it parses. Declare, parse, then ask which command was chosen.
class CommandOptions {
 public:
  void declare(CLI::App& app);

  /// The options of `fit` are those of one party of a run among silos, whose training rows are its own or none.
  void let_rows_be_own();
  /// The ledger is the one that the party's own file names.
  void let_ledger_be_own() { fit_.silos.ledger_is_own = true; }

  /// The chosen command's options, validated. Throws UsageError.
  Command chosen(const CLI::App& app) const;

 private:
  void declare_fit(CLI::App& app);
  void declare_sweep(CLI::App& app);
  void declare_predict(CLI::App& app);
  void declare_evaluate(CLI::App& app);
  void declare_privacy(CLI::App& app);
  void declare_ledger(CLI::App& app);
  void declare_synth(CLI::App& app);
  void declare_sanitize(CLI::App& synth);
  void declare_partition(CLI::App& synth);
  void declare_inspect(CLI::App& app);
  void declare_audit(CLI::App& app);
  void declare_bench(CLI::App& app);
  void declare_keygen(CLI::App& app);

  // `privacy` has commands of its own.
  void declare_calibrate(CLI::App& privacy);
  void declare_convert(CLI::App& privacy);
  void declare_compose(CLI::App& privacy);
  void declare_split(CLI::App& privacy);
  void declare_explain(CLI::App& privacy);
  Command chosen_privacy(const CLI::App& privacy) const;

  CLI::App* fit_command_ = nullptr;
  FitOptions fit_;
  SweepOptions sweep_;
  PredictOptions predict_;
  EvaluateOptions evaluate_;
  CalibrateOptions calibrate_;
  ConvertOptions convert_;
  ComposeOptions compose_;
  SplitOptions split_;
  ExplainOptions explain_;
  LedgerShowOptions ledger_show_;
  LedgerVerifyOptions ledger_verify_;
  LedgerReleaseOptions ledger_release_;
  SynthOptions synth_;
  SanitizeOptions sanitize_;
  PartitionOptions partition_;
  InspectOptions inspect_;
  AuditOptions audit_;
  BenchOptions bench_;
  KeygenOptions keygen_;
};

}  // namespace dpreduce
