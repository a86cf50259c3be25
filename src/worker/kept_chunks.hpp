// A worker's rows kept as lattice chunks, so that rows are read, transformed and rounded only once for many passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "worker/lattice_stream.hpp"

namespace dpreduce {

/// All chunks of a worker's rows.
using KeptChunks = std::vector<LatticeRows>;

/// Bytes of a row that is kept as integers: 2 d, 4 k and 5, and 4 + d / 256 for its energies (integer_kernel.hpp); a
/// weight takes 4 more. By unit: 8 more for weight and unit, and the remembered products (clipped_units.hpp).
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
/// more chunk that is being made. If the pass goes by unit, products of a unit's rows are remembered
/// (clipped_units.hpp). Cost: bytes_per_kept_row. Throws as for_each_lattice_chunk.
std::optional<KeptChunks> keep_lattice_chunks(const RowPass& pass, KeptFor use);

/// Returns the chunks that keep_lattice_chunks would keep of these rows for rounds, made without reading them. `kept`
/// holds the same rows before the transform's projection (is_projection_of). The memory of a chunk is freed as soon as
/// the chunk has been projected.
KeptChunks project_kept_chunks(KeptChunks kept, const RowPass& pass);

}  // namespace dpreduce
