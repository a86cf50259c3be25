#include "common/silos/neighbor_graph.hpp"

#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce::neighbor_graph_test {

bool is_connected(const NeighborGraph& graph, const std::set<std::uint32_t>& parties) {
  std::vector<std::uint32_t> next{*parties.begin()};
  std::set<std::uint32_t> reached(next.begin(), next.end());
  while (!next.empty()) {
    const std::uint32_t party = next.back();
    next.pop_back();
    for (const std::uint32_t neighbor : graph.neighbors(party)) {
      if (parties.contains(neighbor) && reached.insert(neighbor).second) next.push_back(neighbor);
    }
  }
  return reached.size() == parties.size();
}

TEST(NeighborGraph, IsCompleteForFewSilos) {
  for (const std::uint32_t silos : {2U, 3U, 8U, 31U}) {
    const NeighborGraph graph(all_silos(silos), default_threshold(silos), 0);
    EXPECT_EQ(graph.degree(), silos - 1);
    EXPECT_EQ(graph.share_threshold(), default_threshold(silos));
    EXPECT_EQ(graph.holders(1), all_silos(silos));
  }
}

TEST(NeighborGraph, HasFewerEdgesFrom32SilosOn) {
  const NeighborGraph of_33(all_silos(33), 23, 0);
  EXPECT_EQ(of_33.degree(), 20U);
  EXPECT_EQ(of_33.share_threshold(), 11U);
  EXPECT_EQ(NeighborGraph(all_silos(100), 90, 0).degree(), 20U);
  EXPECT_EQ(NeighborGraph(all_silos(1000), 990, 5).degree(), 26U);
}

// Liveness, refusal and connection for what is lost and who colludes in the worst place (consecutive on the ring) and
// at random.
TEST(NeighborGraph, KeepsItsPromisesForAnyLostAndColludingSilos) {
  std::mt19937 draw(3);
  for (const std::uint32_t silos : {32U, 33U, 64U, 100U}) {
    for (const std::uint32_t lost : {0U, 1U, 10U}) {
      for (const std::uint32_t colluding : {0U, 3U}) {
        const NeighborGraph graph(all_silos(silos), silos - lost, colluding);
        for (int trial = 0; trial < 20; ++trial) {
          std::vector<std::uint32_t> order = all_silos(silos);
          if (trial > 0) std::shuffle(order.begin(), order.end(), draw);
          const std::set<std::uint32_t> stays(order.begin() + lost, order.end());
          const std::set<std::uint32_t> honest(order.begin() + lost + colluding, order.end());
          for (std::uint32_t silo = 1; silo <= silos; ++silo) {
            const auto holders = graph.holders(silo);
            ASSERT_EQ(holders.size(), graph.degree() + 1);
            const auto live = std::ranges::count_if(holders, [&](std::uint32_t h) { return stays.contains(h); });
            EXPECT_GE(static_cast<std::uint32_t>(live), graph.share_threshold());
            EXPECT_GE(graph.neighbors_in(silo, {stays.begin(), stays.end()}), graph.least_neighbors());
          }
          EXPECT_TRUE(is_connected(graph, honest));
        }
        EXPECT_GT(2 * graph.share_threshold(), graph.degree() + 1 + colluding);
        EXPECT_GT(graph.least_neighbors(), colluding);
      }
    }
  }
}

// Who wants one silo's sum has its neighbors collude and lets others be lost around it. With every threshold, that of
// all silos too, one honest neighbor that stays is left; and no smaller even degree keeps all three promises.
TEST(NeighborGraph, NeighborsThatColludeNeverAreAllOfThem) {
  for (const std::uint32_t silos : {32U, 40U, 101U}) {
    for (std::uint32_t lost = 0; lost <= 8; ++lost) {
      for (std::uint32_t colluding = 0; colluding <= 9; ++colluding) {
        const NeighborGraph graph(all_silos(silos), silos - lost, colluding);
        EXPECT_GT(graph.neighbors(5).size(), lost + colluding) << silos << " " << lost << " " << colluding;
        const SiloList all = all_silos(silos);
        std::set<std::uint32_t> honest(all.begin(), all.end());
        const std::vector<std::uint32_t> near = graph.neighbors(5);
        for (std::uint32_t bad = 0; bad < lost + colluding; ++bad) honest.erase(near[bad]);
        EXPECT_TRUE(is_connected(graph, honest)) << silos << " " << lost << " " << colluding;
        if (graph.degree() == silos - 1) continue;
        const auto keeps = [&](std::uint32_t m) {
          for (std::uint32_t shares = 1; shares <= m + 1; ++shares) {
            if (2 * shares > m + 1 + colluding && m + 1 >= shares + lost && m > lost + colluding) return true;
          }
          return false;
        };
        EXPECT_TRUE(keeps(graph.degree()));
        EXPECT_FALSE(keeps(graph.degree() - 2)) << silos << " " << lost << " " << colluding;
      }
    }
  }
}

TEST(NeighborGraph, IsSymmetricAndRegularWhoeverTakesPart) {
  std::vector<std::uint32_t> some;
  for (std::uint32_t party = 2; party < 90; party += 2) some.push_back(party);
  const NeighborGraph graph(some, 40, 1);
  ASSERT_LT(graph.degree(), some.size() - 1);
  for (const std::uint32_t one : some) {
    EXPECT_EQ(graph.neighbors(one).size(), graph.degree());
    for (const std::uint32_t other : some) EXPECT_EQ(graph.are_neighbors(one, other), graph.are_neighbors(other, one));
  }
}

TEST(NeighborGraph, PreconditionsAreAsserted) {
  EXPECT_THROW(NeighborGraph(all_silos(1), 1, 0), std::logic_error);
  EXPECT_THROW(NeighborGraph(all_silos(3), 4, 0), std::logic_error);
  EXPECT_THROW(NeighborGraph({2, 1}, 2, 0), std::logic_error);
  EXPECT_THROW(NeighborGraph(all_silos(3), 2, 0).neighbors(4), std::logic_error);
}

}  // namespace dpreduce::neighbor_graph_test
