// A fit as one call: from rows, in files or in memory, to a classifier whose releases are charged.
//
//     fit(options, ranks)         open_fit  ->  open_account  ->  train      rows in the files that the options name
//     fit(options, rows, ranks)   the same                                   rows in memory
//
// Nothing is printed, and no model or report is written. The caller keeps what it wants of the result, and then every
// rank calls finish(). Until that another run can go on with what a killed one has saved.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/fit_account.hpp"
#include "fit/open_fit.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Place where the account of a fit's spending is kept.
enum class Accounts {
  kLedger,    ///< the ledger that the options name, with its limit
  kElsewhere  ///< the caller, by FittedRun::fit->plan(), before it shows anybody the result; no ledger is left
};

/// Returns `options`, validated, for a fit that is called rather than started by the command. Throws UsageError where
/// they name no training rows, or no ledger that a fit with noise could be charged on; where they want something of an
/// account kept elsewhere, a dry run, or silos; as validated.
FitOptions checked_call(FitOptions options, const Communicator& ranks, Accounts accounts);

/// Returns where every rank has the same options and the same `accounts`; but for those of its machine, test rows and
/// the paths of ledger and outputs, which serve at the coordinator. Noise is made for the options of rank 0: a rank
/// that clipped its rows by another norm would be covered by none. Collective; not among silos, which compare digests.
/// Throws UsageError where this rank's are not those of rank 0, BadInput where its features have other names,
/// PeerFailed elsewhere.
void require_one_call(const FitOptions& options, Accounts accounts, Communicator& ranks);

/// Function that gets a line for the user; may be null.
using Warn = std::function<void(const std::string&)>;

/// Does the work. Where the run has charged something and can be resumed, an error also reports what the next start may
/// do about it. Where the error is another rank's, `warn` gets that line.
void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work);

/// Terms of a rank's training, and its observers.
struct TrainingTerms {
  unsigned threads = 1;
  std::optional<std::size_t> memory_bytes{};  ///< of row buffers; empty: --memory
  Timings timings{};                          ///< begun by the caller: what it did before is in the phase "open"
  /// Called at the beginning of each pass over rows. Returns what is called between chunks of them, with the share of
  /// rows that is done, on the thread that trains. Null: progress is not shown. Either may throw, e.g. Interrupted: the
  /// fit then ends on every rank, here with that exception, elsewhere with PeerFailed; what was charged stays charged,
  /// and can be resumed.
  ProgressOf progress{};
  ReleaseWatcher watcher{};           ///< shown each release; only where a rank is alone
  ReleaseWatcher observer{};          ///< shown releases at the coordinator (RunSides)
  Warn warn{};                        ///< gets a line on how to resume where another rank failed
  WorkerRows* evaluated = nullptr;    ///< test rows, where figures of them share the budget (OpenFit)
  StatisticSource* source = nullptr;  ///< of sums over training rows that are elsewhere; only where a rank is alone
};

/// The result of a fit. On every rank, where the classifier is the same.
struct FittedRun {
  std::shared_ptr<const ResolvedFit> fit;  ///< its guarantee is of runs that this one goes on from as well
  Classifier classifier;  ///< its parts are the linear scores, with the guarantee where there is one; of an
                          ///< evaluation the model that was evaluated, of a release all zeros
  std::optional<Selection> chosen_public_rows;  ///< as prototypes, where the method chooses
  std::string chosen_setting;                   ///< by --choose or --isotropy-share; at the coordinator
  std::vector<std::size_t> hidden_targets;      ///< whose range noise hides: the model has a constant for them
  Timings timings;                              ///< so far
  LedgerHead ledger_before{};                   ///< where the ledger stood; at the coordinator
  // These keep the charges, and are destroyed in the reverse order.
  std::unique_ptr<PrivateFolder> folder;
  std::unique_ptr<Releaser> releaser;  ///< refers to the ranks, which outlive it
  Communicator* ranks = nullptr;       ///< which outlive this, where they are

  /// Ends the run on the ledger, and removes its file. Call it when the result is kept. Collective; does nothing
  /// without noise, or a second time. A run that is destroyed without it has stopped: its reservation is released, and
  /// its file remains if it has charged something. Throws as Releaser::finish at the coordinator, PeerFailed elsewhere.
  void finish();
};

/// Trains by `fit` on open rows; `training` are this rank's. Collective. Preconditions: there is an account where the
/// plan has noise, and test rows where the plan releases metrics of them (asserted); rows have the plan's number of
/// features; the plan's public rows are there. Throws as Releaser and for_each_lattice_chunk, with what
/// with_way_to_resume adds.
FittedRun train(std::shared_ptr<const ResolvedFit> fit, WorkerRows& training, const PublicRows& public_rows,
                Communicator& ranks, std::optional<FitAccount> account, TrainingTerms terms = {});

/// Runs the whole fit on the files that `options` names. Trains by `terms`, except that threads are --threads and
/// timings begin with the call. Ignores outputs, test rows and format of `options`, which belong to the command.
/// Collective. Throws UsageError if the options of ranks differ (require_one_call) or contradict each other. Throws
/// UsageError if a fit with noise has no ledger to be charged on, if an account kept elsewhere is to keep a budget or
/// resume, and for a dry run or silos, which need the command. Throws also as open_fit, open_account and train. Every
/// rank throws; PeerFailed if the error is another rank's.
FittedRun fit(const FitOptions& options, Communicator& ranks, Accounts accounts = Accounts::kLedger,
              TrainingTerms terms = {});

/// Runs the same fit on rows in memory. The options name no files of rows, but set classes and --max-labels.
FittedRun fit(const FitOptions& options, const RowsInMemory& rows, Communicator& ranks,
              Accounts accounts = Accounts::kLedger, TrainingTerms terms = {});

}  // namespace dpreduce
