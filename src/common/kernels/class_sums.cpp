#include "common/kernels/class_sums.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

// Rows that are grouped at a time. An int32 holds the sum of that many values: 65535 * 32768 < 2^31.
constexpr std::size_t kChunkRows = 65535;
// Columns that one step sums: its int32 sums stay in the first-level cache.
constexpr std::size_t kColumnBlock = 1024;
// Rows that are added in one pass over those sums.
constexpr std::size_t kTogether = 4;

// Every label is one of so many classes, and each class of a row comes after the one before it, none after an empty
// slot.
void require_labels(std::span<const std::int32_t> labels, std::size_t per_row, std::size_t classes) {
  for (std::size_t place = 0; place < labels.size(); ++place) {
    const std::int32_t label = labels[place];
    if (label < 0) continue;
    DPREDUCE_ASSERT(static_cast<std::size_t>(label) < classes);
    DPREDUCE_ASSERT(place % per_row == 0 || (labels[place - 1] >= 0 && labels[place - 1] < label));
  }
}

// The rows of a chunk, ordered by class, once for each class of theirs: class j has order[begin[j]] ... order[begin[j
// + 1] - 1].
struct RowsByClass {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> order;

  // Counting sort.
  void group(std::span<const std::int32_t> labels, std::size_t per_row, std::size_t classes) {
    begin.assign(classes + 1, 0);
    for (const std::int32_t label : labels) {
      if (label >= 0) ++begin[static_cast<std::size_t>(label) + 1];
    }
    for (std::size_t j = 0; j < classes; ++j) begin[j + 1] += begin[j];
    order.resize(begin[classes]);
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t place = 0; place < labels.size(); ++place) {
      if (labels[place] < 0) continue;
      order[next[static_cast<std::size_t>(labels[place])]++] = static_cast<std::uint32_t>(place / per_row);
    }
  }
};

void prefetch(const std::int16_t* values, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(std::int16_t);
  for (std::size_t column = 0; column < count; column += kLine) __builtin_prefetch(values + column);
}

// sums[a] += sum over the chosen rows of row[first_column + a], a < count <= kColumnBlock.
void add_rows(const Int16View& rows, std::size_t first_row, std::span<const std::uint32_t> chosen,
              std::size_t first_column, std::size_t count, std::int64_t* sums) {
  std::array<std::int32_t, kColumnBlock> partial{};
  const auto row = [&](std::size_t position) { return rows.row(first_row + chosen[position]) + first_column; };
  std::size_t position = 0;
  for (; position + kTogether <= chosen.size(); position += kTogether) {
    // The rows of a class lie far apart: the next ones are asked for now.
    const std::size_t ahead_end = std::min(position + 2 * kTogether, chosen.size());
    for (std::size_t ahead = position + kTogether; ahead < ahead_end; ++ahead) prefetch(row(ahead), count);
    const std::int16_t* row0 = row(position);
    const std::int16_t* row1 = row(position + 1);
    const std::int16_t* row2 = row(position + 2);
    const std::int16_t* row3 = row(position + 3);
    for (std::size_t column = 0; column < count; ++column) {
      partial[column] += (row0[column] + row1[column]) + (row2[column] + row3[column]);
    }
  }
  for (; position < chosen.size(); ++position) {
    const std::int16_t* last = row(position);
    for (std::size_t column = 0; column < count; ++column) partial[column] += last[column];
  }
  for (std::size_t column = 0; column < count; ++column) sums[column] = ring_sum(sums[column], partial[column]);
}

}  // namespace

void accumulate_class_sums(const Int16View& rows, std::span<const std::int32_t> labels, const Int64View& sums,
                           unsigned threads) {
  const std::size_t per_row = rows.rows == 0 ? 1 : labels.size() / rows.rows;
  DPREDUCE_ASSERT(labels.size() == rows.rows * per_row && per_row >= 1 && sums.cols == rows.cols && threads >= 1);
  DPREDUCE_ASSERT(rows.stride >= rows.cols && sums.stride >= sums.cols);
  require_labels(labels, per_row, sums.rows);
  if (rows.rows == 0 || rows.cols == 0) return;

  ThreadTeam team(threads);
  RowsByClass by_class;
  const std::size_t column_blocks = (rows.cols + kColumnBlock - 1) / kColumnBlock;
  for (std::size_t first_row = 0; first_row < rows.rows; first_row += kChunkRows) {
    const std::size_t chunk_rows = std::min(kChunkRows, rows.rows - first_row);
    by_class.group(labels.subspan(first_row * per_row, chunk_rows * per_row), per_row, sums.rows);
    team.for_each(sums.rows * column_blocks, [&](std::size_t step) {
      const std::size_t class_index = step / column_blocks;
      const std::size_t first_column = step % column_blocks * kColumnBlock;
      const std::span<const std::uint32_t> chosen(by_class.order.data() + by_class.begin[class_index],
                                                  by_class.begin[class_index + 1] - by_class.begin[class_index]);
      if (chosen.empty()) return;
      add_rows(rows, first_row, chosen, first_column, std::min(kColumnBlock, rows.cols - first_column),
               sums.row(class_index) + first_column);
    });
  }
}

}  // namespace dpreduce
