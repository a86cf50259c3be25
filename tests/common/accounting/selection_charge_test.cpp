#include <boost/math/distributions/normal.hpp>

#include "common/accounting/mechanism.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::selection_charge_test {

TEST(SelectionCharge, AgreesWithTheTable) {
  for_each_row("exponential_mechanism.csv", [](const VectorRow& row) {
    const double epsilon = row.number("eps_pure");
    const SelectionCharge charge = selection_charge(epsilon, row.number("delta"));
    expect_relative(charge.rho, row.number("rho_bounded_range_eps2_over_8"), 1e-11);
    expect_relative(charge.epsilon, row.number("eps_at_delta_exact_bounded_range_single"), 1e-11);
  });
}

TEST(SelectionCharge, EpsilonIsWhereDeltaIsTheStatedOne) {
  for (const double epsilon : {1e-3, 0.5, 8.0, 150.0}) {
    for (const double delta : {1e-15, 1e-6, 0.1}) {
      const SelectionCharge charge = selection_charge(epsilon, delta);
      if (charge.epsilon == 0) {
        EXPECT_LE(selection_delta(epsilon, 0), delta * (1 + 1e-12));
      } else {
        expect_relative(selection_delta(epsilon, charge.epsilon), delta, 1e-6);
        EXPECT_LE(charge.epsilon, epsilon);
      }
    }
  }
}

// The trade-off functions of the mechanisms in question, by the definitions: of one bit that is 1 with probability p or
// q, logit q - logit p = epsilon, the corner (p, 1 - q); of Gaussians that are mu apart, Phi(Phi^-1(1 - a) - mu).
TEST(SelectionMu, NoBitOfThatRangeIsEasierToTellThanGaussians) {
  const boost::math::normal normal;
  for (const double epsilon : {1e-3, 0.3, 2.0, 20.0}) {
    const double mu = selection_mu(epsilon);
    double closest = 1.0;
    for (double logit = -30.0; logit <= 10.0; logit += 0.01) {
      const double p = 1 / (1 + std::exp(-logit));
      const double missed = 1 / (1 + std::exp(logit + epsilon));  // 1 - q
      const double gaussian = cdf(normal, quantile(complement(normal, p)) - mu);
      EXPECT_LE(gaussian, missed * (1 + 1e-9)) << epsilon << ", logit " << logit;
      closest = std::min(closest, 1 - gaussian / missed);
    }
    EXPECT_LT(closest, 1e-4) << epsilon;
  }
}

TEST(SelectionMu, EpsilonIsItsInverseOnTheSafeSide) {
  for (const double epsilon : {1e-6, 1e-3, 0.5, 8.0, 150.0}) {
    const double mu = selection_mu(epsilon);
    expect_relative(selection_epsilon(mu), epsilon, 1e-13);
    EXPECT_LE(selection_mu(selection_epsilon(mu)), mu);
  }
  // Small ranges: sqrt(pi / 8) epsilon.
  expect_relative(selection_mu(1e-6), 1e-6 * std::sqrt(std::acos(-1.0) / 8), 1e-10);
}

TEST(SelectionCharge, RefusesBadArguments) {
  for (const double epsilon : {0.0, kNan, 201.0}) {
    EXPECT_THROW(selection_mu(epsilon), UsageError) << epsilon;
    EXPECT_THROW(selection_charge(epsilon, 1e-5), UsageError) << epsilon;
  }
  for (const double mu : {0.0, kNan, 1e3}) EXPECT_THROW(selection_epsilon(mu), UsageError) << mu;
  for (const double delta : {0.0, 1.0}) EXPECT_THROW(selection_charge(1, delta), UsageError) << delta;
}

}  // namespace dpreduce::selection_charge_test
