// Graph of the silos: neighbors share masks, and hold each other's shares [bonawitz2017] [bell2020].
//
//     n participants on a ring, in the order of their numbers; each has the m / 2 next ones on either side as its
//     neighbors (a Harary graph [harary1962]: m-regular, and m-connected). Below 32 participants, or where m would be
//     n - 1 or more: all others. holders of u's shares: u and its neighbors; any t' of them give a secret back
//
// Requirements on the graph, for at least t of the n staying and c of the n colluding with the coordinator:
//     live      the holders that stay can reconstruct:         m + 1 - (n - t) >= t'
//     refusing  both secrets of one silo are never reconstructed, whatever single holders receive, since each honest
//               holder gives one share of one of them:         2 t' > m + 1 + c
//     connected masks of silos that stay and are honest do not fall into parts whose sums would show:
//                                                              n - t + c < m
// docs/explanation/silo-protocol.md proves from these that a coordinator learns one sum over at least t silos, or
// nothing. So t' = floor((m + 1 + c) / 2) + 1, and m is the smallest even number that fits. [bell2020] draws the graph
// at random and accepts rare failures. Silos are few, so here the requirements hold for every choice of the lost and
// the colluding. On the complete graph t' = t, which is refusing if 2 t > n + c.
#pragma once

#include <cstdint>
#include <vector>

namespace dpreduce {

inline constexpr std::size_t kSilosForAGraph = 32;

class NeighborGraph {
 public:
  /// Preconditions (asserted): participants in rising order, at least 2; threshold <= their number.
  NeighborGraph(std::vector<std::uint32_t> participants, std::uint32_t threshold, std::uint32_t colluding);

  const std::vector<std::uint32_t>& participants() const { return participants_; }
  bool contains(std::uint32_t party) const;
  /// Number of neighbors of each participant: m.
  std::uint32_t degree() const { return degree_; }
  /// Number of shares that give a secret back: t'.
  std::uint32_t share_threshold() const { return share_threshold_; }

  /// Neighbors of the party, in rising order. Precondition (asserted): party is a participant.
  std::vector<std::uint32_t> neighbors(std::uint32_t party) const;
  /// Neighbors of the party and the party itself, in rising order.
  std::vector<std::uint32_t> holders(std::uint32_t party) const;
  bool are_neighbors(std::uint32_t one, std::uint32_t other) const;
  /// Number of the party's neighbors that are among `parties` (in rising order).
  std::uint32_t neighbors_in(std::uint32_t party, const std::vector<std::uint32_t>& parties) const;
  /// Least number of a party's neighbors among any t participants: m - (n - t).
  std::uint32_t least_neighbors() const { return least_neighbors_; }

 private:
  std::size_t place_of(std::uint32_t party) const;

  std::vector<std::uint32_t> participants_;
  std::uint32_t degree_;
  std::uint32_t share_threshold_;
  std::uint32_t least_neighbors_;
};

/// Default for --threshold: more than two thirds of k, so that fewer than a third may drop out.
inline std::uint32_t default_threshold(std::uint32_t silos) {
  return 2 * silos / 3 + 1;
}

}  // namespace dpreduce
