#include "common/accounting/loss_law.hpp"

#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/testing.hpp"

namespace dpreduce::loss_law_test {

struct Moments {
  double p = 0;  // P-mass
  double q = 0;  // Q-mass
  double delta = 0;
};

// By the midpoint rule in u, fine enough for six digits.
Moments moments(const LossLaw& law, double epsilon) {
  Moments result;
  const auto add = [&](double loss, double mass) {
    result.p += mass;
    result.q += mass * std::exp(-loss);
    if (loss > epsilon) result.delta += mass * -std::expm1(epsilon - loss);
  };
  if (law.smooth) {
    constexpr int kPoints = 200000;
    const double width = (law.smooth->high - law.smooth->low) / kPoints;
    for (int point = 0; point < kPoints; ++point) {
      const SmoothLoss::Point at = law.smooth->at(law.smooth->low + (point + 0.5) * width);
      add(at.loss, at.density * width);
    }
  }
  for (const LossAtom& atom : law.atoms) add(atom.loss, atom.mass);
  return result;
}

TEST(LossLaw, PAndQAreProbabilities) {
  for (const Mechanism& mechanism : {Mechanism(GaussianMechanism{0.7}), Mechanism(GaussianMechanism{1.2, 0.03}),
                                     Mechanism(ExponentialMechanism{2}), Mechanism(PureMechanism{0.8})}) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      SCOPED_TRACE(describe(mechanism));
      const Moments sums = moments(pessimistic_law(mechanism, direction, 1e-12), 0);
      EXPECT_NEAR(sums.p, 1, 1e-8);
      EXPECT_NEAR(sums.q, 1, 1e-8);
    }
  }
}

TEST(LossLaw, HockeySticksAreTheClosedForms) {
  for (const double epsilon : {0.0, 0.1, 0.5, 1.3}) {
    const auto delta = [&](const Mechanism& mechanism, Direction direction) {
      return moments(pessimistic_law(mechanism, direction, 1e-14), epsilon).delta;
    };
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      EXPECT_NEAR(delta(GaussianMechanism{1.1}, direction), gaussian_delta(epsilon, 1 / 1.1), 1e-7);
      EXPECT_NEAR(delta(GaussianMechanism{0.8, 0.2}, direction), sampled_gaussian_delta(0.8, 0.2, epsilon, direction),
                  1e-7);
    }
    EXPECT_NEAR(delta(PureMechanism{2}, Direction::kRemove), randomized_response_delta(2, epsilon), 1e-12);
    EXPECT_NEAR(delta(ExponentialMechanism{2}, Direction::kRemove), selection_delta(2, epsilon), 1e-5);
  }
}

// H of (1-q) N(0,1) + q N(a,1) against (1-q) N(0,1) + q N(b,1), by the trapezoidal rule.
double exchange_delta(double a, double b, double q, double epsilon) {
  const auto density = [](double u) { return std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi); };
  constexpr double kStep = 4e-3;
  double delta = 0;
  for (double u = -12; u <= 12; u += kStep) {
    const double excess =
        (1 - q) * density(u) + q * density(u - a) - std::exp(epsilon) * ((1 - q) * density(u) + q * density(u - b));
    delta += kStep * std::max(0.0, excess);
  }
  return delta;
}

TEST(LossLaw, TheLawOfAnExchangeIsThatOfItsPairAndDominatesAllOthers) {
  for (const double q : {0.05, 0.4, 0.95}) {
    for (const double epsilon : {-0.7, 0.0, 0.3, 1.1}) {
      const double mu = 1.25;
      const LossLaw law = pessimistic_law(GaussianMechanism{1 / mu, q, true}, Direction::kAdd, 1e-14);
      const double bound = exchange_delta(mu, -mu, q, epsilon);
      EXPECT_NEAR(moments(law, epsilon).delta, bound, 1e-5) << q << " " << epsilon;
      for (double a = -mu; a <= mu; a += mu / 2) {
        for (double b = -mu; b <= mu; b += mu / 2) {
          EXPECT_LE(exchange_delta(a, b, q, epsilon), bound + 1e-6) << a << " " << b << " " << q << " " << epsilon;
        }
      }
    }
  }
}

