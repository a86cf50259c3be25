#include "common/silos/neighbor_graph.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace dpreduce {

NeighborGraph::NeighborGraph(std::vector<std::uint32_t> participants, std::uint32_t threshold, std::uint32_t colluding)
    : participants_(std::move(participants)) {
  const auto n = static_cast<std::uint32_t>(participants_.size());
  DPREDUCE_ASSERT(n >= 2 && threshold >= 1 && threshold <= n);
  DPREDUCE_ASSERT(std::adjacent_find(participants_.begin(), participants_.end(), std::greater_equal<>()) ==
                  participants_.end());
  degree_ = n - 1;
  share_threshold_ = threshold;
  least_neighbors_ = threshold - 1;
  if (n < kSilosForAGraph) return;
  const std::uint32_t lost = n - threshold;
  for (std::uint32_t degree = 2; degree < n - 1; degree += 2) {
    const std::uint32_t shares = (degree + 1 + colluding) / 2 + 1;
    if (degree + 1 < shares + lost || lost + colluding >= degree) continue;
    degree_ = degree;
    share_threshold_ = shares;
    least_neighbors_ = degree - lost;
    return;
  }
}

bool NeighborGraph::contains(std::uint32_t party) const {
  return std::binary_search(participants_.begin(), participants_.end(), party);
}

std::size_t NeighborGraph::place_of(std::uint32_t party) const {
  DPREDUCE_ASSERT(contains(party));
  return static_cast<std::size_t>(std::lower_bound(participants_.begin(), participants_.end(), party) -
                                  participants_.begin());
}

bool NeighborGraph::are_neighbors(std::uint32_t one, std::uint32_t other) const {
  if (one == other) return false;
  const std::size_t n = participants_.size();
  if (degree_ + 1 == n) return true;
  const std::size_t ahead = (place_of(other) + n - place_of(one)) % n;
  return std::min(ahead, n - ahead) <= degree_ / 2;
}

std::vector<std::uint32_t> NeighborGraph::neighbors(std::uint32_t party) const {
  DPREDUCE_ASSERT(contains(party));
  std::vector<std::uint32_t> result;
  for (const std::uint32_t other : participants_) {
    if (are_neighbors(party, other)) result.push_back(other);
  }
  return result;
}

std::uint32_t NeighborGraph::neighbors_in(std::uint32_t party, const std::vector<std::uint32_t>& parties) const {
  return static_cast<std::uint32_t>(
      std::count_if(parties.begin(), parties.end(), [&](std::uint32_t other) { return are_neighbors(party, other); }));
}

std::vector<std::uint32_t> NeighborGraph::holders(std::uint32_t party) const {
  std::vector<std::uint32_t> result = neighbors(party);
  result.insert(std::lower_bound(result.begin(), result.end(), party), party);
  return result;
}

}  // namespace dpreduce
