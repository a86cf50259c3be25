// Looks for stories by which a coordinator learns what it must not: any sum over fewer than t silos, or two of one
// statistic, or one of statistics at different public values.
//
// All stories, up to symmetry, for few silos; drawn ones for more. A protocol in which something is planted must be
// seen to fail by the same search.

#include "tests/common/silos/any_lists.hpp"
#include "tests/common/silos/drawn_stories.hpp"
#include "tests/slow_tests.hpp"
#include "tests/testing.hpp"

namespace dpreduce::story_search_test {

std::string text_of(const Terms& terms) {
  return fmt::format("{} silos, threshold {}, {} colluding", terms.silos, terms.threshold, terms.colluding);
}

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

template <typename Stories>
void expect_no_leak(std::uint32_t silos, const Stories& stories_of) {
  const SiloParties parties(silos);
  std::size_t stories = 0;
  for (const Terms& terms : all_terms(silos)) {
    SCOPED_TRACE(text_of(terms));
    const Search search = stories_of(parties, terms, Protocol::kOurs).run();
    EXPECT_EQ(search.leak, "");
    EXPECT_GT(search.sums, 0U);  // an honest coordinator's among them
    stories += search.stories;
  }
  fmt::print("{} silos: {} stories\n", silos, stories);
}

class OneAttemptTest : public testing::TestWithParam<std::uint32_t> {};
TEST_P(OneAttemptTest, NoStoryGivesMoreThanOneSumOverEnoughSilos) {
  expect_no_leak(GetParam(), one_attempt);
}

class AnyListsTest : public testing::TestWithParam<std::uint32_t> {};
TEST_P(AnyListsTest, NoStoryGivesMoreThanOneSumOverEnoughSilos) {
  expect_no_leak(GetParam(), [](const auto&... of) { return AnyLists(of...); });
}

class TwoAttemptsTest : public testing::TestWithParam<std::uint32_t> {};
TEST_P(TwoAttemptsTest, NoStoryGivesMoreThanOneSumOverEnoughSilos) {
  expect_no_leak(GetParam(), two_attempts);
}

class TwoSumsTest : public testing::TestWithParam<std::uint32_t> {};
TEST_P(TwoSumsTest, NoStoryGivesMoreThanOneSumOverEnoughSilosOfEither) {
  expect_no_leak(GetParam(), two_sums);
}

auto silos(std::vector<std::uint32_t> few, std::vector<std::uint32_t> more) {
  return testing::ValuesIn(runs_slow_tests() ? std::move(more) : std::move(few));
}
INSTANTIATE_TEST_SUITE_P(Silos, OneAttemptTest, silos({2, 3, 4}, {5, 6, 7}));
INSTANTIATE_TEST_SUITE_P(Silos, AnyListsTest, silos({2, 3}, {4}));
INSTANTIATE_TEST_SUITE_P(Silos, TwoAttemptsTest, silos({2, 3}, {4, 5, 6, 7}));
INSTANTIATE_TEST_SUITE_P(Silos, TwoSumsTest, silos({2}, {3, 4}));

// Two sums of an honest coordinator are known, and no more.
TEST(StorySearch, HonestStoriesGiveTheirSums) {
  const SiloParties parties(3);
  const std::vector<Story> honest{
      {}, {{1, 2, 3}, {1, 2, 3}, {1, 2}}, {{1, 2, 3}, {1, 2, 3}, {1, 2}}, {{1, 2, 3}, {}, {}}};
  LiedToRun run(parties, 2, {}, Protocol::kOurs);
  run.play({{0, 1, 1, 1}, {honest}});
  run.play({{0, 2, 2, 2}, {honest}});
  ASSERT_EQ(run.known().size(), 2U);
  for (const Combination& sum : run.known()) EXPECT_EQ(silos_in(sum), (SiloList{1, 2}));
  EXPECT_EQ(run.leak(), "");
}

Search drawn(const Terms& terms, Protocol protocol, std::chrono::milliseconds time, std::size_t most,
             std::uint32_t seed = 18) {
  const SiloParties parties(terms.silos);
  return DrawnStories(parties, terms, protocol, seed).run(time, most);
}

void expect_no_leak_in_drawn(const Terms& terms, std::chrono::milliseconds time) {
  SCOPED_TRACE(text_of(terms));
  ASSERT_TRUE(terms.is_allowed());
  const Search search = drawn(terms, Protocol::kOurs, time, 1000000);
  EXPECT_EQ(search.leak, "");
  EXPECT_GT(search.stories, 0U);
}

TEST(DrawnStorySearch, NoDrawnStoryGivesMoreThanOneSumOverEnoughSilos) {
  if (runs_slow_tests()) {
    for (std::uint32_t parties = 5; parties <= 40; parties += 5) {
      for (const Terms& terms : all_terms(parties)) expect_no_leak_in_drawn(terms, std::chrono::milliseconds(500));
    }
    return;
  }
  for (const Terms& terms : {Terms{5, 3, 0}, Terms{6, 5, 2}, Terms{8, 5, 1}, Terms{12, 10, 4}, Terms{33, 32, 3}}) {
    expect_no_leak_in_drawn(terms, std::chrono::milliseconds(300));
  }
}

// What the search is worth: it finds what is wrong with each of these. Drawn stories have seeds that find it soon.

Search enumerated(const Terms& terms, Protocol protocol,
                  Enumeration (*stories_of)(const SiloParties&, const Terms&, Protocol)) {
  const SiloParties parties(terms.silos);
  return stories_of(parties, terms, protocol).run();
}

// With more silos such stories are too rare to be drawn, and are told on purpose in contradictory_survivors_test.cpp.
TEST(PlantedStorySearch, ListsThatAreNotAgreedOnAreCaught) {
  EXPECT_NE(drawn({5, 3, 0}, Protocol::kNoAgreement, std::chrono::seconds(60), 20000, 4).leak, "");
}

TEST(PlantedStorySearch, MissingSelfMasksAreCaught) {
  EXPECT_NE(enumerated({4, 3, 0}, Protocol::kNoSelfMasks, one_attempt).leak, "");
  EXPECT_NE(drawn({8, 5, 0}, Protocol::kNoSelfMasks, std::chrono::seconds(60), 20000, 3).leak, "");
}

TEST(PlantedStorySearch, TwoSecretsOfASiloAreCaught) {
  EXPECT_NE(enumerated({4, 3, 0}, Protocol::kBothSecrets, one_attempt).leak, "");
  EXPECT_NE(drawn({8, 5, 0}, Protocol::kBothSecrets, std::chrono::seconds(60), 20000, 3).leak, "");
}

// The sum over the few that were not told a projection to zero.
TEST(PlantedStorySearch, AMissingDigestOfWhatWasToldIsCaught) {
  EXPECT_THAT(enumerated({4, 3, 0}, Protocol::kNoTranscript, one_attempt).leak, HasSubstr("over 1 silos"));
  EXPECT_NE(enumerated({2, 2, 0}, Protocol::kNoTranscript, two_sums).leak, "");
  EXPECT_NE(drawn({8, 5, 0}, Protocol::kNoTranscript, std::chrono::seconds(60), 20000, 12).leak, "");
}

// Both attempts are opened, over different silos.
TEST(PlantedStorySearch, SignaturesInTwoAttemptsAreCaught) {
  EXPECT_THAT(enumerated({3, 2, 0}, Protocol::kSignsAgain, two_attempts).leak, HasSubstr("a second one"));
  EXPECT_NE(drawn({5, 3, 0}, Protocol::kSignsAgain, std::chrono::seconds(60), 20000, 4).leak, "");
}

// --threshold refuses these: two lists of t signatures each are possible, with and without silos that sign both.
TEST(PlantedStorySearch, ThresholdsThatAreTooLowAreCaught) {
  const std::pair<Terms, std::uint32_t> terms_and_seeds[] = {
      {{4, 2, 0}, 3}, {{6, 3, 0}, 9}, {{5, 3, 1}, 4}, {{6, 4, 2}, 6}};
  for (const auto& [terms, seed] : terms_and_seeds) {
    SCOPED_TRACE(text_of(terms));
    ASSERT_FALSE(terms.is_allowed());
    const Search search = drawn(terms, Protocol::kOurs, std::chrono::seconds(60), 20000, seed);
    EXPECT_NE(search.leak, "");
  }
}

}  // namespace dpreduce::story_search_test
