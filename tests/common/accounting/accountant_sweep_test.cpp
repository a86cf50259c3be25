// A long random sweep over the whole range that the accountants promise: epsilon from 0.001 to 100, delta from 1e-15 to
// 0.1, up to 100,000 steps; sampling rates from 1e-6 to 1, noise multipliers from 0.3 to 100. Seeded.

#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/accounting/rdp.hpp"
#include "tests/testing.hpp"

namespace dpreduce::accountant_sweep_test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  // Its logarithm is uniform.
  double between(double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random_));
  }
  std::uint64_t count(double high) { return static_cast<std::uint64_t>(between(1, high)); }
  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

TEST(AccountantSweep, GaussiansAreBracketedOverTheWholeRange) {
  Draw draw(1);
  for (int row = 0; row < 120; ++row) {
    const double epsilon = draw.between(1e-3, 100);
    const double delta = draw.between(1e-15, 0.1);
    const std::uint64_t steps = draw.count(1e5 + 1);
    SCOPED_TRACE(testing::Message() << epsilon << " " << delta << " " << steps);
    const double z = calibrated_noise_multiplier({epsilon, delta, steps}, Accountant::kGdp);
    const std::vector<RepeatedMechanism> run{{GaussianMechanism{z}, steps}};
    const double exact = gdp_epsilon(*gdp_of_run(run), delta);
    EXPECT_NEAR(exact, epsilon, 1e-11 * epsilon);
    const PrivacyLossBounds bounds = pld_epsilon(run, delta);
    EXPECT_LE(bounds.lower, exact * (1 + 1e-13));
    EXPECT_GE(bounds.upper, exact * (1 - 1e-13));
    EXPECT_LE(bounds.upper - bounds.lower, 2e-3 * exact);
    EXPECT_LE(bounds.upper, rdp_epsilon(run, delta));
  }
}

// More steps and a smaller delta cost more; noise and lower rates cost less.
TEST(AccountantSweep, SampledGaussiansAreFiniteOrderedAndMonotone) {
  Draw draw(2);
  for (int row = 0; row < 100; ++row) {
    const GaussianMechanism mechanism{draw.between(0.3, 100), row % 10 == 0 ? 1 : draw.between(1e-6, 1)};
    const double delta = draw.between(1e-15, 0.1);
    const std::uint64_t steps = draw.count(1e5 + 1);
    SCOPED_TRACE(testing::Message() << describe(mechanism) << " " << delta << " " << steps);
    const std::vector<RepeatedMechanism> run{{mechanism, steps}};
    const PrivacyLossBounds bounds = pld_epsilon(run, delta);
    ASSERT_TRUE(std::isfinite(bounds.upper));
    EXPECT_LE(bounds.lower, bounds.upper);
    EXPECT_LE(bounds.upper, rdp_epsilon(run, delta));
    // Every true value in between is monotone: the lower bound of less can not pass the upper bound of more.
    const std::vector<RepeatedMechanism> longer{{mechanism, 2 * steps}};
    EXPECT_LE(bounds.lower, pld_epsilon_upper(longer, delta));
    EXPECT_LE(bounds.upper, pld_epsilon_upper(longer, delta) * (1 + 1e-9));
    EXPECT_LE(bounds.upper, pld_epsilon_upper(run, delta / 4) * (1 + 1e-9));
    const GaussianMechanism quieter{mechanism.noise_multiplier * 1.5, mechanism.sampling_rate};
    const std::vector<RepeatedMechanism> less{{quieter, steps}};
    EXPECT_LE(pld_epsilon(less, delta).lower, bounds.upper);
  }
}

Mechanism any_mechanism(Draw& draw) {
  switch (draw.below(5)) {
    case 0:
      return GaussianMechanism{draw.between(0.3, 100)};
    case 1:
      return GaussianMechanism{draw.between(0.3, 100), draw.between(1e-5, 1)};
    case 2:
      return ExponentialMechanism{draw.between(1e-3, 10)};
    default:
      return PureMechanism{draw.between(1e-3, 10)};
  }
}

TEST(AccountantSweep, MixedRunsAgreeAcrossAccountants) {
  Draw draw(3);
  for (int row = 0; row < 80; ++row) {
    std::vector<RepeatedMechanism> run;
    for (std::uint64_t part = 0; part <= draw.below(3); ++part) run.push_back({any_mechanism(draw), draw.count(1000)});
    const double delta = draw.between(1e-15, 0.1);
    testing::Message text;
    for (const RepeatedMechanism& part : run) text << part.count << " x " << describe(part.mechanism) << "; ";
    SCOPED_TRACE(text << delta);
    const ComposedEpsilon epsilon = compose_epsilon(run, delta);
    EXPECT_LE(epsilon.pld_lower, epsilon.best());
    EXPECT_LE(epsilon.pld, epsilon.rdp);
    EXPECT_TRUE(std::isfinite(epsilon.pld));
  }
}

}  // namespace dpreduce::accountant_sweep_test
