// Contradictory lists of survivors: what opens a silo where lists are not agreed on, and what silos refuse where they
// are.
#include "common/silos/key_agreement.hpp"
#include "common/silos/neighbor_graph.hpp"
#include "tests/common/silos/lied_to_run.hpp"
#include "tests/slow_tests.hpp"
#include "tests/testing.hpp"

namespace dpreduce::contradictory_survivors_test {

// The stories by which a coordinator opened a silo as long as lists of silos were not agreed on.
struct ContradictorySurvivors {
  std::vector<Story> stories;
  bool is_enough = false;  ///< it opens silo 1 where nothing is agreed on
};

/// What silo 1 is told has shared: it and t - 1 others, as few of its neighbors among them as can be.
SiloList list_for_the_victim(const NeighborGraph& graph, std::uint32_t threshold) {
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
ContradictorySurvivors contradictory_survivors(std::uint32_t silos, std::uint32_t threshold, std::uint32_t colluding) {
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
    SiloList summed = all;
    std::erase_if(summed, [&](std::uint32_t other) { return std::ranges::count(left_out, other) > 0; });
    stories[silo] = {all, all, summed};
  }
  for (std::uint32_t silo = 1; silo <= silos; ++silo) {
    if (stories[silo].sharing.empty()) continue;
    for (const std::uint32_t neighbor : graph.neighbors(silo)) needed.insert(neighbor);
  }
  for (const std::uint32_t silo : needed) stories[silo].participants = all;
  return {stories, std::ranges::all_of(wanted, [](const auto& entry) { return entry.second == 0; })};
}

struct Case {
  std::uint32_t silos;
  std::uint32_t threshold;
  std::uint32_t reach;  // no two silos farther apart on the ring are neighbors; 0: all may be
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.silos) + "With" + std::to_string(info.param.threshold);
}

class ContradictorySurvivorsTest : public testing::TestWithParam<Case> {
 protected:
  ContradictorySurvivorsTest() : parties_(GetParam().silos, GetParam().reach) {}
  std::vector<Story> stories() const {
    const ContradictorySurvivors survivors = contradictory_survivors(GetParam().silos, GetParam().threshold, 0);
    EXPECT_TRUE(survivors.is_enough);
    return survivors.stories;
  }
  SiloParties parties_;
};

TEST_P(ContradictorySurvivorsTest, OpenASiloWhereListsAreNotAgreedOn) {
  LiedToSum sum(parties_, GetParam().threshold, {}, Protocol::kNoAgreement);
  sum.play(stories());
  EXPECT_TRUE(sum.refusals().empty());
  EXPECT_EQ(sum.opened(1), LiedToAttempt::statistic_of(1));
  EXPECT_THAT(sum.leak(), HasSubstr("[1]"));
}

TEST_P(ContradictorySurvivorsTest, AreRefusedBeforeThatSiloMasks) {
  LiedToSum sum(parties_, GetParam().threshold, {}, Protocol::kOurs);
  sum.play(stories());
  EXPECT_FALSE(sum.masked().contains(1));
  EXPECT_THAT(sum.refusals().at(1), HasSubstr("1 silos have signed the list that this silo received, but"));
  EXPECT_TRUE(sum.revealed().empty());
  EXPECT_FALSE(sum.opened(1).has_value());
  EXPECT_EQ(sum.known().size(), 0U);
}

// Where the stories do not open a silo even without agreement they are refused all the same.
TEST(EveryThreshold, RefusesContradictorySurvivors) {
  if (!runs_slow_tests()) GTEST_SKIP() << "a long test";
  std::size_t would_open = 0;
  for (const std::uint32_t silos : {5U, 10U, 31U, 33U, 100U}) {
    const SiloParties parties(silos);
    for (std::uint32_t threshold = silos / 2 + 1; threshold <= silos; ++threshold) {
      SCOPED_TRACE(std::to_string(silos) + " silos, threshold " + std::to_string(threshold));
      const ContradictorySurvivors survivors = contradictory_survivors(silos, threshold, 0);
      would_open += survivors.is_enough ? 1 : 0;
      LiedToSum sum(parties, threshold, {}, Protocol::kOurs);
      sum.play(survivors.stories);
      EXPECT_EQ(sum.leak(), "");
      if (threshold < silos) {
        EXPECT_FALSE(sum.masked().contains(1));
        EXPECT_EQ(sum.known().size(), 0U);
      }
      if (survivors.is_enough) {
        EXPECT_TRUE(sum.revealed().empty());
      }
    }
  }
  EXPECT_GT(would_open, 20U);
}

