#include "common/accounting/gaussian_dp.hpp"

#include <ctime>

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/gaussian_run.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::gaussian_dp_test {

// The definition once more, with twice the digits: 100 against the library's 50.
using Oracle =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<100>, boost::multiprecision::et_off>;

Oracle oracle_cdf(const Oracle& x) {
  return boost::math::erfc(-x / sqrt(Oracle(2))) / 2;
}

Oracle oracle_delta(const Oracle& epsilon, const Oracle& mu) {
  return oracle_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * oracle_cdf(-mu / 2 - epsilon / mu);
}

const std::vector<double> kEpsilons{0.001, 0.01, 0.1, 0.5, 1, 3, 10, 30, 100};
const std::vector<double> kDeltas{1e-15, 1e-12, 1e-10, 1e-7, 1e-5, 1e-3, 0.1};

TEST(GaussianDp, MuAndEpsilonAgreeWithTheTables) {
  for_each_row("analytic_gaussian_sigma.csv", [](const VectorRow& row) {
    const double epsilon = row.number("epsilon");
    const double delta = row.number("delta");
    expect_relative(sigma_for_mu(gdp_mu(epsilon, delta), 1), row.number("sigma_mpmath"), 1e-11);
    expect_relative(gdp_mu(epsilon, delta), row.number("mu_mpmath"), 1e-11);
  });
  for_each_row("analytic_gaussian_eps.csv", [](const VectorRow& row) {
    EXPECT_NEAR(gdp_epsilon(1 / row.number("sigma"), row.number("delta")), row.number("epsilon_mpmath"), 1e-11);
  });
}

TEST(GaussianDp, CompositionAgreesWithTheTables) {
  for_each_gaussian_run([](const VectorRow& row, const std::vector<RepeatedMechanism>& run) {
    std::vector<double> mus;
    for (const RepeatedMechanism& part : run) {
      mus.insert(mus.end(), part.count, 1 / std::get<GaussianMechanism>(part.mechanism).noise_multiplier);
    }
    expect_relative(gdp_compose(mus), row.number("mu_total"), 1e-13);
    expect_relative(gdp_epsilon(gdp_compose(mus), row.number("delta")), row.number("eps_exact_gdp_mpmath"), 1e-11);
  });
  const std::vector<double> mus{1. / 2, 1. / 2, 1. / 2, 1. / 5};
  EXPECT_DOUBLE_EQ(gdp_compose(mus), std::sqrt(3 / 4. + 1 / 25.));
}

TEST(GaussianDp, EveryResultIsOnTheSafeSideAndNextToTheEdge) {
  for (const double epsilon : kEpsilons) {
    for (const double delta : kDeltas) {
      SCOPED_TRACE(std::to_string(epsilon) + ", " + std::to_string(std::log10(delta)));
      const double mu = gdp_mu(epsilon, delta);
      EXPECT_LE(oracle_delta(epsilon, mu), Oracle(delta));
      EXPECT_GT(oracle_delta(epsilon, mu * (1 + 1e-15)), Oracle(delta));
      for (const double sensitivity : {1.0, std::sqrt(2.0), 32767.0}) {
        const double sigma = sigma_for_mu(gdp_mu(epsilon, delta), sensitivity);
        EXPECT_LE(oracle_delta(epsilon, Oracle(sensitivity) / sigma), Oracle(delta));
        EXPECT_GT(oracle_delta(epsilon, Oracle(sensitivity) / (sigma * (1 - 1e-15))), Oracle(delta));
      }
      const double back = gdp_epsilon(mu, delta);
      EXPECT_LE(oracle_delta(back, mu), Oracle(delta));
      expect_relative(back, epsilon, 1e-13);
    }
  }
}

TEST(GaussianDp, ExtremesAreExactToo) {
  for (const double epsilon : {0.0, 1e-18, 1e-9, 1e-6, 1e4, 1e6}) {
    for (const double delta : {1e-300, 1e-100, 1e-30, 1e-18, 0.5, 0.999, 1 - 1e-15}) {
      if (epsilon < 1e-9 && delta < 1e-19) continue;  // refused: see below
      SCOPED_TRACE(std::to_string(std::log10(epsilon)) + ", " + std::to_string(std::log10(delta)));
      const double mu = gdp_mu(epsilon, delta);
      EXPECT_LE(oracle_delta(epsilon, mu), Oracle(delta));
      // Next to 1, delta's ulp is a large part of 1 - delta.
      EXPECT_GT(oracle_delta(epsilon, mu * (1 + (delta < 0.9999 ? 1e-15 : 1e-6))), Oracle(delta));
    }
  }
  EXPECT_EQ(gdp_epsilon(kSmallestMu, 0.1), 0);
  EXPECT_LE(oracle_delta(gdp_epsilon(kLargestMu, 1e-300), kLargestMu), Oracle(1e-300));
  EXPECT_THROW(gdp_mu(0, 1e-25), UsageError);
  EXPECT_THROW(gdp_mu(1e-22, 1e-25), UsageError);
}

TEST(GaussianDp, EpsilonIsZeroOnlyWhereDeltaCoversTotalVariation) {
  const double mu = 0.1;
  const auto total_variation = oracle_delta(0, mu).convert_to<double>();
  EXPECT_EQ(gdp_epsilon(mu, total_variation * (1 + 1e-15)), 0);
  EXPECT_GT(gdp_epsilon(mu, total_variation * (1 - 1e-6)), 0);
}

// [zhu2024], Theorem 2.1, as printed: delta/2 with epsilon/2 in the arguments, but e^epsilon in front.
double printed_theorem_sigma(double epsilon, double delta) {
  double low = 1e-3;
  double high = 1e5;
  for (int step = 0; step < 200; ++step) {
    const double sigma = std::sqrt(low * high);
    const Oracle accepted = oracle_cdf(1 / (2 * Oracle(sigma)) - Oracle(sigma) * epsilon / 2) -
                            exp(Oracle(epsilon)) * oracle_cdf(-1 / (2 * Oracle(sigma)) - Oracle(sigma) * epsilon / 2);
    (accepted <= delta / 2 ? high : low) = sigma;
  }
  return high;
}

TEST(GaussianDp, ThePrintedTheoremIsNotFollowedBecauseItsNoiseIsTooSmall) {
  for_each_row("thm21_zhu2024_check.csv", [](const VectorRow& row) {
    const double epsilon = row.number("epsilon");
    const double delta = row.number("delta");
    const double printed = printed_theorem_sigma(epsilon, delta);
    expect_relative(printed, row.number("sigma_printed_formula"), 1e-10);

    const double ours = sigma_for_mu(gdp_mu(epsilon, delta), std::sqrt(2.0));
    expect_relative(ours, row.number("sigma_correct_joint_sqrt2"), 1e-11);
    EXPECT_GT(ours, 2 * printed);

    const auto true_delta = oracle_delta(epsilon, std::sqrt(2.0) / printed).convert_to<double>();
    expect_relative(true_delta, row.number("true_delta_at_printed_sigma"), 1e-9);
    EXPECT_GT(true_delta, 500 * delta);
    expect_relative(gdp_epsilon(std::sqrt(2.0) / printed, delta), row.number("true_eps_at_printed_sigma"), 1e-9);
    expect_relative(sigma_for_mu(gdp_mu(epsilon / 2, delta / 2), 1), row.number("sigma_eps2_delta2_basic_composition"),
                    1e-11);
  });
}

TEST(GaussianDp, ACallTakesFarLessThanATenthOfASecond) {
  for (const double epsilon : kEpsilons) {
    for (const double delta : kDeltas) {
      // Processor time: other work on the machine must not fail the test.
      const std::clock_t start = std::clock();
      const double mu = gdp_mu(epsilon, delta);
      const std::clock_t middle = std::clock();
      gdp_epsilon(mu, delta);
      const std::clock_t end = std::clock();
      EXPECT_LT(middle - start, CLOCKS_PER_SEC / 10) << epsilon << " " << delta;
      EXPECT_LT(end - middle, CLOCKS_PER_SEC / 10) << epsilon << " " << delta;
    }
  }
}

TEST(GaussianDp, RefusesWithAUsageErrorThatNamesTheArgument) {
  const std::vector<double> mus{1, -1};
  expect_refusals<UsageError>({{[] { gdp_mu(-1, 1e-5); }, "epsilon = -1:"},
                               {[] { gdp_mu(kNan, 1e-5); }, "epsilon = nan:"},
                               {[] { gdp_mu(kInfinity, 1e-5); }, "epsilon = inf:"},
                               {[] { gdp_mu(1e7, 1e-5); }, "epsilon = 1e+07:"},
                               {[] { gdp_mu(1, 0); }, "delta = 0:"},
                               {[] { gdp_mu(1, 1); }, "delta = 1:"},
                               {[] { gdp_mu(1, -1e-5); }, "delta = -1e-05:"},
                               {[] { gdp_mu(1, kNan); }, "delta = nan:"},
                               {[] { sigma_for_mu(1, 0); }, "sensitivity = 0:"},
                               {[] { sigma_for_mu(1, kNan); }, "sensitivity = nan:"},
                               {[] { sigma_for_mu(1, kInfinity); }, "sensitivity = inf:"},
                               {[] { sigma_for_mu(gdp_mu(1e-3, 1e-9), 1e308); }, "sigma = inf:"},
                               {[] { gdp_epsilon(0, 1e-5); }, "mu = 0:"},
                               {[] { gdp_epsilon(kNan, 1e-5); }, "mu = nan:"},
                               {[] { gdp_epsilon(2e4, 1e-5); }, "mu = 20000:"},
                               {[] { gdp_epsilon(1, 0); }, "delta = 0:"},
                               {[&] { gdp_compose(mus); }, "mu = -1:"},
                               {[] { gdp_compose(std::vector<double>{kNan}); }, "mu = nan:"}});
}

TEST(HighPrecision, RoundsToTheSideThatItsNameSays) {
  const HighPrecision third = HighPrecision(1) / 3;
  EXPECT_LT(HighPrecision(round_down(third)), third);
  EXPECT_GT(HighPrecision(round_up(third)), third);
  EXPECT_EQ(round_up(third), std::nextafter(round_down(third), 1.0));
  EXPECT_EQ(round_up(HighPrecision(0.5)), 0.5);
  EXPECT_EQ(round_down(HighPrecision(0.5)), 0.5);
  EXPECT_EQ(round_up(HighPrecision("1e400")), kInfinity);
  EXPECT_EQ(round_down(HighPrecision("1e400")), std::numeric_limits<double>::max());
  EXPECT_EQ(round_down(HighPrecision("1e-400")), 0);
  EXPECT_EQ(round_up(HighPrecision("1e-400")), std::numeric_limits<double>::denorm_min());
}

TEST(GaussianDp, StepsThatShareMuNeedItsRootTimesTheNoise) {
  EXPECT_EQ(sigma_for_mu(0.5, 3), 6);
  for (const std::uint64_t steps : {2ULL, 3ULL, 4ULL, 1000ULL, 1ULL << 60}) {
    const double sigma = sigma_for_mu(0.5, 3, steps);
    expect_relative(sigma, 6 * std::sqrt(static_cast<double>(steps)), 1e-15);
    EXPECT_LE(HighPrecision(9) * steps / (HighPrecision(sigma) * sigma), HighPrecision(0.25));
  }
  EXPECT_THROW(sigma_for_mu(0.5, 3, 0), UsageError);
  EXPECT_THROW(sigma_for_mu(0.5, 1e308), UsageError);  // beyond double
}

TEST(AttackBound, AgreesWithTheNormalTablesIsBlindGuessingWithoutALeakAndCertaintyWithAGreatOne) {
  EXPECT_NEAR(gdp_attack_power(1e-12, 0.01), 0.01, 1e-11);
  EXPECT_NEAR(gdp_even_odds_accuracy(1e-12), 0.5, 1e-11);
  EXPECT_EQ(gdp_attack_power(1000, 0.01), 1);
  EXPECT_EQ(gdp_even_odds_accuracy(1000), 1);
  EXPECT_NEAR(attack_power(0, 1e-9, 0.01), 0.01, 1e-8);
  EXPECT_EQ(attack_power(1e5, 1e-9, 0.01), 1);
  EXPECT_NEAR(attack_power(1, 0, 0.01), 0.01 * std::exp(1.0), 1e-12);  // pure
  EXPECT_EQ(attack_power(1, 0.99, 0.9), 1);
  // Phi(Phi^-1(0.01) + 1) and Phi(1/2), computed with 40 digits.
  EXPECT_NEAR(gdp_attack_power(1, 0.01), 0.092362248073739359, 1e-12);
  EXPECT_NEAR(gdp_even_odds_accuracy(1), 0.69146246127401310, 1e-12);
}

// mu-GDP is the intersection of its (epsilon, delta) guarantees: none of them may allow less, and the best one allows
// no more.
TEST(AttackBound, TheGaussianCurveIsTheEnvelopeOfItsLines) {
  for (const double mu : {0.1, 0.5, 1.0, 3.0}) {
    for (const double alpha : {1e-4, 0.01, 0.3}) {
      const double power = gdp_attack_power(mu, alpha);
      double least = 1;
      for (double epsilon = 0; epsilon < 8 * mu + 1; epsilon += mu / 50) {
        const double line = attack_power(epsilon, gaussian_delta(epsilon, mu), alpha);
        ASSERT_GE(line, power * (1 - 1e-9)) << mu << " " << alpha << " " << epsilon;
        least = std::min(least, line);
      }
      EXPECT_NEAR(least, power, 1e-4 * mu);
    }
  }
}

TEST(AttackBound, ArgumentsOutsideTheirRangeAreRefused) {
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(gdp_attack_power(bad, 0.01), UsageError);
    EXPECT_THROW(gdp_even_odds_accuracy(bad), UsageError);
    EXPECT_THROW(gdp_attack_power(1, bad), UsageError);
    EXPECT_THROW(attack_power(1, 1e-5, bad), UsageError);
  }
  EXPECT_THROW(attack_power(-1, 1e-5, 0.01), UsageError);
  for (const double bad : {-1.0, 1.0, std::nan("")}) EXPECT_THROW(attack_power(1, bad, 0.01), UsageError);
  EXPECT_THROW(gdp_attack_power(1, 1), UsageError);
}

