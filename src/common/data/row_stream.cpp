#include "common/data/row_stream.hpp"

#include <algorithm>
#include <limits>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// A chunk ends with its file where it has this share of a whole one: its rows then stay where they lie.
constexpr std::uint64_t kLeastShare = 4;

}  // namespace

std::size_t rows_per_chunk(std::size_t budget_bytes, std::size_t dim, std::size_t labels_per_row) {
  DPREDUCE_ASSERT(dim >= 1 && dim < std::numeric_limits<std::size_t>::max() / 8);
  const std::size_t row_bytes = dim * sizeof(float) + labels_per_row * sizeof(std::int32_t);
  if (budget_bytes < row_bytes) {
    throw UsageError("a memory budget of {} bytes holds no row of {} features; give at least {} bytes", budget_bytes,
                     dim, row_bytes);
  }
  return budget_bytes / row_bytes;
}

RowStream::RowStream(WorkerRows& data, std::uint64_t classes, std::size_t rows_per_chunk, std::size_t labels_per_row)
    : data_(data),
      classes_(classes),
      rows_per_chunk_(rows_per_chunk),
      labels_per_row_(labels_per_row),
      next_row_(data.range().first) {
  DPREDUCE_ASSERT(rows_per_chunk >= 1 && labels_per_row >= 1);
}

RowRange RowStream::chunk_from(std::uint64_t row) const {
  const std::uint64_t most = std::min<std::uint64_t>(rows_per_chunk_, data_.range().end() - row);
  if (most == 0) return {row, 0};
  const std::uint64_t together = data_.features().rows_together(row, most);
  return {row, together < rows_per_chunk_ / kLeastShare ? most : together};
}

std::optional<RowChunk> RowStream::next() {
  data_.features().release_rows(given_.first, given_.count);
  given_ = {next_row_, 0};
  const RowRange rows = chunk_from(next_row_);
  if (rows.count == 0) return std::nullopt;

  RowChunk chunk{
      rows.first, data_.features().features_in_place(rows.first, rows.count), {}, rows.count, labels_per_row_};
  if (chunk.features.empty()) {
    features_.resize(rows.count * data_.dim());
    data_.features().read_features(rows.first, rows.count, features_);
    chunk.features = features_;
  }
  if (data_.has_labels()) {
    labels_.resize(rows.count * labels_per_row_);
    data_.labels().read_labels(rows.first, rows.count, classes_, labels_);
    chunk.labels = labels_;
  }
  const RowRange ahead = chunk_from(rows.end());
  data_.features().expect_rows(ahead.first, ahead.count);
  given_ = rows;
  next_row_ = rows.end();
  return chunk;
}

void RowStream::rewind() {
  next_row_ = data_.range().first;
}

}  // namespace dpreduce