// Silo 1 of many, with all that it hears: of the others no more than that is made.
class OneOfManySilos {
 public:
  explicit OneOfManySilos(std::uint32_t silos) : parties_(silos, 0, 1), all_(all_silos(silos)) {}

  // Why it does not mask, where it was told the victim's list and is shown so many signatures on it.
  std::string refusal(std::uint32_t threshold, std::size_t signatures) const {
    const SumAttempt attempt{{}, 1, 1, 1, threshold, 0};
    const NeighborGraph graph(all_, threshold, 0);
    const SiloList shown = list_for_the_victim(graph, threshold);
    MaskingSilo silo(parties_.self(1), attempt);
    silo.advertise();
    PayloadWriter keys;
    keys.numbers(all_);
    for (const std::uint32_t neighbor : graph.neighbors(1)) {
      Advertisement advertisement{mask_key_, {}, {}};
      advertisement.signature = parties_.identity(neighbor).sign(signed_part(attempt, neighbor, advertisement));
      keys.plain(advertisement);
    }
    give(keys.take(), &MaskingSilo::take_keys, silo);
    PayloadWriter delivery;
    delivery.numbers(shown);
    for (const std::uint32_t from : shown) {
      if (graph.are_neighbors(1, from)) deal(delivery, attempt, from);
    }
    give(delivery.take(), &MaskingSilo::take_delivery, silo);
    const auto text = signed_part(attempt, ListStage::kSharing, {all_, shown, {}});
    std::map<std::uint32_t, Signature> quorum;
    for (std::size_t place = 0; place < signatures; ++place) {
      quorum.emplace(shown[place], parties_.identity(shown[place]).sign(text));
    }
    return dpreduce::refusal<AggregationAborted>(
        [&] { give(make_quorum(ListStage::kSharing, quorum), &MaskingSilo::take_sharing_quorum, silo); });
  }

 private:
  // What a neighbor has shared with silo 1. Whether shares are of one secret no single holder can tell.
  void deal(PayloadWriter& delivery, const SumAttempt& attempt, std::uint32_t from) const {
    const SaltedShare share{{1, {1, 2, 3, 4, 5}}, {}};
    const ShareCommitments commitments{share_commitment(attempt, SecretKind::kSelfMask, from, share),
                                       share_commitment(attempt, SecretKind::kMaskKey, from, share)};
    PayloadWriter both;
    write(both, share);
    write(both, share);
    const std::vector<std::byte> bound_to = PayloadWriter().u32(from).u32(1).plain(commitments).take();
    std::array<std::byte, kSealedSharesBytes> sealed{};
    SealingKey(derive_key(parties_.self(1).pair_secrets.at(from), attempt.context("shares", from, 1)))
        .seal(0, bound_to, both.take(), sealed);
    delivery.plain(commitments);
    delivery.bytes(sealed);
  }

  SiloParties parties_;
  SiloList all_;
  const PublicKey mask_key_ = AgreementKey::generate().public_key();  // of all others
};

// With another list for the others, of which t have signed that, fewer than t can have signed the victim's.
TEST(EveryThreshold, AVictimAmongAThousandDoesNotMask) {
  if (!runs_slow_tests()) GTEST_SKIP() << "a long test";
  const OneOfManySilos silos(1000);
  for (std::uint32_t threshold = 501; threshold <= 1000; ++threshold) {
    EXPECT_THAT(silos.refusal(threshold, threshold - 1), HasSubstr("silos have signed the list")) << threshold;
  }
  for (const std::uint32_t threshold : {501U, 667U, 1000U}) EXPECT_EQ(silos.refusal(threshold, threshold), "");
}

std::vector<Case> cases() {
  if (runs_slow_tests()) return {{1000, 990, 10}, {1000, 950, 60}};
  return {{5, 3, 0}, {10, 6, 0}, {31, 16, 0}, {33, 23, 0}, {100, 67, 0}};
}
INSTANTIATE_TEST_SUITE_P(Silos, ContradictorySurvivorsTest, testing::ValuesIn(cases()), name_of_case);

}  // namespace dpreduce::contradictory_survivors_test
