
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::block_split_test {

HighPrecision squared_mu_of(const std::vector<WeightedBlock>& blocks, const std::vector<NoiseOfBlock>& noise) {
  HighPrecision sum = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const HighPrecision ratio = HighPrecision(blocks[block].sensitivity) / noise[block].sigma;
    sum += ratio * ratio;
  }
  return sum;
}

TEST(BlockSplit, AgreesWithTheTable) {
  for (const VectorRow& row : read_vectors("joint_block_split.csv")) {
    SCOPED_TRACE(row.text("case") + ", " + row.text("block"));
    const bool means = row.text("case").starts_with("means");
    const std::vector<WeightedBlock> blocks{{1, means ? 768.0 : 589824.0}, {1, means ? 1.0 : 7680.0}};
    const std::size_t block = row.text("block") == "sum" || row.text("block") == "G" ? 0 : 1;
    const std::vector<NoiseOfBlock> noise = split_blocks(blocks, gdp_mu(row.number("epsilon"), row.number("delta")));
    expect_relative(noise[block].sigma, row.number("optimal_sd"), 1e-10);
    expect_relative(noise[block].variance, row.number("optimal_variance"), 1e-10);
    expect_relative(noise[block].share_of_mu2, row.number("share_of_mu2"), 1e-10);
  }
}

TEST(BlockSplit, NeverSpendsMoreThanMuAndHardlyLess) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-30.0, 30.0);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<WeightedBlock> blocks(1 + random() % 6);
    for (WeightedBlock& block : blocks) block = {std::exp(exponent(random)), std::exp(exponent(random))};
    const double mu = std::exp(exponent(random) / 4);
    const std::vector<NoiseOfBlock> noise = split_blocks(blocks, mu);
    const HighPrecision spent = squared_mu_of(blocks, noise) / (HighPrecision(mu) * mu);
    EXPECT_LE(spent, HighPrecision(1));
    EXPECT_GE(spent, HighPrecision(1) - 1e-14);
    double shares = 0;
    for (const NoiseOfBlock& block : noise) {
      shares += block.share_of_mu2;
      EXPECT_GE(HighPrecision(block.variance), HighPrecision(block.sigma) * block.sigma);
    }
    EXPECT_NEAR(shares, 1, 1e-12);
  }
}

TEST(BlockSplit, NoOtherDivisionLosesLess) {
  const std::vector<WeightedBlock> blocks{{1, 768}, {2, 5}, {0.5, 30}};
  const std::vector<NoiseOfBlock> best = split_blocks(blocks, 0.7);
  const auto loss_with = [&](double tilt, std::size_t tilted) {  // shares tilted, the sum of all kept
    double total = 0;
    double loss = 0;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      total += best[block].share_of_mu2 * (block == tilted ? 1 + tilt : 1);
    }
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const double share = best[block].share_of_mu2 * (block == tilted ? 1 + tilt : 1) / total;
      loss += blocks[block].loss_weight * blocks[block].sensitivity * blocks[block].sensitivity / (share * 0.49);
    }
    return loss;
  };
  for (std::size_t tilted = 0; tilted < blocks.size(); ++tilted) {
    EXPECT_GT(loss_with(0.01, tilted), loss_with(0, tilted));
    EXPECT_GT(loss_with(-0.01, tilted), loss_with(0, tilted));
  }
}

TEST(BlockSplit, OneBlockGetsSensitivityOverMu) {
  const NoiseOfBlock noise = split_blocks(std::vector<WeightedBlock>{{3, 5}}, 0.5).front();
  expect_relative(noise.sigma, 6, 1e-15);
  EXPECT_GE(noise.sigma, 6);
}

TEST(BlockSplit, WhatCannotBeSplitIsRefused) {
  EXPECT_THROW(split_blocks({}, 1), UsageError);
  for (const double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{bad, 1}}, 1), UsageError) << bad;
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1, bad}}, 1), UsageError) << bad;
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1, 1}}, bad), UsageError) << bad;
  }
  EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1e308, 1}}, 1e-5), UsageError);  // sigma beyond double
}

}  // namespace dpreduce::block_split_test
