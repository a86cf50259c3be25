#include "aggregator/solvers/row_groups.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostRows = 192;  // with half as many products take a tenth longer

}  // namespace

// Even numbers, so that two ranks have as many of them.
RowGroups::RowGroups(std::size_t count)
    : count_(count), groups_(count <= kMostRows ? 1 : 2 * ((count + 2 * kMostRows - 1) / (2 * kMostRows))) {
  DPREDUCE_ASSERT(count > 0);
}

void RowGroups::make_all(std::span<double> rows, const Make& make) const {
  DPREDUCE_ASSERT(rows.size() % count_ == 0);
  const std::size_t length = rows.size() / count_;
  for (std::size_t group = 0; group < groups_; ++group) {
    const std::size_t first = count_ * group / groups_;
    make(first, rows.subspan(first * length, (count_ * (group + 1) / groups_ - first) * length));
  }
}

void RowGroups::make_on_ranks(Communicator& ranks, std::span<double> rows, const Make& make) const {
  int next = 0;  // rank
  ranks.together([&] {
    make_all(rows, [&](std::size_t first, std::span<double> group) {
      const bool is_own = next == ranks.rank();
      next = (next + 1) % ranks.owners();
      if (is_own) return make(first, group);
      std::ranges::fill(group, 0.0);
    });
  });
  if (ranks.owners() == 1) return ranks.broadcast(rows);
  ranks.sum_everywhere(rows);  // exact: one summand is not 0
}

}  // namespace dpreduce
