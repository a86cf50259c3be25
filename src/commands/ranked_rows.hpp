// Training rows that are spread over the ranks.
#pragma once

#include "common/data/rows_options.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Whose rows they are in a run among silos. In other jobs all ranks share them, or each has its own.
enum class RowsOfSilos {
  kEachItsOwn,  ///< training rows: each silo has its own, the coordinator none
  kCoordinator  ///< public, validation and test rows
};

/// This rank's rows of `dim` features. Not collective. Throws as WorkerRows::open, and BadInput where their number of
/// features is another.
WorkerRows open_rows_of_rank(const RowsOptions& options, std::size_t dim, const Communicator& ranks);

/// This rank's rows, with the same number of features on every rank. Collective. Throws BadInput and UsageError as
/// WorkerRows::open does, and BadInput where ranks' own files differ in their number of features, where a file would
/// count for two ranks, and where one beside those of {rank} would count for none (files_once.hpp).
WorkerRows open_ranked_rows(const RowsOptions& options, Communicator& ranks,
                            RowsOfSilos whose = RowsOfSilos::kEachItsOwn);

}  // namespace dpreduce