HighPrecision squared_mu_of(const std::vector<WeightedBlock>& blocks, const std::vector<NoiseOfBlock>& noise) {
  HighPrecision sum = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const HighPrecision ratio = HighPrecision(blocks[block].sensitivity) / noise[block].sigma;
    sum += ratio * ratio;
  }
  return sum;
}

TEST(BlockSplit, AgreesWithTheTableAndGivesOneBlockSensitivityOverMu) {
  for_each_row("joint_block_split.csv", [](const VectorRow& row) {
    const bool means = row.text("case").starts_with("means");
    const std::vector<WeightedBlock> blocks{{1, means ? 768.0 : 589824.0}, {1, means ? 1.0 : 7680.0}};
    const std::size_t block = row.text("block") == "sum" || row.text("block") == "G" ? 0 : 1;
    const std::vector<NoiseOfBlock> noise = split_blocks(blocks, gdp_mu(row.number("epsilon"), row.number("delta")));
    expect_relative(noise[block].sigma, row.number("optimal_sd"), 1e-10);
    expect_relative(noise[block].variance, row.number("optimal_variance"), 1e-10);
    expect_relative(noise[block].share_of_mu2, row.number("share_of_mu2"), 1e-10);
  });
  const NoiseOfBlock noise = split_blocks(std::vector<WeightedBlock>{{3, 5}}, 0.5).front();
  expect_relative(noise.sigma, 6, 1e-15);
  EXPECT_GE(noise.sigma, 6);
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

TEST(BlockSplit, WhatCannotBeSplitIsRefused) {
  EXPECT_THROW(split_blocks({}, 1), UsageError);
  for (const double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{bad, 1}}, 1), UsageError) << bad;
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1, bad}}, 1), UsageError) << bad;
    EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1, 1}}, bad), UsageError) << bad;
  }
  EXPECT_THROW(split_blocks(std::vector<WeightedBlock>{{1e308, 1}}, 1e-5), UsageError);  // sigma beyond double
}

}  // namespace dpreduce::gaussian_dp_test
