// A classifier on test rows that are spread over the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "dpreduce/config/options.hpp"
#include "dpreduce/data/row_stream.hpp"
#include "dpreduce/model/classifier.hpp"
#include "dpreduce/model/metrics.hpp"
#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// Row buffers of one rank while it predicts.
inline constexpr std::size_t kPredictionMemory = std::size_t{64} << 20;

/// Threads of this rank where the user names none: every core alone, one under a launcher.
unsigned default_threads();

/// Calls `visit` with each chunk of the worker's rows, its features finite: rows with a NaN or an infinity stop the
/// pass (BadRows::kFail, throws BadInput) or become zero rows. For use inside `together`: looks after peers between
/// chunks.
void for_each_chunk(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                    const std::function<void(const RowChunk&)>& visit);

/// Opens the rows of worker `worker` of `workers` and checks that they have the model's `input_dim` features. Throws
/// BadInput.
WorkerRows open_rows_for(std::size_t input_dim, const RowsOptions& options, int worker, int workers);

/// How many of these labels every class has. Throws BadInput where one is no class; PeerFailed where another rank
/// fails.
std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks);

/// The confusion matrix over all ranks' `rows`, known to every rank. Collective. Throws BadInput as for_each_chunk
/// does.
ConfusionMatrix evaluate_on_ranks(Communicator& ranks, const Classifier& classifier, WorkerRows& rows, BadRows bad_rows,
                                  unsigned threads);

}  // namespace dpreduce
