// A worker's rows as they were stored, chunk by chunk: for scoring by a model, which prepares the rows itself.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {

/// Bytes of the row buffers of one rank during prediction.
inline constexpr std::size_t kPredictionMemory = std::size_t{64} << 20;

/// Number of rows of a chunk: at most 4096, and as many as fit into kPredictionMemory with their features (as read,
/// decoded and mended), label slots and K scores; at least 1.
std::size_t rows_predicted_at_once(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row);
/// Bytes that one such row uses.
std::size_t bytes_of_predicted_row(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row);

/// Callback for each chunk of rows and its features, c x d, which are finite.
using OnFeatureChunk = std::function<void(const RowChunk&, std::span<const float> features)>;

/// Calls `visit` with each chunk of the worker's rows, with labels of K = `classes`; label sets have K slots a row.
/// Rows with a NaN or an infinity stop the pass (BadRows::kFail, throws BadInput) or become zero rows. `on_chunk` is
/// called before each chunk with the share of rows done, and may throw to end the pass. Throws as RowStream.
void for_each_feature_chunk(WorkerRows& rows, std::size_t classes, BadRows bad_rows, const OnFeatureChunk& visit,
                            const OnChunk& on_chunk);

/// Returns whether a row of the chunk has at most `most` classes. A row with more classes stops the pass under
/// BadRows::kFail (throws BadInput) unless `rows` accept any number of labels. A row with more classes that does not
/// stop the pass must count nowhere.
bool has_few_classes(const RowChunk& chunk, std::size_t row, std::size_t most, BadRows bad_rows,
                     const WorkerRows& rows);

}  // namespace dpreduce
