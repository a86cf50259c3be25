// Masked sums over a wire in memory, without faults.
#include "dpreduce/silos/masked_sum.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include "memory_wire.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dpreduce/silos/mask_stream.hpp"

namespace dpreduce {
namespace {

TEST(MaskStream, IsTheSameAtAnyPlaceAndInAnyParts) {
  const SecretVector<std::byte> key(32, std::byte{9});
  std::vector<std::uint64_t> whole(5000, 0);
  MaskStream(key, MaskSign::kAdd).apply(0, whole);
  std::vector<std::uint64_t> parts(5000, 0);
  MaskStream stream(key, MaskSign::kSubtract);
  for (std::size_t first = 0; first < parts.size(); first += 777) {
    stream.apply(first, std::span(parts).subspan(first, std::min<std::size_t>(777, parts.size() - first)));
  }
  for (std::size_t w = 0; w < whole.size(); ++w) EXPECT_EQ(whole[w] + parts[w], 0U);
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

TEST(MaskedSum, IsTheSumOverANeighbourGraph) {
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
      silos[silo - 1].take_delivery(reader);
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

}  // namespace
}  // namespace dpreduce
