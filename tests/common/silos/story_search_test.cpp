// Looks for stories by which a coordinator learns what it must not: any sum over fewer than t silos, or two sums.
//
// All stories, up to the numbers of silos, for few of them; drawn ones for more. A protocol in which something is
// planted must be seen to fail by the same search.
//
// Up to symmetry: in the complete graph silos differ only by what they are told, so a story is how many silos were told
// what. A silo that was told lists which fewer than t have signed does nothing more than one that was told nothing; so
// one story a stage is enough, and with two of t signatures each, which 2 t > k + c excludes, drawn stories find out.
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/silos/lied_to_sum.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

struct Terms {
  std::uint32_t silos;
  std::uint32_t threshold;
  std::uint32_t colluding;

  SumAttempt attempt() const { return {{}, 1, 1, 1, threshold, colluding}; }
  bool is_allowed() const { return 2 * threshold > silos + colluding && threshold <= silos && threshold >= 2; }
};

struct Search {
  std::size_t stories = 0;
  std::size_t sums = 0;  ///< stories that gave the coordinator a sum
  std::string leak;      ///< the first one that was found
};

// What becomes of a silo in the complete enumeration, in rising order of what it takes part in.
struct Part {
  bool in_participants = true;
  bool in_sharing = true;
  bool in_summed = false;
  bool signs_sharing = false;
  bool may_mask = false;
  bool signs_summed = false;
  bool may_reveal = false;
};
constexpr std::array<Part, 10> kHonestParts{{{false, false},
                                             {true, false},
                                             {true, true, false},
                                             {true, true, true},
                                             {true, true, false, true},
                                             {true, true, true, true},
                                             {true, true, false, true, true},
                                             {true, true, true, true, true},
                                             {true, true, true, true, true, true},
                                             {true, true, true, true, true, true, true}}};
constexpr std::size_t kColludingParts = 4;  // the first ones: they sign whatever there is to be signed

class Enumeration {
 public:
  Enumeration(const SiloParties& parties, const Terms& terms, Protocol protocol)
      : parties_(parties), terms_(terms), protocol_(protocol), parts_(terms.silos) {
    // The last ones collude.
    for (std::uint32_t silo = terms.silos - terms.colluding + 1; silo <= terms.silos; ++silo) colluding_.insert(silo);
  }
  Search run() {
    draw(0);
    return result_;
  }

 private:
  // Honest parts never fall from one silo to the next, nor do those of colluding ones.
  void draw(std::size_t place) {
    if (!result_.leak.empty()) return;
    if (place == terms_.silos) {
      play();
      return;
    }
    const std::size_t honest = terms_.silos - terms_.colluding;
    const std::size_t first = place == 0 || place == honest ? 0 : parts_[place - 1];
    for (std::size_t part = first; part < (place < honest ? kHonestParts.size() : kColludingParts); ++part) {
      parts_[place] = part;
      draw(place + 1);
    }
  }
  const Part& part(std::uint32_t silo) const { return kHonestParts[parts_[silo - 1]]; }
  SiloList silos_with(bool Part::*in) const {
    SiloList list;
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      if (part(silo).*in) list.push_back(silo);
    }
    return list;
  }
  std::size_t signers(bool Part::*signs, bool Part::*in) const {
    std::size_t count = 0;
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      count += colluding_.contains(silo) ? part(silo).*in : part(silo).*signs;
    }
    return count;
  }

  void play() {
    const SiloList participants = silos_with(&Part::in_participants);
    const SiloList sharing = silos_with(&Part::in_sharing);
    const SiloList summed = silos_with(&Part::in_summed);
    // Lists of fewer than t silos are refused by whoever is told them (masking_test.cpp), and then it is as if the
    // silos had been told nothing, which is a story of its own. Likewise what too few have signed; but that silos
    // refuse it is to be seen here, so one signature may be missing.
    if (sharing.size() < terms_.threshold || (!summed.empty() && summed.size() < terms_.threshold)) return;
    if (signers(&Part::signs_sharing, &Part::in_sharing) + 1 < terms_.threshold) return;
    const bool is_summed_signed = signers(&Part::signs_summed, &Part::in_summed) + 1 >= terms_.threshold;
    if (!summed.empty() && !is_summed_signed) return;
    std::vector<Story> stories(terms_.silos + 1);
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      Story& story = stories[silo];
      const Part& what = part(silo);
      if (what.in_sharing) story.participants = participants;
      if (what.signs_sharing) story.sharing = sharing;
      if (what.signs_summed) story.summed = summed;
      story.may_mask = what.may_mask;
      story.may_reveal = what.may_reveal;
    }
    LiedToSum sum(parties_, terms_.attempt(), colluding_, protocol_);
    sum.play(stories);
    ++result_.stories;
    if (!sum.known_sums().empty()) ++result_.sums;
    result_.leak = sum.leak();
  }

  const SiloParties& parties_;
  Terms terms_;
  Protocol protocol_;
  std::vector<std::size_t> parts_;
  std::set<std::uint32_t> colluding_;
  Search result_;
};

// All allowed thresholds of k silos; of colluding ones none, one, and as many as a threshold allows.
std::vector<Terms> all_terms(std::uint32_t silos) {
  std::vector<Terms> all;
  for (std::uint32_t threshold = 2; threshold <= silos; ++threshold) {
    std::set<std::uint32_t> colluding{0, 1};
    if (2 * threshold > silos) colluding.insert(2 * threshold - silos - 1);
    for (const std::uint32_t c : colluding) {
      if (const Terms terms{silos, threshold, c}; terms.is_allowed()) all.push_back(terms);
    }
  }
  return all;
}

