#include "common/accounting/rdp.hpp"

#include "common/base/error.hpp"
#include "tests/common/accounting/gaussian_run.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::rdp_test {

// The least epsilon of some orders, and the order that has it.
std::pair<double, double> least_epsilon(const std::vector<RepeatedMechanism>& run, double delta,
                                        const std::vector<double>& orders) {
  std::pair<double, double> least{std::numeric_limits<double>::infinity(), 0};
  for (const double order : orders) {
    double total = 0;
    for (const RepeatedMechanism& part : run) total += static_cast<double>(part.count) * rdp(part.mechanism, order);
    least = std::min(least, std::pair(epsilon_from_rdp(total, order, delta), order));
  }
  return least;
}

// Orders of the table.
std::vector<double> table_orders() {
  std::vector<double> orders{128, 256, 512, 1024};
  for (int tenth = 1; tenth < 100; ++tenth) orders.push_back(1 + tenth / 10.);
  for (int whole = 11; whole < 64; ++whole) orders.push_back(whole);
  return orders;
}

TEST(Rdp, GaussianCompositionsAgreeWithTheTables) {
  for_each_gaussian_run([](const VectorRow& row, const std::vector<RepeatedMechanism>& run) {
    const bool is_mixed = row.has("eps_rdp");
    const auto [of_grid, best_order] = least_epsilon(run, row.number("delta"), table_orders());
    expect_relative(of_grid, row.number(is_mixed ? "eps_rdp" : "eps_rdp_dp_accounting_default_orders"), 1e-9);
    EXPECT_LE(rdp_epsilon(run, row.number("delta")), of_grid);
    if (!is_mixed) {
      EXPECT_NEAR(best_order, row.number("rdp_best_order"), 1e-12);
    }
  });
}

// At whole orders. At others the table adds up the magnitudes of a series whose terms change sign: too large by up to a
// few percent, so that its best order may be another.
TEST(Rdp, SampledGaussiansAgreeWithTheTable) {
  for_each_row("subsampled_gaussian.csv", [](const VectorRow& row) {
    const GaussianMechanism mechanism{row.number("noise_multiplier_z"), row.number("q")};
    const std::vector<RepeatedMechanism> run = repeated(mechanism, row.number("T"));
    const double of_grid = least_epsilon(run, row.number("delta"), table_orders()).first;
    const double order = row.number("rdp_best_order");
    const double table = row.number("eps_rdp_dp_accounting");
    if (order == std::floor(order) || row.number("q") == 1) {
      expect_relative(least_epsilon(run, row.number("delta"), {order}).first, table, 1e-6);
    }
    EXPECT_LE(of_grid, table * (1 + 1e-9));
    EXPECT_GE(of_grid, table * 0.94);
  });
}

// Whole orders are a sum, real ones an integral, and both are one analytic function.
TEST(Rdp, SumAndIntegralAreOneFunction) {
  for (const double z : {0.3, 1.0, 5.0, 100.0}) {
    for (const double q : {1e-6, 0.01, 0.5, 0.999}) {
      for (const double order : {2.0, 3.0, 8.0, 40.0}) {
        SCOPED_TRACE(testing::Message() << z << " " << q << " " << order);
        const GaussianMechanism mechanism{z, q};
        const double middle = rdp(mechanism, order);
        const double around = (rdp(mechanism, order * (1 - 1e-5)) + rdp(mechanism, order * (1 + 1e-5))) / 2;
        expect_relative(around, middle, 1e-7);
        expect_relative(rdp(mechanism, std::nextafter(order, 100)), middle, 1e-9);
      }
    }
  }
}

// Order 2 by hand: E[(dP/dQ)^2] - 1 = q^2 (e^(mu^2) - 1).
TEST(Rdp, OrderTwoOfPureDpAndOfASampledGaussianKeepsAllDigitsOfATinyDivergence) {
  for (const double z : {0.5, 1.0, 30.0, 1e4}) {
    for (const double q : {1e-9, 1e-4, 0.5}) {
      const double expected = std::log1p(q * q * std::expm1(1 / (z * z)));
      const double actual = rdp(GaussianMechanism{z, q}, 2);
      expect_relative(actual, expected, 1e-10);
      EXPECT_GE(actual, expected);
      expect_relative(rdp(GaussianMechanism{z, q}, 2.0000001), expected, 1e-5);
    }
  }
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    const double p = 1 / (1 + std::exp(-epsilon));
    expect_relative(rdp(PureMechanism{epsilon}, 2), std::log(p * std::exp(epsilon) + (1 - p) * std::exp(-epsilon)),
                    1e-10);
  }
}

// Small parameters: all mechanisms are quadratic there, and rounding must not eat what is left.
TEST(Rdp, TinyParametersKeepTheirDivergence) {
  for (const double order : {1.1, 2.0, 7.5, 100.0}) {
    const double epsilon = 1e-6;
    expect_relative(rdp(PureMechanism{epsilon}, order), order * epsilon * epsilon / 2, 1e-3);
    expect_relative(rdp(ExponentialMechanism{epsilon}, order), order * epsilon * epsilon / 8, 1e-3);
  }
}

