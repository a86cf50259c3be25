// The stories by which a coordinator opened a silo as long as lists of silos were not agreed on.
#pragma once

#include "common/silos/neighbor_graph.hpp"
#include "tests/common/silos/lied_to_attempt.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

struct ContradictorySurvivors {
  std::vector<Story> stories;
  bool is_enough = false;  ///< it opens silo 1 where nothing is agreed on
};

/// What silo 1 is told has shared: it and t - 1 others, as few of its neighbors among them as can be.
inline SiloList list_for_the_victim(const NeighborGraph& graph, std::uint32_t threshold) {
  SiloList list = graph.participants();
  std::stable_partition(list.begin() + 1, list.end(),
                        [&](std::uint32_t silo) { return !graph.are_neighbors(1, silo); });
  list.resize(threshold);
  std::sort(list.begin(), list.end());
  return list;
}

/// A coordinator's attempt to open silo 1 of all k, with U1 = all: silo 1 is told that it and t - 1 others have shared,
/// as few of its neighbors among them as can be (T); every other silo that all have, and then that of T as many have
/// vanished as it believes. Not enough where some of T would miss less than t' times.
inline ContradictorySurvivors contradictory_survivors(std::uint32_t silos, std::uint32_t threshold,
                                                      std::uint32_t colluding) {
  const SiloList all = all_silos(silos);
  const NeighborGraph graph(all, threshold, colluding);
  const SiloList shown_first = list_for_the_victim(graph, threshold);
  std::map<std::uint32_t, std::uint32_t> wanted;  // of each of T, how often it must still be left out
  for (const std::uint32_t silo : shown_first) {
    if (graph.are_neighbors(1, silo)) wanted.emplace(silo, graph.share_threshold());
  }
  std::vector<Story> stories(silos + 1);
  stories[1] = {all, shown_first, shown_first};
  std::set<std::uint32_t> needed;  // beside those that hold shares, the neighbors whose shares they are shown
  for (std::uint32_t silo = 2; silo <= silos; ++silo) {
    SiloList left_out;
    for (const auto& [of, times] : wanted) {
      if (of != silo && graph.are_neighbors(of, silo) && times > 0) left_out.push_back(of);
    }
    std::stable_sort(left_out.begin(), left_out.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return wanted.at(a) > wanted.at(b); });
    left_out.resize(std::min<std::size_t>(left_out.size(), silos - threshold));
    if (left_out.empty() && !graph.are_neighbors(1, silo)) continue;
    for (const std::uint32_t of : left_out) --wanted.at(of);
    SiloList summed;
    for (const std::uint32_t other : all) {
      if (std::find(left_out.begin(), left_out.end(), other) == left_out.end()) summed.push_back(other);
    }
    stories[silo] = {all, all, summed};
  }
  for (std::uint32_t silo = 1; silo <= silos; ++silo) {
    if (stories[silo].sharing.empty()) continue;
    for (const std::uint32_t neighbor : graph.neighbors(silo)) needed.insert(neighbor);
  }
  for (const std::uint32_t silo : needed) stories[silo].participants = all;
  const bool is_enough = std::all_of(wanted.begin(), wanted.end(), [](const auto& entry) { return entry.second == 0; });
  return {stories, is_enough};
}

}  // namespace dpreduce
