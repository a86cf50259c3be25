#include "dpreduce/worker/lattice_stream.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/data/row_stream.hpp"

namespace dpreduce {
namespace {

// Small enough that a chunk's integers are still in the second-level cache when they are summed.
constexpr std::size_t kMostRowsPerChunk = 4096;

}  // namespace

std::size_t bytes_per_row(const Preprocessing& preprocessing) {
  return sizeof(float) * preprocessing.input_dim + sizeof(std::int16_t) * preprocessing.output_dim() +
         2 * sizeof(std::int32_t);
}

void for_each_lattice_chunk(WorkerRows& rows, const RowTransform& transform, const StreamPlan& plan,
                            const std::function<void(const LatticeRows&)>& visit, const OnChunk& on_chunk) {
  const std::size_t row_bytes = bytes_per_row(transform.preprocessing());
  if (plan.memory_bytes < row_bytes) {
    throw UsageError(fmt::format("--memory: one row needs {} bytes; allow more", row_bytes));
  }
  const std::size_t chunk_rows = std::min(plan.memory_bytes / row_bytes, kMostRowsPerChunk);
  RowStream stream(rows, plan.classes, chunk_rows);
  const Lattice lattice{transform.preprocessing().clip_norm, transform.output_dim()};
  LatticeRows chunk(lattice, chunk_rows);
  const std::vector<std::int32_t> one_class(rows.has_labels() ? 0 : chunk_rows, 0);

  const double total = static_cast<double>(std::max<std::uint64_t>(rows.range().count, 1));
  while (const auto read = stream.next()) {
    const auto labels = rows.has_labels() ? read->labels : std::span(one_class).first(read->rows);
    chunk.assign(transform, read->features, labels, plan.threads);
    if (plan.bad_rows == BadRows::kFail && chunk.first_bad_row() < chunk.rows()) {
      throw BadInput(fmt::format("{}: not a finite number; mend the file, or use --bad-rows zero{}",
                                 rows.where(read->first_row + chunk.first_bad_row()), kForOwnerOnly));
    }
    visit(chunk);
    on_chunk(static_cast<double>(read->first_row + read->rows - rows.range().first) / total);
  }
}

}  // namespace dpreduce
