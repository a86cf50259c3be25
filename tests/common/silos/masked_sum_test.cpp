// Masked sums over a wire in memory, without faults.
#include "common/silos/masked_sum.hpp"

#include "common/silos/mask_stream.hpp"
#include "tests/common/silos/memory_wire.hpp"
#include "tests/testing.hpp"

namespace dpreduce::masked_sum_test {

// Whole, in parts of odd lengths, and by the reference: the same words. Counters pass 2^8 and 2^16 on the way.
TEST(MaskStreams, AreTheSameAtAnyPlaceInAnyPartsAndByAnyInstructions) {
  constexpr std::size_t kWords = 140000;
  MaskStreams masks;
  masks.add(SecretVector<std::byte>(32, std::byte{9}), MaskSign::kAdd);
  masks.add(SecretVector<std::byte>(32, std::byte{1}), MaskSign::kSubtract);
  masks.add(SecretVector<std::byte>(32, std::byte{200}), MaskSign::kAdd);
  std::vector<std::uint64_t> reference(kWords, 5);
  masks.apply_reference(0, reference);
  std::vector<std::uint64_t> whole(kWords, 5);
  masks.apply(0, whole);
  EXPECT_EQ(whole, reference);
  for (const std::size_t length : {777UL, 1UL << 14}) {
    std::vector<std::uint64_t> parts(kWords, 5);
    for (std::size_t first = 0; first < parts.size(); first += length) {
      masks.apply(first, std::span(parts).subspan(first, std::min(length, parts.size() - first)));
    }
    EXPECT_EQ(parts, reference);
  }
  std::vector<std::uint64_t> far(200, 0);
  std::vector<std::uint64_t> far_reference(200, 0);
  masks.apply(std::uint64_t{1} << 39, far);
  masks.apply_reference(std::uint64_t{1} << 39, far_reference);
  EXPECT_EQ(far, far_reference);
}

TEST(MaskStreams, CancelWithTheOtherSign) {
  MaskStreams here;
  MaskStreams there;
  here.add(SecretVector<std::byte>(32, std::byte{9}), MaskSign::kAdd);
  there.add(SecretVector<std::byte>(32, std::byte{9}), MaskSign::kSubtract);
  std::vector<std::uint64_t> words(1000, 3);
  here.apply(128, words);
  EXPECT_NE(words, std::vector<std::uint64_t>(1000, 3));
  there.apply(128, words);
  EXPECT_EQ(words, std::vector<std::uint64_t>(1000, 3));
  EXPECT_THROW(here.add(SecretVector<std::byte>(31), MaskSign::kAdd), std::logic_error);
}

TEST(MaskedSum, IsTheSumForAnyNumberOfSilosAndWords) {
  std::vector<SiloRunPlan> plans;
  for (const std::uint32_t silos : {2U, 3U, 5U, 8U}) {
    plans.push_back({.terms = {silos, default_threshold(silos), 0}, .rounds = 3});
  }
  // Over a neighbor graph; and in pieces.
  plans.push_back({.terms = {33, 23, 0}, .timeout = std::chrono::milliseconds(60000)});
  for (const std::size_t words : {kWordsPerPiece, kWordsPerPiece + 1, 3 * kWordsPerPiece - 1}) {
    plans.push_back({.terms = {3, 3, 0}, .words = words});
  }
  for (const SiloRunPlan& plan : plans) {
    SCOPED_TRACE(fmt::format("{} silos, {} words", plan.terms.silos, plan.words));
    const SiloRunResult result = run_silos(plan);
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), plan.rounds);
    EXPECT_EQ(result.summed.back().size(), plan.terms.silos);
    EXPECT_TRUE(sums_are_right(result, plan));
    EXPECT_TRUE(result.lost.empty());
    EXPECT_TRUE(result.silo_refusals.empty());
  }
}

}  // namespace dpreduce::masked_sum_test
