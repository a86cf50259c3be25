#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::calibration_test {

double epsilon_of(double z, const CalibrationTarget& target, Accountant accountant) {
  std::optional<double> rate;
  if (target.sampling_rate != 1) rate = target.sampling_rate;
  const std::vector<RepeatedMechanism> run{{GaussianMechanism{z, rate}, target.steps}};
  switch (accountant) {
    case Accountant::kGdp:
      return gdp_epsilon(*gdp_of_run(run), target.delta);
    case Accountant::kZcdp:
      return epsilon_from_zcdp_tight(*zcdp_of_run(run), target.delta);
    case Accountant::kRdp:
      return rdp_epsilon(run, target.delta);
    case Accountant::kPld:
      return pld_epsilon_upper(run, target.delta);
  }
  return kNan;
}

// Safe at the answer; and where the accountant's epsilon is exact, one tolerance below it is not.
void expect_edge(const CalibrationTarget& target, Accountant accountant, double rounding, double tolerance) {
  SCOPED_TRACE(testing::Message() << target.epsilon << " " << target.delta << " T " << target.steps << " q "
                                  << target.sampling_rate);
  const double z = calibrated_noise_multiplier(target, accountant);
  EXPECT_LE(epsilon_of(z, target, accountant), target.epsilon * (1 + rounding));
  EXPECT_GT(epsilon_of(z * (1 - tolerance), target, accountant), target.epsilon);
}

TEST(Calibration, OneReleaseAgreesWithTheTable) {
  for_each_row("analytic_gaussian_sigma.csv", [](const VectorRow& row) {
    const CalibrationTarget target{row.number("epsilon"), row.number("delta")};
    const double exact = row.number("sigma_mpmath");
    expect_relative(calibrated_noise_multiplier(target, Accountant::kGdp), exact, 1e-11);
    EXPECT_GE(calibrated_noise_multiplier(target, Accountant::kZcdp), exact);
    EXPECT_GE(calibrated_noise_multiplier(target, Accountant::kRdp), exact);
  });
}

TEST(Calibration, ExactAccountantsMeetTheEdge) {
  for (const double epsilon : {0.001, 0.5, 8.0, 100.0}) {
    for (const double delta : {1e-15, 1e-6, 0.1}) {
      for (const std::uint64_t steps : {1U, 17U, 100000U}) {
        // Squares and roots of the run are rounded up once each on the way back.
        expect_edge({epsilon, delta, steps}, Accountant::kGdp, 1e-13, 1e-11);
        expect_edge({epsilon, delta, steps}, Accountant::kZcdp, 1e-13, 1e-9);
      }
    }
  }
}

TEST(Calibration, RenyiMeetsTheEdge) {
  for (const double epsilon : {0.01, 1.0, 30.0}) {
    for (const double delta : {1e-12, 1e-5}) {
      for (const double rate : {1e-4, 0.1, 1.0}) expect_edge({epsilon, delta, 1000, rate}, Accountant::kRdp, 0, 3e-6);
    }
  }
}

TEST(Calibration, PrivacyLossDistributionMeetsTheEdge) {
  expect_edge({1, 1e-5, 1, 1}, Accountant::kPld, 0, 1e-4);
  expect_edge({3, 1e-6, 1000, 0.01}, Accountant::kPld, 0, 1e-4);
  expect_edge({0.05, 1e-10, 50, 1}, Accountant::kPld, 0, 1e-4);
}

TEST(Calibration, WhatStandsBesideTheStepsTakesItsPart) {
  for (const Accountant accountant : {Accountant::kRdp, Accountant::kPld}) {
    CalibrationTarget target{2, 1e-6, 40, 0.2};
    const double alone = calibrated_noise_multiplier(target, accountant);
    target.beside = {{GaussianMechanism{8}, 1}, {GaussianMechanism{4, 0.1}, 10}};
    const double z = calibrated_noise_multiplier(target, accountant);
    EXPECT_GT(z, alone * 1.001);
    std::vector<RepeatedMechanism> run = target.beside;
    run.push_back({GaussianMechanism{z, 0.2}, 40});
    const auto epsilon = [&] {
      return accountant == Accountant::kRdp ? rdp_epsilon(run, 1e-6) : pld_epsilon_upper(run, 1e-6);
    };
    EXPECT_LE(epsilon(), 2);
    run.back() = {GaussianMechanism{z * (1 - 1e-4), 0.2}, 40};
    EXPECT_GT(epsilon(), 2);
  }
}

// The best accountant asks for the least noise, and none for less than the exact one.
TEST(Calibration, AccountantsAreOrderedAndTakeTheSmallestNoiseBeyondAllBudgets) {
  const CalibrationTarget target{2, 1e-6, 64};
  const double gdp = calibrated_noise_multiplier(target, Accountant::kGdp);
  const double pld = calibrated_noise_multiplier(target, Accountant::kPld);
  const double zcdp = calibrated_noise_multiplier(target, Accountant::kZcdp);
  EXPECT_LE(gdp, pld);
  EXPECT_LE(pld, gdp * (1 + 1e-4));
  EXPECT_GT(zcdp, pld);
  EXPECT_NEAR(calibrated_noise_multiplier(target, Accountant::kRdp) / zcdp, 1, 1e-5);  // rdp = zCDP for Gaussians
  EXPECT_EQ(calibrated_noise_multiplier({1e5, 0.1}, Accountant::kRdp), kSmallestNoiseMultiplier);
}

TEST(Calibration, RefusesWithAUsageErrorThatNamesTheArgument) {
  const std::tuple<CalibrationTarget, Accountant, const char*> bad[] = {
      {{0, 1e-5}, Accountant::kGdp, "epsilon = 0"},
      {{kNan, 1e-5}, Accountant::kRdp, "epsilon = nan"},
      {{1e9, 1e-5}, Accountant::kPld, "epsilon = 1e+09"},
      {{1, 0}, Accountant::kGdp, "delta = 0"},
      {{1, 1e-250}, Accountant::kPld, "delta = 1e-250"},
      {{1, 1e-5, 0}, Accountant::kGdp, "steps = 0"},
      {{1, 1e-5, 1, 0}, Accountant::kRdp, "sampling rate = 0"},
      {{1, 1e-5, 1, 2}, Accountant::kPld, "sampling rate = 2"},
      {{1, 1e-5, 1, 0.5}, Accountant::kGdp, "use pld or rdp"},
      {{1, 1e-5, 1, 0.5}, Accountant::kZcdp, "use pld or rdp"},
      {{1, 1e-5, 1, 1, {{GaussianMechanism{9}, 1}}}, Accountant::kGdp, "beside"},
      {{1, 1e-5, 1, 1, {{GaussianMechanism{9}, 0}}}, Accountant::kRdp, "count = 0"},
      {{1e-9, 1e-30, 10000000}, Accountant::kRdp, "does not reach"}};
  for (const auto& [target, accountant, message] : bad) {
    expect_refusal<UsageError>(
        [&, target = target, accountant = accountant] { calibrated_noise_multiplier(target, accountant); }, {message});
  }
}

}  // namespace dpreduce::calibration_test
