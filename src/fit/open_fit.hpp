// A fit whose rows are open, checked and planned for. Nothing is spent yet.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/fit_plan.hpp"

namespace dpreduce {

/// Rows that the caller holds, which stay as they are until the fit has returned. Training rows are this rank's own;
/// of public and validation rows every rank has all, and reads its even share.
struct RowsInMemory {
  ArrayView train_x;  ///< features, n x d of floats of 2, 4 or 8 bytes
  ArrayView train_y;  ///< class indices, or n x K zeros and ones, of an integer type
  std::optional<ArrayView> public_x{};
  std::optional<ArrayView> validation_x{};
  std::optional<ArrayView> validation_y{};
  std::optional<ArrayView> train_person{};  ///< whose each training row is: integers or strings, one a row
  std::optional<ArrayView> train_weight{};  ///< what each training row counts for: floats, one a row
};

/// Returns `options` with these rows in place of files, named so in messages. Throws UsageError where they name files
/// of rows as well.
FitOptions with_rows_in_memory(FitOptions options, const RowsInMemory& rows);

/// Opens this rank's training rows. Collective. Throws as open_ranked_rows, and WorkerRows::in_memory.
WorkerRows open_training_rows(const RowFiles& train, Communicator& ranks, const RowsInMemory* memory = nullptr);

/// Throws UsageError where labels are zeros and ones without --max-labels, or class indices with it; BadInput where
/// zeros and ones have not a column a class. The noise of labels is made for the bound on a row's labels: the bound is
/// public, and declared by the user.
void require_fitting_labels(WorkerRows& rows, const DataOptions& data);

/// Reads the public and validation features in memory, for a fit with a ledger: before it costs. Throws BadInput where
/// one is not finite, unless under --bad-rows zero.
void require_public_features_in_memory(const RowsInMemory& memory, const DataOptions& data, unsigned threads);

/// Throws UsageError where a person would have rows in more silos than there are.
void require_silos_per_person(const SiloOptions& options, std::uint64_t silos);

struct OpenFit {
  std::shared_ptr<const ResolvedFit> fit{};
  WorkerRows training;                      ///< this rank's
  std::optional<WorkerRows> public_sums{};  ///< this rank's share of public rows that are summed
  std::optional<WorkerRows> validation{};   ///< this rank's share
  std::optional<WorkerRows> candidates{};   ///< all public rows, where prototypes may be chosen among them
  std::optional<WorkerRows> evaluated{};  ///< this rank's test rows, looked at, where figures of them share the budget
  std::unique_ptr<FileClaims> claims{};   ///< a silo's, by which the coordinator knows its files on this machine
  unsigned threads = 1;                   ///< of this rank: --threads

  /// References to the public rows among these. Valid as long as this object stays where it is.
  PublicRows public_rows();
};

/// Opens the rows of `options` (validated), in the files that it names or `memory`'s; keeps the long tail that
/// --imbalance-ratio requests; plans; and checks that the plan fits into this rank's memory. A dry run neither opens
/// validation rows nor looks at a row. Collective. Throws UsageError where rows and options do not fit, where a method
/// whose ranks are silos is given rows that all share, and as ResolvedFit and MachineShare::require; BadInput as the
/// functions above and those of ranked_rows.hpp, and where public or validation rows are training rows
/// (files_once.hpp).
OpenFit open_fit(const FitOptions& options, Communicator& ranks, const RowsInMemory* memory = nullptr);

}  // namespace dpreduce