TEST(LossLaw, TheLossOfAnExchangeIsInvertedEverywhere) {
  for (const double mu : {0.001, 1.0, 40.0}) {
    for (const double q : {1e-9, 0.3, 1 - 1e-12}) {
      const LossLaw law = pessimistic_law(GaussianMechanism{1 / mu, q, true}, Direction::kRemove, 1e-14);
      double last = -std::numeric_limits<double>::infinity();
      for (double part = 0; part <= 1; part += 0.125) {
        const double u = law.smooth->low + part * (law.smooth->high - law.smooth->low);
        const double loss = law.smooth->at(u).loss;
        EXPECT_GE(loss, last);
        last = loss;
        EXPECT_NEAR(law.smooth->at(law.smooth->where(loss)).loss, loss, 1e-9 * std::max(1.0, std::abs(loss)))
            << mu << " " << q << " " << u;
      }
    }
  }
}

// [dong2020]: every pair of losses {t, t - E} lies below the one law that is used for all of them.
TEST(LossLaw, BoundedRangeLawDominatesEveryPairOfLosses) {
  const double range = 1.7;
  for (double t = 0.05; t < range; t += 0.05) {
    const double p = std::expm1(range - t) / std::expm1(range) * std::exp(t);
    const double q = p * std::exp(-t);
    for (double epsilon = -1.6; epsilon < 1.7; epsilon += 0.1) {
      double delta = std::max(0.0, p - std::exp(epsilon) * q);
      delta += std::max(0.0, (1 - p) - std::exp(epsilon) * (1 - q));
      const double bound = std::pow(std::exp(range / 2) - std::exp(epsilon / 2), 2) / std::expm1(range);
      EXPECT_LE(delta, bound * (1 + 1e-12)) << t << " " << epsilon;
    }
  }
}

TEST(LossLaw, WhereInvertsTheLoss) {
  for (const Mechanism& mechanism : {Mechanism(GaussianMechanism{0.5}), Mechanism(GaussianMechanism{0.5, 1e-6}),
                                     Mechanism(GaussianMechanism{3, 0.9}), Mechanism(ExponentialMechanism{4})}) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const LossLaw law = pessimistic_law(mechanism, direction, 1e-15);
      const SmoothLoss& smooth = *law.smooth;
      for (double share = 0.05; share < 1; share += 0.1) {
        const double u = smooth.low + share * (smooth.high - smooth.low);
        const double loss = smooth.at(u).loss;
        EXPECT_NEAR(smooth.at(smooth.where(loss)).loss, loss, 1e-12 * (1 + std::abs(loss))) << describe(mechanism);
      }
      EXPECT_EQ(smooth.where(1e6), smooth.high);
      EXPECT_EQ(smooth.where(-1e6), smooth.low);
    }
  }
}

TEST(LossLaw, OptimisticAtomsLieOnNodesAndBelowOneStepAtNoLoss) {
  const double step = 0.01;
  for (const Mechanism& mechanism : {Mechanism(ExponentialMechanism{0.5}), Mechanism(PureMechanism{0.499})}) {
    const LossLaw law = optimistic_law(mechanism, Direction::kRemove, 1e-12, step, 3);
    double p = 0;
    for (const LossAtom& atom : law.atoms) {
      EXPECT_NEAR(atom.loss / step, std::round(atom.loss / step), 1e-9);
      p += atom.mass;
    }
    EXPECT_LE(p, 1 + 1e-12);
  }
  const LossLaw law = optimistic_law(PureMechanism{0.01}, Direction::kRemove, 1e-12, 0.1, 1);
  EXPECT_FALSE(law.smooth);
  ASSERT_EQ(law.atoms.size(), 1U);
  EXPECT_EQ(law.atoms[0].loss, 0);
}

TEST(LossLaw, OnlySampledGaussiansHaveTwoDirections) {
  EXPECT_FALSE(is_symmetric(GaussianMechanism{1, 0.5}));
  for (const Mechanism& mechanism :
       {Mechanism(GaussianMechanism{1}), Mechanism(GaussianMechanism{1, 1}), Mechanism(GaussianMechanism{1, 0.5, true}),
        Mechanism(ExponentialMechanism{1}), Mechanism(PureMechanism{1})}) {
    EXPECT_TRUE(is_symmetric(mechanism)) << describe(mechanism);
  }
}

}  // namespace dpreduce::loss_law_test
