// Stories of a coordinator to any number of silos, drawn: one sum or two, one attempt at each or two, values of which
// some silos are told others, up to three different lists a stage, each told to whoever is in it; colluding silos
// anywhere.
#pragma once

#include "tests/common/silos/story_enumeration.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class DrawnStories {
 public:
  DrawnStories(const SiloParties& parties, const Terms& terms, Protocol protocol, std::uint32_t seed)
      : parties_(parties), terms_(terms), protocol_(protocol), draw_(seed) {}

  Search run(std::chrono::milliseconds time, std::size_t most) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (result_.leak.empty() && result_.stories < most && std::chrono::steady_clock::now() < until) play();
    return result_;
  }

 private:
  std::uint32_t below(std::uint32_t end) { return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(draw_); }
  bool happens(double probability) { return std::bernoulli_distribution(probability)(draw_); }

  // At least t silos of a list, often all or no more: any, or without some that stand together on the ring; `inside`,
  // if not 0, among them.
  SiloList part_of(const SiloList& whole, std::uint32_t inside = 0) {
    const auto spare = static_cast<std::uint32_t>(whole.size()) - terms_.threshold;
    const std::uint32_t lost = happens(0.4) ? 0 : happens(0.7) ? spare : below(spare + 1);
    SiloList order = whole;
    if (happens(0.5)) {
      std::shuffle(order.begin(), order.end(), draw_);
    } else {
      std::rotate(order.begin(), order.begin() + below(static_cast<std::uint32_t>(order.size())), order.end());
    }
    if (const auto found = std::find(order.begin(), order.end(), inside); found != order.end()) {
      std::iter_swap(order.begin(), found);
    }
    order.resize(order.size() - lost);
    std::sort(order.begin(), order.end());
    return order;
  }
  // The silos that a list leaves out, and as many of it as make them t.
  SiloList against(const SiloList& list, const SiloList& whole) {
    SiloList others;
    std::set_difference(whole.begin(), whole.end(), list.begin(), list.end(), std::back_inserter(others));
    SiloList rest = list;
    std::shuffle(rest.begin(), rest.end(), draw_);
    for (std::size_t place = 0; others.size() < terms_.threshold; ++place) others.push_back(rest[place]);
    std::sort(others.begin(), others.end());
    return others;
  }
  // Some lists, the second one against the first.
  std::vector<SiloList> stories_about(const SiloList& whole, std::uint32_t variety) {
    std::vector<SiloList> lists{part_of(whole)};
    while (lists.size() < variety) {
      lists.push_back(lists.size() == 1 && happens(0.5) ? against(lists[0], whole) : part_of(whole));
    }
    return lists;
  }
  // One of these lists that this silo is in and that is a part of the other; else one of its own.
  SiloList one_for(std::uint32_t silo, const std::vector<SiloList>& lists, const SiloList& within) {
    const SiloList& list = lists[below(static_cast<std::uint32_t>(lists.size()))];
    if (is_in(list, silo) && is_subset(list, within)) return list;
    return part_of(within, silo);
  }
  static bool is_in(const SiloList& list, std::uint32_t silo) {
    return std::binary_search(list.begin(), list.end(), silo);
  }

  // Values: the same for all, or zero for some, or for all but a few.
  std::vector<std::uint32_t> values() {
    std::vector<std::uint32_t> public_values(terms_.silos + 1, 1);
    if (happens(0.5)) return public_values;
    const double share = happens(0.5) ? 0.5 : happens(0.5) ? 0.9 : 0.1;
    for (std::uint32_t& value : public_values) value = happens(share) ? 0 : 1 + below(2);
    return public_values;
  }

  std::vector<Story> attempt(const std::set<std::uint32_t>& colluding) {
    const SiloList all = all_silos(terms_.silos);
    const std::uint32_t victim = 1 + below(terms_.silos);  // often told less than the others
    const SiloList participants = happens(0.7) ? all : part_of(all);
    const auto sharing = stories_about(participants, 1 + below(3));
    const auto summed = stories_about(sharing[0], 1 + below(3));
    const bool is_each_told_its_own = happens(0.5);
    std::vector<Story> stories(terms_.silos + 1);
    for (const std::uint32_t silo : participants) {
      Story& story = stories[silo];
      story.participants = participants;
      if (colluding.contains(silo) || happens(0.02)) continue;
      const bool is_told_all = is_each_told_its_own && silo != victim;
      story.sharing = is_told_all ? participants : one_for(silo, sharing, participants);
      story.summed = is_each_told_its_own ? part_of(story.sharing, silo) : one_for(silo, summed, story.sharing);
      story.may_mask = !happens(0.02);
      story.may_reveal = !happens(0.02);
    }
    return stories;
  }

  void play() {
    SiloList order = all_silos(terms_.silos);
    if (happens(0.5)) std::shuffle(order.begin(), order.end(), draw_);
    const std::set<std::uint32_t> colluding(order.begin(), order.begin() + terms_.colluding);
    LiedToRun run(parties_, terms_.threshold, colluding, protocol_);
    for (std::uint32_t sums = happens(0.7) ? 1 : 2; sums > 0; --sums) {
      SumStory story{values(), {}};
      for (std::uint32_t attempts = happens(0.7) ? 1 : 2; attempts > 0; --attempts) {
        story.attempts.push_back(attempt(colluding));
      }
      run.play(story);
    }
    result_.add(run);
  }

  const SiloParties& parties_;
  Terms terms_;
  Protocol protocol_;
  std::mt19937 draw_;
  Search result_;
};

}  // namespace dpreduce
