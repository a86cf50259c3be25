#include "worker/kept_chunks.hpp"

#include <utility>

#include "worker/clipped_units.hpp"

namespace dpreduce {
namespace {

// Done once for a chunk that is kept: many passes over it would else do it again and again.
void prepare_for_rounds(LatticeRows& chunk, const RowPass& pass) {
  chunk.measure_energies(pass.plan.threads);
  if (pass.rows.goes_by_unit()) remember_products(chunk, pass.plan.threads);
}

}  // namespace

std::size_t bytes_per_kept_row(std::size_t output_dim, std::size_t labels_per_row, bool by_unit) {
  const std::size_t energies =
      sizeof(std::uint32_t) * (1 + (output_dim + kEnergyColumns - 1) / kEnergyColumns / kEnergyRows);
  const std::size_t of_unit = by_unit ? sizeof(RowWeight) + sizeof(std::uint32_t) + kBytesRememberedOfRow : 0;
  const std::size_t norm = sizeof(std::uint32_t);
  return sizeof(std::int16_t) * output_dim + sizeof(std::int32_t) * labels_per_row + sizeof(char) + norm + energies +
         of_unit;
}

std::uint64_t most_kept_rows(std::size_t memory_bytes, std::size_t input_dim, std::size_t output_dim,
                             std::size_t labels_per_row, bool by_unit) {
  const std::size_t row_bytes = bytes_per_row(input_dim, output_dim, labels_per_row);
  const std::size_t in_the_making = rows_of_chunk(memory_bytes, row_bytes) * row_bytes;
  return (memory_bytes - in_the_making) / bytes_per_kept_row(output_dim, labels_per_row, by_unit);
}

std::optional<KeptChunks> keep_lattice_chunks(const RowPass& pass, KeptFor use) {
  const std::size_t dim = pass.transform.output_dim() + (use == KeptFor::kProjection ? 1 : 0);  // an intercept
  const std::uint64_t most = most_kept_rows(pass.plan.memory_bytes, pass.transform.input_dim(), dim,
                                            pass.slots_per_row(), pass.rows.goes_by_unit());
  if (pass.rows.range().count > most) return std::nullopt;
  std::optional<KeptChunks> kept(std::in_place);
  take_lattice_chunks(pass, [&](LatticeRows chunk) {
    kept->push_back(std::move(chunk));
    if (use == KeptFor::kRounds) prepare_for_rounds(kept->back(), pass);
  });
  return kept;
}

KeptChunks project_kept_chunks(KeptChunks kept, const RowPass& pass) {
  double done = 0.0;
  for (LatticeRows& chunk : kept) {
    LatticeRows projected(pass.lattice(), chunk.rows(), chunk.labels_per_row());
    projected.assign_projected(pass.transform, chunk, pass.plan.threads);
    chunk = std::move(projected);
    prepare_for_rounds(chunk, pass);
    done += 1.0;
    pass.on_chunk(done / static_cast<double>(kept.size()));
  }
  return kept;
}

}  // namespace dpreduce
