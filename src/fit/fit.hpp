// A fit as one call: from rows, in files or in memory, to a classifier whose releases are charged.
//
//     fit(options, ranks)         open_fit  ->  open_account  ->  train      rows in the files that the options name
//     fit(options, rows, ranks)   the same                                   rows in memory
//
// The call prints nothing, and writes no model and no report. The caller keeps what it wants of the result, and then
// every rank calls finish(). Until then another run can resume from what a killed run has saved.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/output_file.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/fit_account.hpp"
#include "fit/open_fit.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Returns `options`, validated, for a fit that a program calls rather than the command starts. Throws UsageError if
/// they name no training rows, or no ledger to charge a fit with noise on; if they request a budget limit or --resume
/// while accounts are kept elsewhere; for a dry run or silos; and as validated.
FitOptions checked_call(FitOptions options, const Communicator& ranks, Accounts accounts);

/// Function that receives a line for the user; may be null.
using Warn = std::function<void(const std::string&)>;

/// Does the work. If the run has charged something and can be resumed, an error also reports how the next start may
/// resume. If the error is another rank's, `warn` receives that line.
void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work);

/// Terms of a rank's training, and its observers.
struct TrainingTerms {
  unsigned threads = 1;
  std::optional<std::size_t> memory_bytes{};  ///< of row buffers; nullopt: --memory
  Timings timings{};                          ///< begun by the caller, whose earlier work is in the phase "open"
  /// Called at the beginning of each pass over rows. Returns a function that is called between chunks of rows, on the
  /// thread that trains, with the share of rows that is done. Null: progress is not shown. Either may throw, e.g.
  /// Interrupted. The fit then ends on every rank: here with that exception, elsewhere with PeerFailed. Charges made
  /// before stay charged, and that run can be resumed.
  ProgressOf progress{};
  ReleaseWatcher watcher{};             ///< shown each release; only if a rank is alone
  ReleaseWatcher observer{};            ///< shown releases at the coordinator (RunSides)
  Warn warn{};                          ///< receives a line on how to resume if another rank failed
  WorkerRows* evaluated = nullptr;      ///< test rows, if their metrics share the budget (OpenFit)
  std::vector<double> class_weights{};  ///< of the model's scores (weigh_classes), alike on all ranks; empty: none
  StatisticSource* source = nullptr;    ///< sums over training rows that are elsewhere; only if a rank is alone
};

/// Result of a fit, on every rank. The classifier is the same on all ranks.
struct FittedRun {
  std::shared_ptr<const ResolvedFit> fit;       ///< its guarantee also covers runs that this one resumes
  Classifier classifier;                        ///< linear scores as parts, with the guarantee if there is one; for an
                                                ///< evaluation the evaluated model, for a release all zeros
  std::optional<Selection> chosen_public_rows;  ///< prototypes, if the method chooses them
  std::string chosen_setting;                   ///< by --choose or --isotropy-share; at the coordinator
  std::vector<std::size_t> hidden_targets;      ///< targets whose range noise hides: the model has a constant for them
  Timings timings;                              ///< so far
  // These members keep the charges, and are destroyed in the reverse order.
  std::unique_ptr<PrivateFolder> folder;
  std::unique_ptr<Releaser> releaser;  ///< refers to the ranks, which outlive the releaser
  Communicator* ranks = nullptr;       ///< outlive this object, wherever they are

  /// Ends the run on the ledger, and removes its file. Call it once the result is kept. Does nothing without noise, or
  /// a second time. A run that is destroyed without finish() has stopped: its reservation is released, and its file
  /// remains if it has charged something. Collective. Throws as Releaser::finish at the coordinator, PeerFailed
  /// elsewhere.
  void finish();
};

/// Trains by `fit` on open rows; `training` are this rank's rows. Collective. Preconditions: there is an account if the
/// plan has noise, and there are test rows if the plan releases metrics of them (asserted); rows have the plan's number
/// of features; the plan's public rows are there. Throws as Releaser and for_each_lattice_chunk, with the line that
/// with_way_to_resume adds.
FittedRun train(std::shared_ptr<const ResolvedFit> fit, WorkerRows& training, const PublicRows& public_rows,
                Communicator& ranks, std::optional<FitAccount> account, TrainingTerms terms = {});

/// Runs the whole fit on the files that `options` names. Trains by `terms`, except that threads are --threads and
/// timings begin with the call. Ignores outputs, test rows and format of `options`, which belong to the command.
/// Collective. Throws UsageError if the options of ranks differ or contradict each other, if a fit with noise has no
/// ledger to be charged on, if an account kept elsewhere is to keep a budget or resume, and for a dry run or silos,
/// which need the command. Throws also as open_fit, open_account and train. Every rank throws; PeerFailed if the error
/// is another rank's.
FittedRun fit(const FitOptions& options, Communicator& ranks, Accounts accounts = Accounts::kLedger,
              TrainingTerms terms = {});

/// Runs the same fit on rows in memory. The options name no files of rows, but set classes and --max-labels.
FittedRun fit(const FitOptions& options, const RowsInMemory& rows, Communicator& ranks,
              Accounts accounts = Accounts::kLedger, TrainingTerms terms = {});

}  // namespace dpreduce
