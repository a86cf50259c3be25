#include "worker/kept_chunks.hpp"

#include <utility>

#include "worker/clipped_units.hpp"

namespace dpreduce {
namespace {

// Done once for a chunk that is kept: many passes over it would else do it again and again.
void prepare_for_rounds(LatticeRows& chunk, const WorkerRows& rows, const StreamPlan& plan) {
  chunk.measure_energies(plan.threads);
  if (rows.goes_by_unit()) remember_products(chunk, plan.threads);
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

std::optional<KeptChunks> keep_lattice_chunks(WorkerRows& rows, const RowTransform& transform, const StreamPlan& plan,
                                              KeptFor use, const OnChunk& on_chunk) {
  const std::size_t slots = slots_per_row(rows, plan);
  const std::size_t dim = transform.output_dim() + (use == KeptFor::kProjection ? 1 : 0);  // an intercept
  const std::uint64_t most = most_kept_rows(plan.memory_bytes, transform.input_dim(), dim, slots, rows.goes_by_unit());
  if (rows.range().count > most) return std::nullopt;
  std::optional<KeptChunks> kept(std::in_place);
  const auto keep = [&](LatticeRows chunk) {
    kept->push_back(std::move(chunk));
    if (use == KeptFor::kRounds) prepare_for_rounds(kept->back(), rows, plan);
  };
  take_lattice_chunks(rows, transform, plan, keep, on_chunk);
  return kept;
}

KeptChunks project_kept_chunks(KeptChunks kept, const WorkerRows& rows, const RowTransform& transform,
                               const StreamPlan& plan, const OnChunk& on_chunk) {
  double done = 0.0;
  for (LatticeRows& chunk : kept) {
    LatticeRows projected(lattice_of(transform), chunk.rows(), chunk.labels_per_row());
    projected.assign_projected(transform, chunk, plan.threads);
    chunk = std::move(projected);
    prepare_for_rounds(chunk, rows, plan);
    done += 1.0;
    on_chunk(done / static_cast<double>(kept.size()));
  }
  return kept;
}

}  // namespace dpreduce
