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

TEST(NoiseShares, AreNeverSoSmallThatRoundingCountsBesideADiagonalEither) {
  EXPECT_EQ(NoiseShares{4}.share_sigma(0.5), kSmallestShareSigma);
  EXPECT_GE(NoiseShares{4}.share_sigma(9.0), 4.5);
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
      const double share = shares.share_of(planned).sigma;
      EXPECT_GE(held.sigma, planned.sigma);
      EXPECT_EQ(shares.share_of(held).sigma, share);
      EXPECT_LE(held.sigma, std::sqrt(3.0) * share);
      EXPECT_NEAR(held.sigma / (std::sqrt(3.0) * share), 1.0, 1e-14);
    }
    if (mu == 0.01) {
      EXPECT_EQ(guaranteed.mu, plan.mu) << "no share is the smallest";
    }
  }
}

// Two rounds of a release of zeros over 5 silos, of which one may be lost: each round's variance, within 5 standard
// errors of 20,000 samples, is that of the shares that are summed. False alarm 6e-7, four times.
void expect_variance_of_shares(std::size_t summed, std::optional<Fault> fault) {
  constexpr std::size_t kElements = 20000;
  const NoiseShares shares{3};
  const NoisePlan plan = make_noise_plan(1.0, Adjacency::kAddRemove,
                                         {{.name = "sums",
                                           .share = 1.0,
                                           .rounds = 2,
                                           .blocks = {{"sums", kElements, 1.0}},
                                           .profiles = {{"add-remove", {1000U * 1000U}}}}});
  const double planned = plan.releases.front().blocks.front().sigma;
  const double share = shares.share_sigma(planned);
  const auto count = static_cast<double>(summed);
  const TemporaryFolder folder;
  std::set<std::vector<std::int64_t>> rounds;
  run_among_silos({5, 4, 1}, fault, [&](std::uint32_t rank, const std::function<Communicator()>& join) {
    Communicator ranks = join();
    Releaser releaser(ranks, plan, RunFile(), {.ledger_path = folder / std::to_string(rank)}, sample_terms(), shares);
    for (int round = 0; round < 2; ++round) {
      const Release release = releaser.release("sums", Statistic({{"sums", kElements}}));
      if (rank != 0) continue;
      const ReleasedBlock& block = release.block("sums");
      EXPECT_EQ(ranks.silos()->coordinator()->last_summed().size(), summed);
      EXPECT_NEAR(block.sigma(), share * std::sqrt(count), 1e-9 * share) << "what it says of itself";
      double variance = 0.0;
      for (const std::int64_t value : block.values()) variance += std::pow(static_cast<double>(value), 2) / kElements;
      EXPECT_NEAR(variance / (count * (share * share + 1.0 / 12.0)), 1.0, 5.0 * std::sqrt(2.0 / kElements));
      EXPECT_GE(variance, (1.0 - 5.0 * std::sqrt(2.0 / kElements)) * planned * planned);
      rounds.insert({block.values().begin(), block.values().end()});
    }
  });
  EXPECT_EQ(rounds.size(), 2U) << "rounds share no noise";
}

TEST(NoiseShares, TheReleasedVarianceIsThatOfAllShares) {
  expect_variance_of_shares(5, std::nullopt);
}

TEST(NoiseShares, WithALostSiloItIsThatOfTheOthers) {
  expect_variance_of_shares(4, Fault{3, FaultKind::kKill, FrameKind::kMasked, 1});
}

}  // namespace dpreduce::noise_shares_test
