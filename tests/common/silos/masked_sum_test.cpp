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

TEST(MaskedSum, IsTheSumForAnyNumberOfSilos) {
  for (const std::uint32_t silos : {2U, 3U, 5U, 8U}) {
    const SiloRunPlan plan{.terms = {silos, default_threshold(silos), 0}, .rounds = 3};
    const SiloRunResult result = run_silos(plan);
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), 3U);
    EXPECT_EQ(result.summed.back().size(), silos);
    EXPECT_TRUE(sums_are_right(result, plan));
    EXPECT_TRUE(result.lost.empty());
    EXPECT_TRUE(result.silo_refusals.empty());
  }
}

TEST(MaskedSum, IsTheSumOverANeighborGraph) {
  const SiloRunPlan plan{.terms = {33, 23, 0}, .timeout = std::chrono::milliseconds(60000)};
  const SiloRunResult result = run_silos(plan);
  EXPECT_EQ(result.refusal, "");
  ASSERT_EQ(result.sums.size(), 1U);
  EXPECT_EQ(result.summed.back().size(), 33U);
  EXPECT_TRUE(sums_are_right(result, plan));
}

TEST(MaskedSum, GoesInPiecesWhereTheStatisticIsLong) {
  for (const std::size_t words : {kWordsPerPiece, kWordsPerPiece + 1, 3 * kWordsPerPiece - 1}) {
    const SiloRunPlan plan{.terms = {3, 3, 0}, .words = words};
    const SiloRunResult result = run_silos(plan);
    EXPECT_EQ(result.refusal, "");
    ASSERT_EQ(result.sums.size(), 1U);
    EXPECT_TRUE(sums_are_right(result, plan));
  }
}

// What the coordinator opens of a silo's statistic of zeros: chi-square of 256 byte values over 80,000 bytes below 400
// (255 degrees of freedom) but for 1e-8, in each of two runs; the runs share no word (birthday bound 1e-11).
TEST(MaskedSum, WhatTheCoordinatorGetsIsUniformAndNewInEveryRun) {
  const Roster roster{0, 0, std::vector<Member>(4)};
  std::set<std::uint64_t> words;
  for (int run = 0; run < 2; ++run) {
    Roster members = roster;
    std::vector<Identity> identities;
    std::vector<AgreementKey> keys;
    for (std::uint32_t party = 0; party < 4; ++party) {
      identities.push_back(Identity::generate());
      keys.push_back(AgreementKey::generate());
      members.members[party].key = identities.back().public_key();
    }
    const SumAttempt attempt{{}, 1, 1, 10000, 3, 0};
    MaskingCoordinator coordinator(members, attempt);
    std::vector<SiloSelf> selves(4);
    std::vector<MaskingSilo> silos;
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      selves[silo].number = silo;
      selves[silo].identity = &identities[silo];
      selves[silo].roster = &members;
      for (std::uint32_t other = 1; other < 4; ++other) {
        if (other != silo) selves[silo].pair_secrets.emplace(other, keys[silo].agree(keys[other].public_key()));
      }
    }
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      silos.emplace_back(selves[silo], attempt);
      const auto advertised = silos.back().advertise();
      PayloadReader reader(advertised);
      coordinator.take_advertisement(silo, reader);
    }
    coordinator.close_advertising();
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      const auto keys_for = coordinator.keys_for(silo);
      PayloadReader reader(keys_for);
      const auto shares = silos[silo - 1].take_keys(reader);
      PayloadReader shared(shares);
      coordinator.take_shares(silo, shared);
    }
    coordinator.close_sharing();
    std::vector<double> bins(256, 0.0);
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      const auto delivery = coordinator.delivery_for(silo);
      PayloadReader reader(delivery);
      const auto consent = silos[silo - 1].take_delivery(reader);
      PayloadReader signed_list(consent);
      coordinator.take_consent(silo, ListStage::kSharing, signed_list);
    }
    const auto quorum = coordinator.quorum(ListStage::kSharing);
    for (std::uint32_t silo = 1; silo < 4; ++silo) {
      PayloadReader reader(quorum);
      silos[silo - 1].take_sharing_quorum(reader);
      std::vector<std::uint64_t> zeros(attempt.words, 0);
      silos[silo - 1].mask(0, zeros);
      if (silo > 1) continue;
      for (const std::uint64_t word : zeros) {
        EXPECT_TRUE(words.insert(word).second);
        for (int shift = 0; shift < 64; shift += 8) ++bins[word >> shift & 255];
      }
    }
    const double mean = static_cast<double>(attempt.words) * 8 / 256;
    double chi_square = 0.0;
    for (const double bin : bins) chi_square += (bin - mean) * (bin - mean) / mean;
    EXPECT_LT(chi_square, 400.0);
  }
}

}  // namespace dpreduce::masked_sum_test
