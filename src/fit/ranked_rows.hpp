// Rows that are spread over the ranks: opening them, and counting their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Owner of rows in a run among silos. In other jobs all ranks share the rows, or each rank has its own.
enum class RowsOfSilos {
  kEachItsOwn,  ///< training rows: each silo has its own, the coordinator none
  kCoordinator  ///< public, validation and test rows
};

/// Opens the rows of worker `worker` of `workers`, for a model. Throws BadInput as WorkerRows::open, and if they have
/// another number of features than the model, or name them otherwise or in another order.
WorkerRows open_rows_for(const Classifier& model, const std::string& name_of_model, const RowFiles& options, int worker,
                         int workers);

/// Throws BadInput naming the rows unless they have `input_dim` features.
void require_features_of(const WorkerRows& rows, std::size_t input_dim, const std::string& name);

/// Throws BadInput naming the file and the first column that differs if these rows name their features, targets or
/// columns of labels, and training rows name theirs otherwise or in another order. Among silos the coordinator knows a
/// digest of all names alone, and the message names no column.
void require_columns_of(const WorkerRows& rows, const WorkerRows& training);

/// Throws BadInput if tables of ranks have other columns than the first rank's that name theirs, or another order.
/// Otherwise rows of all ranks get these names. Nothing is compared among silos. Collective.
void agree_on_columns(WorkerRows& rows, Communicator& ranks);

/// Opens this rank's rows beside `training`. Not collective. Throws as WorkerRows::open and require_columns_of, and
/// BadInput if the rows have another number of features.
WorkerRows open_rows_of_rank(const RowFiles& options, const WorkerRows& training, const Communicator& ranks);

/// Opens this rank's rows, with the same number of features on every rank. Collective. Throws BadInput and UsageError
/// as WorkerRows::open does. Throws BadInput if files of ranks differ in their number of features, or in the names
/// or the order of their columns (features and targets; the rows then have the names of the first rank that has some,
/// but not among silos), a file would count for two ranks, or a file that matches {rank} would count for none.
WorkerRows open_ranked_rows(const RowFiles& options, Communicator& ranks, RowsOfSilos whose = RowsOfSilos::kEachItsOwn);

/// Opens this rank's own rows in memory, as open_ranked_rows. Messages name the rows by `options`. A rank may have no
/// rows. Collective. Throws BadInput as WorkerRows::in_memory, and if the rows of ranks differ in their number of
/// features.
WorkerRows ranked_rows_in_memory(const ArrayView& x, const ArrayView& y, const RowFiles& options, Communicator& ranks);

/// Counts the labels of the rows in `range` by class, for class indices and for zeros and ones. Throws BadInput if a
/// label is no class, unless such labels are accepted (UnlistedLabels): those count nowhere. Throws PeerFailed if
/// another rank fails.
std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks);

}  // namespace dpreduce
