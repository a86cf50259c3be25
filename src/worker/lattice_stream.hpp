// A worker's rows as lattice chunks: read, transformed, rounded and checked, one bounded chunk after the other. Chunks
// may be kept for many passes. A model that prepares the rows itself gets them as they were stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/data/row_files.hpp"
#include "common/data/worker_rows.hpp"
#include "common/kernels/matrix_view.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {

/// Plan of a worker's pass through its rows.
struct StreamPlan {
  std::size_t classes = 0;  ///< K, for the check of labels
  BadRows bad_rows = BadRows::kFail;
  std::size_t memory_bytes = 0;  ///< for the float and the integer form of one chunk
  unsigned threads = 1;
  std::size_t labels_per_row = 1;  ///< k, the most classes of a row
};

/// Largest number of rows of a chunk: small enough that a chunk's integers are still in the second-level cache when
/// they are summed.
inline constexpr std::size_t kMostRowsPerChunk = 4096;

/// Callback after each chunk with the share of rows done, in [0, 1]. May throw to end the pass.
using OnChunk = std::function<void(double)>;

/// Pass through a worker's rows. All of it outlives the object.
struct RowPass {
  WorkerRows& rows;
  const RowTransform& transform;
  const StreamPlan& plan;
  const OnChunk& on_chunk;

  /// Lattice (C, d) of the transformed rows.
  Lattice lattice() const { return {transform.preprocessing().clip_norm, transform.output_dim()}; }
  /// Number of label slots of a row in a chunk: k, or one if `rows` have no labels.
  std::size_t slots_per_row() const { return rows.has_labels() ? plan.labels_per_row : 1; }
};

/// Bytes of one row in both forms, and of one row of the next chunk: 4 d_in + 4 d bytes and three times k labels.
std::size_t bytes_per_row(const Preprocessing& preprocessing, std::size_t labels_per_row = 1);

/// Same for rows with d_in = input_dim features that become d = output_dim.
std::size_t bytes_per_row(std::size_t input_dim, std::size_t output_dim, std::size_t labels_per_row);

/// Number of rows of a chunk of `memory_bytes`, at row_bytes each: as many as fit, at most 4096. Throws UsageError if
/// not one row fits.
std::size_t rows_of_chunk(std::size_t memory_bytes, std::size_t row_bytes);

/// Throws UsageError if as many rows as are clipped together (row_units.hpp) do not fit into plan.memory_bytes,
/// whatever the rows are. If they fit, so does every unit of a pass that goes by unit.
void require_room_for_units(const Preprocessing& preprocessing, const StreamPlan& plan);

/// Calls `visit` with each chunk of the worker's rows, in order. The chunk's rows are `transform`ed and rounded to the
/// lattice of (C, d); labels are k slots a row (one, of class 0, if the rows have none). If the pass goes by unit,
/// chunks are of whole units, and have more rows than rows_of_chunk if one unit has more. By unit, features are read
/// from their place in the files, and labels of all rows are read ahead: 4 k bytes a row beside plan.memory_bytes. With
/// several threads, and not by unit, the next chunk is prepared while one is visited, and `visit` still runs on the
/// caller's thread: `visit` must not use the rows. Throws BadInput if rows cannot be read, a label is not a class, or
/// (BadRows::kFail) a row has a NaN, an infinity or more than k classes, naming file and row; UsageError if
/// memory_bytes do not hold one row, or one unit's rows.
void for_each_lattice_chunk(const RowPass& pass, const std::function<void(const LatticeRows&)>& visit);

/// Filter that selects the rows of a pass by their classes. Called once for each row, in order.
using RowFilter = std::function<bool(std::span<const std::int32_t> classes)>;

/// Calls `visit` likewise, with only the rows for which `wants` returns true. Other rows are not transformed and, if a
/// file holds native float32, not read; whether they are finite is not known. Chunks are filled up with selected rows.
/// `weights`, if given, are those of the rows of range(), and replace the rows' own weights. Precondition (asserted):
/// rows have labels. Memory of one row: 4 d_in more.
void for_each_lattice_chunk_of(const RowFilter& wants, const RowPass& pass,
                               const std::function<void(const LatticeRows&)>& visit,
                               std::span<const RowWeight> weights = {});

/// Returns whether all entries are finite.
bool are_finite(std::span<const float> features);

/// Throws BadInput: an element of the row is NaN or infinite. `where` names the row, for its owner.
[[noreturn]] void refuse_not_finite(const std::string& where);

/// Throws BadInput: the row has `labels` labels, and --max-labels allows `most`.
[[noreturn]] void refuse_surplus_labels(const std::string& where, std::size_t labels, std::size_t most);

/// View of the chunk's rows, n x d, with their energies.
inline Int16View view_of(const LatticeRows& chunk) {
  return chunk.energies().with({chunk.values(), chunk.rows(), chunk.dim(), chunk.dim()});
}

// Rows kept as lattice chunks, so that rows are read, transformed and rounded only once for many passes.

/// All chunks of a worker's rows.
using KeptChunks = std::vector<LatticeRows>;

/// Bytes of a row that is kept as integers: 2 d, 4 k and 5, and 4 + d / 256 for its energies (integer_kernel.hpp); a
/// weight takes 4 more. By unit: 8 more for weight and unit, and the remembered products (weighted_rows.hpp).
std::size_t bytes_per_kept_row(std::size_t output_dim, std::size_t labels_per_row, bool by_unit);

/// Largest number of rows that keep_lattice_chunks keeps: as many as fit beside one chunk that is being made. Throws as
/// rows_of_chunk.
std::uint64_t most_kept_rows(std::size_t memory_bytes, std::size_t input_dim, std::size_t output_dim,
                             std::size_t labels_per_row, bool by_unit);

/// Purpose for which rows are kept.
enum class KeptFor {
  kRounds,      ///< many passes: the rows' energies are measured, and products of a unit's rows remembered
  kProjection,  ///< one pass, and then project_kept_chunks to as many features and an intercept
};

/// Returns the rows of for_each_lattice_chunk, in chunks; nullopt if they do not fit into plan.memory_bytes beside one
/// more chunk that is being made, on the caller's thread. If the pass goes by unit, products of a unit's rows are
/// remembered (weighted_rows.hpp). Cost: bytes_per_kept_row. Throws as for_each_lattice_chunk.
std::optional<KeptChunks> keep_lattice_chunks(const RowPass& pass, KeptFor use);

/// Returns the chunks that keep_lattice_chunks would keep of these rows for rounds, made without reading them. `kept`
/// holds the same rows before the transform's projection (is_projection_of). The memory of a chunk is freed as soon as
/// the chunk has been projected.
KeptChunks project_kept_chunks(KeptChunks kept, const RowPass& pass);

// Rows as they were stored, chunk by chunk: for scoring by a model, which prepares the rows itself.

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