void expect_no_leak_among(std::uint32_t silos) {
  const SiloParties parties(silos);
  for (const Terms& terms : all_terms(silos)) {
    SCOPED_TRACE(fmt::format("{} silos, threshold {}, {} colluding", silos, terms.threshold, terms.colluding));
    const Search search = Enumeration(parties, terms, Protocol::kOurs).run();
    EXPECT_EQ(search.leak, "");
    EXPECT_GT(search.sums, 0U);  // an honest coordinator's among them
  }
}

class StorySearchTest : public testing::TestWithParam<std::uint32_t> {};
TEST_P(StorySearchTest, NoStoryGivesMoreThanOneSumOverEnoughSilos) {
  expect_no_leak_among(GetParam());
}
#ifdef DPREDUCE_ALL_STORIES
INSTANTIATE_TEST_SUITE_P(MoreSilos, StorySearchTest, testing::Values(6, 7));
#else
INSTANTIATE_TEST_SUITE_P(FewSilos, StorySearchTest, testing::Values(2, 3, 4, 5));
#endif

// Drawn stories: up to `stories` different ones a stage, each told to whoever is in it; colluding silos anywhere.
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

  void play() {
    SiloList all(terms_.silos);
    std::iota(all.begin(), all.end(), 1U);
    SiloList order = all;
    if (happens(0.5)) std::shuffle(order.begin(), order.end(), draw_);
    const std::set<std::uint32_t> colluding(order.begin(), order.begin() + terms_.colluding);
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
    LiedToSum sum(parties_, terms_.attempt(), colluding, protocol_);
    sum.play(stories);
    ++result_.stories;
    if (!sum.known_sums().empty()) ++result_.sums;
    result_.leak = sum.leak();
  }

  const SiloParties& parties_;
  Terms terms_;
  Protocol protocol_;
  std::mt19937 draw_;
  Search result_;
};

Search drawn(const Terms& terms, Protocol protocol, std::chrono::milliseconds time, std::size_t most,
             std::uint32_t seed = 18) {
  const SiloParties parties(terms.silos);
  return DrawnStories(parties, terms, protocol, seed).run(time, most);
}

void expect_no_leak_in_drawn(const Terms& terms, std::chrono::milliseconds time) {
  SCOPED_TRACE(fmt::format("{} silos, threshold {}, {} colluding", terms.silos, terms.threshold, terms.colluding));
  ASSERT_TRUE(terms.is_allowed());
  const Search search = drawn(terms, Protocol::kOurs, time, 1000000);
  EXPECT_EQ(search.leak, "");
  EXPECT_GT(search.stories, 0U);
}

TEST(DrawnStorySearch, NoDrawnStoryGivesMoreThanOneSumOverEnoughSilos) {
#ifdef DPREDUCE_ALL_STORIES
  for (std::uint32_t silos = 5; silos <= 40; silos += 5) {
    for (const Terms& terms : all_terms(silos)) expect_no_leak_in_drawn(terms, std::chrono::seconds(1));
  }
#else
  for (const Terms& terms : {Terms{5, 3, 0}, Terms{6, 5, 2}, Terms{8, 5, 1}, Terms{10, 6, 0}, Terms{12, 10, 4},
                             Terms{33, 23, 0}, Terms{33, 32, 3}}) {
    expect_no_leak_in_drawn(terms, std::chrono::milliseconds(700));
  }
#endif
}

// What the search is worth: it finds what is wrong with each of these.

// With a seed that finds one soon; with more silos such stories are too rare to be drawn, and are told on purpose in
// contradictory_survivors_test.cpp.
TEST(PlantedStorySearch, ListsThatAreNotAgreedOnAreCaught) {
  EXPECT_NE(drawn({5, 3, 0}, Protocol::kNoAgreement, std::chrono::seconds(200), 2000, 36).leak, "");
}

TEST(PlantedStorySearch, MissingSelfMasksAreCaught) {
  const SiloParties parties(4);
  EXPECT_NE(Enumeration(parties, {4, 3, 0}, Protocol::kNoSelfMasks).run().leak, "");
  EXPECT_NE(drawn({8, 5, 0}, Protocol::kNoSelfMasks, std::chrono::seconds(60), 20000).leak, "");
}

TEST(PlantedStorySearch, TwoSecretsOfASiloAreCaught) {
  const SiloParties parties(4);
  EXPECT_NE(Enumeration(parties, {4, 3, 0}, Protocol::kBothSecrets).run().leak, "");
  EXPECT_NE(drawn({8, 5, 0}, Protocol::kBothSecrets, std::chrono::seconds(60), 20000).leak, "");
}

// --threshold refuses these: two lists of t signatures each are possible, with and without silos that sign both.
TEST(PlantedStorySearch, ThresholdsThatAreTooLowAreCaught) {
  for (const Terms& terms : {Terms{4, 2, 0}, Terms{6, 3, 0}, Terms{5, 3, 1}, Terms{6, 4, 2}}) {
    SCOPED_TRACE(fmt::format("{} silos, threshold {}, {} colluding", terms.silos, terms.threshold, terms.colluding));
    ASSERT_FALSE(terms.is_allowed());
    const Search search = drawn(terms, Protocol::kOurs, std::chrono::seconds(60), 20000);
    EXPECT_NE(search.leak, "");
  }
}

}  // namespace
}  // namespace dpreduce
