// Fit whose rows are open and checked, with its plan. Nothing is spent yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/data/memory_array.hpp"
#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Rows that the caller holds, and keeps unchanged until the fit has returned. Training rows are this rank's own. Every
/// rank has all public and validation rows, and reads its even share of them.
struct RowsInMemory {
  ArrayView train_x;  ///< features, n x d of floats of 2, 4 or 8 bytes
  ArrayView train_y;  ///< class indices, or n x K zeros and ones, of an integer type
  std::optional<ArrayView> public_x{};
  std::optional<ArrayView> validation_x{};
  std::optional<ArrayView> validation_y{};
  std::optional<ArrayView> train_person{};  ///< person of each training row: integers or strings, one a row
  std::optional<ArrayView> train_weight{};  ///< weight of each training row: floats, one a row
};

/// Returns `options` with these rows in place of files; messages name them as rows in memory. Throws UsageError if the
/// options name files of rows as well.
FitOptions with_rows_in_memory(FitOptions options, const RowsInMemory& rows);

/// Throws UsageError if labels are zeros and ones without --max-labels, or class indices with it; BadInput if zeros and
/// ones do not have one column a class. The noise of labels is sized for the bound on a row's labels: the bound is
/// public, and the user declares it.
void require_fitting_labels(WorkerRows& rows, const DataOptions& data);

/// Reads this rank's rows once, before anything is reserved: what is wrong with rows beside the training rows costs
/// nothing. Not collective: among silos the coordinator alone may have such rows. Throws BadInput as
/// for_each_feature_chunk; PeerFailed where another rank has failed.
void look_at_rows(WorkerRows& rows, std::size_t classes, BadRows bad_rows, Communicator& ranks);

/// Throws UsageError if a person would have rows in more silos than there are.
void require_silos_per_person(const SiloOptions& options, std::uint64_t silos);

/// Open rows of a fit on this rank, with the resolved fit.
struct OpenFit {
  std::shared_ptr<const ResolvedFit> fit{};
  WorkerRows training;                      ///< this rank's
  std::optional<WorkerRows> public_sums{};  ///< this rank's share of public rows that are summed
  std::optional<WorkerRows> validation{};   ///< this rank's share
  std::optional<WorkerRows> candidates{};   ///< all public rows, if prototypes may be chosen among them
  std::optional<WorkerRows> evaluated{};  ///< this rank's test rows, already checked, if their metrics share the budget
  std::unique_ptr<FileClaims> claims{};   ///< a silo's claims on its files, for the coordinator on this machine
  unsigned threads = 1;                   ///< of this rank: --threads

  /// Returns references to the public rows among these. Valid as long as this object is not moved.
  PublicRows public_rows();
};

/// Opens the rows of `options` (validated), from the files that the options name or from `memory`; keeps the long tail
/// that --imbalance-ratio requests; makes the plan; and checks that the plan fits into this rank's memory. A dry run
/// neither opens validation rows nor reads a row. Collective. Throws UsageError if rows and options do not fit, if a
/// method whose ranks are silos is given rows that all ranks share, and as ResolvedFit and MachineShare::require.
/// Throws BadInput as the functions above and those of ranked_rows.hpp, and if public or validation rows are training
/// rows (files_once.hpp).
OpenFit open_fit(const FitOptions& options, Communicator& ranks, const RowsInMemory* memory = nullptr);

}  // namespace dpreduce
