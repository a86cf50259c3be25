// Shares of noise: their accounting, and what a run among silos releases.
#include "aggregator/release/block_noise.hpp"
#include "aggregator/release/release.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/common/silos/silo_communicators.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::noise_shares_test {

TEST(NoiseShares, AgreeWithTheReferenceTable) {
  constexpr double kLattice = 0x1p20;  // the table's sensitivity is 1
  for (const VectorRow& row : read_vectors("distributed_noise.csv")) {
    const double sites = row.number("sites_k");
    const double colluding = row.number("colluding_t");
    const double central = row.number("sigma_central");
    const NoiseShares shares{static_cast<std::uint32_t>(sites - colluding)};
    const double share = shares.share_sigma(central * kLattice) / kLattice;
    EXPECT_NEAR(share, row.number("sigma_per_site"), 1e-12 * share);
    EXPECT_GE(share * share * (sites - colluding), central * central) << "never less than planned";
    EXPECT_NEAR(std::sqrt(sites) * share, row.number("sigma_total"), 1e-9);
    EXPECT_NEAR(1.0 / (std::sqrt(sites) * share), row.number("mu_public_output"), 1e-9);
    EXPECT_NEAR(1.0 / (std::sqrt(sites - colluding) * share), row.number("mu_vs_coordinator_plus_t"), 1e-9);
    EXPECT_NEAR(gdp_mu(row.number("epsilon"), row.number("delta")), row.number("mu_vs_coordinator_plus_t"), 1e-9);
  }
}

TEST(NoiseShares, AreNeverSoSmallThatRoundingCounts) {
  EXPECT_EQ(NoiseShares{4}.share_sigma(0.5), kSmallestShareSigma);
  EXPECT_GE(NoiseShares{4}.share_sigma(9.0), 4.5);
}

TEST(NoiseShares, BesideADiagonalAreNotSmallerEither) {
  for (const double sigma : {0.5, 4.0, 9.0, 11.0, 12.0, 1e6}) {
    PlannedBlock gram{};
    gram.sigma = sigma;
    gram.noise = BlockNoise::kSymmetric;
    const double share = NoiseShares{4}.share_of(gram).sigma;
    EXPECT_GE(off_diagonal_sigma(share), kSmallestShareSigma) << sigma;
    // Four honest shares: s^2 on the diagonal, s^2 / 2 beside it.
    EXPECT_GE(4 * share * share, sigma * sigma);
    EXPECT_GE(4 * std::pow(off_diagonal_sigma(share), 2), sigma * sigma / 2);
  }
  PlannedBlock sums{};
  sums.sigma = 9.0;
  EXPECT_LT(NoiseShares{4}.share_of(sums).sigma, kSmallestDiagonalShareSigma);
}

// What a silo charges: never less noise than planned, and its shares stay what they are.
TEST(NoiseShares, GuaranteeWhatTheySumToAtLeast) {
  for (const double mu : {0.01, 0.5, 20.0, 1e4}) {
    const NoisePlan plan = make_noise_plan(mu, Adjacency::kAddRemove,
                                           {{.name = "least_squares",
                                             .share = 1.0,
                                             .rounds = 2,
                                             .blocks = {{"gram", 55, 1.0, BlockNoise::kSymmetric}, {"sums", 30, 1.0}},
                                             .profiles = {{"add-remove", {1000U * 1000U, 1000U}}}}});
    const NoiseShares shares{3};
    const NoisePlan guaranteed = shares.guaranteed(plan);
    EXPECT_LE(guaranteed.mu, plan.mu);
    EXPECT_LE(guaranteed.releases[0].mu, plan.releases[0].mu);
    for (std::size_t block = 0; block < 2; ++block) {
      const PlannedBlock& planned = plan.releases[0].blocks[block];
      const PlannedBlock& held = guaranteed.releases[0].blocks[block];
      EXPECT_GE(held.sigma, planned.sigma);
      EXPECT_EQ(shares.share_of(held).sigma, shares.share_of(planned).sigma);
      EXPECT_LE(held.sigma, std::sqrt(3.0) * shares.share_of(planned).sigma);
      EXPECT_NEAR(held.sigma / (std::sqrt(3.0) * shares.share_of(planned).sigma), 1.0, 1e-14);
    }
    if (mu == 0.01) {
      EXPECT_EQ(guaranteed.mu, plan.mu) << "no share is the smallest";
    }
  }
}

constexpr std::size_t kElements = 20000;

struct Released {
  std::vector<double> variances;  // of each round
  std::vector<std::vector<std::int64_t>> values;
  std::size_t summed = 0;
  double sigma = 0.0;
};

NoisePlan plan_of_zeros() {
  return make_noise_plan(1.0, Adjacency::kAddRemove,
                         {{.name = "sums",
                           .share = 1.0,
                           .rounds = 2,
                           .blocks = {{"sums", kElements, 1.0}},
                           .profiles = {{"add-remove", {1000U * 1000U}}}}});
}

double planned_sigma() {
  return plan_of_zeros().releases.front().blocks.front().sigma;
}

// Rounds of a release of zeros over 5 silos, of which `lost` are killed at their first masked message.
Released release_zeros(const SiloTerms& terms, std::optional<Fault> fault) {
  const TemporaryFolder folder;
  Released released;
  run_among_silos(terms, fault, [&](std::uint32_t rank, const std::function<Communicator()>& join) {
    Communicator ranks = join();
    Releaser releaser(ranks, plan_of_zeros(), RunFile(), {.ledger_path = folder / std::to_string(rank)}, sample_terms(),
                      NoiseShares{terms.threshold - terms.colluding});
    for (int round = 0; round < 2; ++round) {
      const Release release = releaser.release("sums", Statistic({{"sums", kElements}}));
      if (rank != 0) continue;
      const ReleasedBlock& block = release.block("sums");
      released.sigma = block.sigma();
      released.values.emplace_back(block.values().begin(), block.values().end());
      double variance = 0.0;
      for (const std::int64_t value : block.values()) variance += std::pow(static_cast<double>(value), 2);
      released.variances.push_back(variance / kElements);
      released.summed = ranks.silos()->coordinator()->last_summed().size();
    }
  });
  return released;
}

// Each variance within 5 standard errors of 20,000 samples: false alarm 6e-7, four times.
void expect_variance(const Released& released, std::size_t shares_summed, std::uint32_t honest) {
  EXPECT_EQ(released.summed, shares_summed);
  const double share = NoiseShares{honest}.share_sigma(planned_sigma());
  EXPECT_NEAR(released.sigma, share * std::sqrt(static_cast<double>(shares_summed)), 1e-9 * share)
      << "what it says of itself";
  const double planned = static_cast<double>(shares_summed) * (share * share + 1.0 / 12.0);
  ASSERT_EQ(released.variances.size(), 2U);
  for (const double variance : released.variances) {
    EXPECT_NEAR(variance / planned, 1.0, 5.0 * std::sqrt(2.0 / kElements));
    EXPECT_GE(variance, (1.0 - 5.0 * std::sqrt(2.0 / kElements)) * std::pow(planned_sigma(), 2));
  }
  EXPECT_NE(released.values[0], released.values[1]) << "rounds share no noise";
}

TEST(NoiseShares, TheReleasedVarianceIsThatOfAllShares) {
  expect_variance(release_zeros({5, 4, 1}, std::nullopt), 5, 3);
}

TEST(NoiseShares, WithALostSiloItIsThatOfTheOthers) {
  expect_variance(release_zeros({5, 4, 1}, Fault{3, FaultKind::kKill, FrameKind::kMasked, 1}), 4, 3);
}

}  // namespace dpreduce::noise_shares_test
