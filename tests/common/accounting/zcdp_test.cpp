#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::zcdp_test {

TEST(Zcdp, EpsilonAgreesWithTheTable) {
  for_each_row("zcdp_to_eps.csv", [](const VectorRow& row) {
    const double rho = row.number("rho");
    const double delta = row.number("delta");
    const double simple = epsilon_from_zcdp_simple(rho, delta);
    const double tight = epsilon_from_zcdp_tight(rho, delta);
    const double gaussian = gdp_epsilon(mu_from_zcdp(rho), delta);
    expect_relative(simple, row.number("eps_simple"), 1e-14);
    expect_relative(tight, row.number("eps_tight"), 1e-12);
    expect_relative(gaussian, row.number("eps_gaussian_exact_mu_sqrt2rho"), 1e-11);
    EXPECT_LE(gaussian, tight);
    EXPECT_LE(tight, simple);
  });
}

TEST(Zcdp, RhoAgreesWithTheTable) {
  for_each_row("eps_to_zcdp.csv", [](const VectorRow& row) {
    const double epsilon = row.number("epsilon");
    const double delta = row.number("delta");
    expect_relative(epsilon_from_zcdp_simple(row.number("rho_simple"), delta), epsilon, 1e-10);
    expect_relative(zcdp_from_epsilon_tight(epsilon, delta), row.number("rho_tight"), 1e-10);
    expect_relative(zcdp_from_mu(gdp_mu(epsilon, delta)), row.number("rho_gaussian_exact"), 1e-10);
  });
}

TEST(Zcdp, CompositionAgreesWithTheTable) {
  for_each_row("gaussian_composition.csv", [](const VectorRow& row) {
    const double z = row.number("noise_multiplier_z");
    const double rho = row.number("k") / (2 * z * z);
    expect_relative(rho, row.number("rho_total"), 1e-14);
    expect_relative(epsilon_from_zcdp_simple(rho, row.number("delta")), row.number("eps_zcdp_simple"), 1e-12);
    expect_relative(epsilon_from_zcdp_tight(rho, row.number("delta")), row.number("eps_zcdp_tight"), 1e-12);
  });
}

TEST(Zcdp, ConversionsThereAndBackNeverGainPrivacyNorLoseMuch) {
  for (const double epsilon : {1e-6, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1e4, 1e6}) {
    for (const double delta : {1e-300, 1e-15, 1e-10, 1e-5, 0.1, 0.9}) {
      SCOPED_TRACE(std::to_string(epsilon) + ", " + std::to_string(std::log10(delta)));
      const double tight = zcdp_from_epsilon_tight(epsilon, delta);
      EXPECT_GE(epsilon_from_zcdp_simple(tight, delta), epsilon * (1 - 1e-12));
      EXPECT_LE(epsilon_from_zcdp_tight(tight, delta), epsilon * (1 + 1e-15));
      EXPECT_GT(epsilon_from_zcdp_tight(tight * (1 + 1e-9), delta), epsilon * (1 - 1e-12));
      // Gaussian noise at this rho keeps the promise with room to spare.
      EXPECT_LE(tight, zcdp_from_mu(gdp_mu(epsilon, delta)));
    }
  }
}

TEST(Zcdp, NoOrderOfAGridBeatsTheTightConversion) {
  for (const double rho : {1e-6, 1e-3, 0.1, 1.0, 50.0}) {
    for (const double delta : {1e-12, 1e-5, 0.1}) {
      const double tight = epsilon_from_zcdp_tight(rho, delta);
      for (double excess = 1e-4; excess < 1e5; excess *= 1.01) {
        const double alpha = 1 + excess;
        const double bound = alpha * rho + std::log(excess / alpha) + (-std::log(delta) - std::log(alpha)) / excess;
        ASSERT_LE(tight, std::max(0.0, bound) + 1e-9 * std::abs(bound)) << rho << " " << delta << " " << alpha;
      }
    }
  }
}

TEST(Zcdp, MuAndRhoRoundToTheSafeSide) {
  for (const double rho : {kSmallestRho, 1e-6, 0.1, 0.5, 3.0, kLargestRho}) {
    const double mu = mu_from_zcdp(rho);
    EXPECT_LE(HighPrecision(mu) * mu, 2 * HighPrecision(rho));
    EXPECT_GE(mu, kSmallestMu);
    EXPECT_LE(mu, kLargestMu);
    expect_relative(mu, std::sqrt(2 * rho), 1e-15);
    EXPECT_GE(HighPrecision(zcdp_from_mu(mu)) * 2, HighPrecision(mu) * mu);
  }
  EXPECT_EQ(mu_from_zcdp(0.5), 1);
}

TEST(Zcdp, RefusesWithAUsageErrorThatNamesTheArgument) {
  expect_refusals<UsageError>({{[] { epsilon_from_zcdp_simple(0, 1e-5); }, "rho = 0:"},
                               {[] { epsilon_from_zcdp_simple(kNan, 1e-5); }, "rho = nan:"},
                               {[] { epsilon_from_zcdp_simple(1, 0); }, "delta = 0:"},
                               {[] { epsilon_from_zcdp_tight(-1, 1e-5); }, "rho = -1:"},
                               {[] { epsilon_from_zcdp_tight(1e8, 1e-5); }, "rho = 1e+08:"},
                               {[] { epsilon_from_zcdp_tight(1, 1); }, "delta = 1:"},
                               {[] { epsilon_from_zcdp_tight(1, kNan); }, "delta = nan:"},
                               {[] { zcdp_from_epsilon_tight(0, 1e-5); }, "epsilon = 0:"},
                               {[] { zcdp_from_epsilon_tight(1e7, 1e-5); }, "epsilon = 1e+07:"},
                               {[] { zcdp_from_epsilon_tight(kNan, 1e-5); }, "epsilon = nan:"},
                               {[] { zcdp_from_epsilon_tight(1, 0); }, "delta = 0:"},
                               {[] { mu_from_zcdp(0); }, "rho = 0:"},
                               {[] { zcdp_from_mu(kNan); }, "mu = nan:"}});
}

}  // namespace dpreduce::zcdp_test
