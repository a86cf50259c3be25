// The rows of a fit, opened and checked before anything is spent.
#pragma once

#include <cstddef>
#include <optional>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// The bound on a row's labels is what their noise is made for: it is public, and the user's word. Throws UsageError
/// where labels are zeros and ones without --max-labels, or class indices with it; BadInput where zeros and ones have
/// not a column a class.
void check_labels(WorkerRows& rows, const DataOptions& data);

/// This rank's share of --public-x, for sums of them; none where nothing is summed. Collective. Throws BadInput where
/// rows have not `dim` features, and as open_ranked_rows.
std::optional<WorkerRows> open_public_rows(const FitOptions& options, std::size_t dim, Communicator& ranks);

/// All of --public-x, for every rank to choose prototypes from; none where no method chooses. Collective. Throws
/// UsageError where ranks name files of their own; BadInput where rows have not `dim` features, or are fewer than
/// --top-k, or not the same on every rank.
std::optional<WorkerRows> open_candidates(const FitOptions& options, std::size_t dim, Communicator& ranks);

}  // namespace dpreduce
