// Training rows that are spread over the ranks.
#pragma once

#include "dpreduce/config/options.hpp"
#include "dpreduce/data/worker_rows.hpp"
#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// This rank's rows, with the same number of features on every rank. Collective. Throws BadInput and UsageError as
/// WorkerRows::open does, and BadInput where ranks' own files differ in their number of features.
WorkerRows open_ranked_rows(const RowsOptions& options, Communicator& ranks);

}  // namespace dpreduce