// Over all pairs of losses {t, t - E}, by search: none is worse than the one used.
TEST(Rdp, ExponentialMechanismTakesTheWorstPairOfLosses) {
  for (const double range : {0.01, 1.0, 8.0, 60.0}) {
    for (const double order : {1.05, 1.5, 2.0, 10.0, 300.0}) {
      const double claimed = rdp(ExponentialMechanism{range}, order);
      double worst = 0;
      for (double share = 0.0005; share < 1; share += 0.0005) {
        const double t = share * range;
        const double log_up = std::log(std::expm1(range - t)) - std::log(std::expm1(range)) + t;
        const double log_down = std::log(std::expm1(t)) - std::log(std::expm1(range));
        const double up = log_up + (order - 1) * t;
        const double down = log_down + (order - 1) * (t - range);
        const double larger = std::max(up, down);
        worst = std::max(worst, (larger + std::log1p(std::exp(std::min(up, down) - larger))) / (order - 1));
      }
      EXPECT_GE(claimed * (1 + 1e-9) + 1e-13, worst) << range << " " << order;
      EXPECT_LE(claimed, worst * (1 + 1e-3) + 1e-9) << range << " " << order;
      EXPECT_LE(claimed, order * range * range / 8 * (1 + 1e-9));  // bounded range is epsilon^2/8-zCDP
      EXPECT_LE(claimed, rdp(PureMechanism{range}, order));
    }
  }
}

TEST(Rdp, GrowsWithTheOrderAndFallsWithTheNoise) {
  for (const double q : {1e-6, 1e-3, 0.3, 1.0}) {
    double before = 0;
    for (double order = 1.01; order < 1e5; order *= 1.37) {
      const double here = rdp(GaussianMechanism{1.7, q}, order);
      EXPECT_GE(here * (1 + 1e-9), before) << q << " " << order;
      EXPECT_LE(rdp(GaussianMechanism{2.3, q}, order), here);
      before = here;
    }
  }
}

// With full sampling it is the Gaussian; with less, never more than that.
TEST(Rdp, SamplingNeverCosts) {
  for (const double order : {1.3, 2.0, 17.0, 1000.0, 1e5}) {
    const double whole = rdp(GaussianMechanism{0.8}, order);
    EXPECT_EQ(rdp(GaussianMechanism{0.8, 1}, order), whole);
    EXPECT_LE(rdp(GaussianMechanism{0.8, 0.9999}, order), whole * (1 + 1e-10));
  }
}

TEST(Rdp, IsFiniteOrInfiniteButNeverNan) {
  for (const double z : {0.01, 0.05, 0.3, 8.22, 1e3, 1e9}) {
    for (const double q : {1e-9, 2.8e-6, 0.1, 1.0}) {
      for (const double order : {1.001, 1.5, 77.7, 5e3, 55300.5, 1e6}) {
        EXPECT_GE(rdp(GaussianMechanism{z, q}, order), 0) << z << " " << q << " " << order;
      }
    }
  }
}

TEST(RdpConversion, IsZeroWhereTheTotalVariationIsBelowDeltaAndNoneWhereDigitsAreLost) {
  EXPECT_EQ(epsilon_from_rdp(0.009, 2, 0.1), 0);
  EXPECT_GT(epsilon_from_rdp(0.011, 2, 0.1), 0);
  EXPECT_EQ(epsilon_from_rdp(1, 1.01, 1e-5), std::numeric_limits<double>::infinity());
  EXPECT_LT(epsilon_from_rdp(1, 1.02, 1e-5), 1000);
}

TEST(RdpEpsilon, BestRealOrderBeatsAGrid) {
  for (const double z : {0.4, 3.0, 90.0}) {
    for (const double q : {1e-4, 0.02, 1.0}) {
      for (const double delta : {1e-12, 1e-5, 0.05}) {
        const auto run = repeated(GaussianMechanism{z, q}, 200);
        const double best = rdp_epsilon(run, delta);
        std::vector<double> orders;
        for (double excess = 0.02; excess < 1e4; excess *= 1.15) orders.push_back(1 + excess);
        EXPECT_LE(best, least_epsilon(run, delta, orders).first * (1 + 1e-6)) << z << " " << q << " " << delta;
      }
    }
  }
}

TEST(RdpEpsilon, AddsUpOverTheRun) {
  const std::vector<RepeatedMechanism> run{{GaussianMechanism{2}, 3}, {ExponentialMechanism{0.5}, 2}};
  std::vector<double> orders;
  for (double excess = 0.02; excess < 1e4; excess *= 1.001) orders.push_back(1 + excess);
  expect_relative(rdp_epsilon(run, 1e-5), least_epsilon(run, 1e-5, orders).first, 1e-5);
}

TEST(RdpEpsilon, RefusesBadArguments) {
  const auto run = repeated(GaussianMechanism{1}, 1);
  EXPECT_THROW(rdp(GaussianMechanism{0}, 2), UsageError);
  for (const double order : {1.0, kNan, 2e6}) EXPECT_THROW(rdp(GaussianMechanism{1}, order), UsageError) << order;
  EXPECT_THROW(rdp_epsilon({}, 1e-5), UsageError);
  EXPECT_THROW(rdp_epsilon(run, 0), UsageError);
  EXPECT_THROW(epsilon_from_rdp(kNan, 2, 1e-5), UsageError);
  EXPECT_THROW(epsilon_from_rdp(-1, 2, 1e-5), UsageError);
  EXPECT_THROW(epsilon_from_rdp(1, 1, 1e-5), UsageError);
  EXPECT_THROW(epsilon_from_rdp(1, 2, 1), UsageError);
}

}  // namespace dpreduce::rdp_test
