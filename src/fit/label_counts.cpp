#include "fit/label_counts.hpp"

#include <algorithm>

#include "common/data/label_slots.hpp"

namespace dpreduce {

std::vector<std::uint64_t> label_counts(ShardedArray& labels, const RowRange& range, std::size_t classes,
                                        Communicator& ranks) {
  constexpr std::uint64_t kLabelsAtOnce = std::uint64_t{1} << 20;
  std::vector<std::uint64_t> counts(classes, 0);
  std::vector<std::int32_t> chunk;
  const std::uint64_t slots = labels.columns() > 1 ? classes : 1;
  const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, kLabelsAtOnce / slots);
  for (std::uint64_t row = range.first; row < range.end(); row += chunk.size() / slots) {
    ranks.check_peers();
    const std::uint64_t rows = std::min(rows_at_once, range.end() - row);
    chunk.resize(rows * slots);
    labels.read_labels(row, rows, classes, chunk);
    for (const std::int32_t label : chunk) {
      if (label != kNoLabel) ++counts[static_cast<std::size_t>(label)];
    }
  }
  return counts;
}

}  // namespace dpreduce
