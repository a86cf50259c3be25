#include "common/accounting/privacy_loss.hpp"

#include "common/accounting/rdp.hpp"
#include "common/base/error.hpp"
#include "tests/common/accounting/gaussian_run.hpp"
#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::privacy_loss_test {

// For tables of many rows: widths below stay far under the tolerances.
constexpr std::size_t kFewCells = std::size_t{1} << 16;

// lower <= exact <= upper, up to the digits of what is exact, and both near.
void expect_bracket(const PrivacyLossBounds& bounds, double exact, double relative_width, double digits = 1e-14) {
  EXPECT_LE(bounds.lower, exact * (1 + digits));
  EXPECT_GE(bounds.upper, exact * (1 - digits));
  EXPECT_LE(bounds.upper - bounds.lower, relative_width * exact);
}

// `column` has the table's grid bound, in some rows: it is above ours, less the rounding errors that its legend names.
void expect_bracketed(const VectorRow& row, const std::vector<RepeatedMechanism>& run, const char* column) {
  const PrivacyLossBounds bounds = pld_epsilon(run, row.number("delta"), kFewCells);
  expect_bracket(bounds, row.number("eps_exact_gdp_mpmath"), 5e-5);
  if (row.text(column).empty() || std::isnan(row.number(column))) return;
  EXPECT_LE(bounds.lower, row.number(column) * (1 + 1e-8));
}

TEST(PrivacyLoss, GaussianCompositionsAreBracketed) {
  for_each_row("gaussian_composition.csv", [](const VectorRow& row) {
    const GaussianMechanism mechanism{row.number("noise_multiplier_z")};
    expect_bracketed(row, repeated(mechanism, row.number("k")), "eps_pld_dp_accounting");
  });
}

TEST(PrivacyLoss, MixedGaussianCompositionsAreBracketed) {
  for_each_row("gaussian_composition_hetero.csv", [](const VectorRow& row) {
    expect_bracketed(row, gaussian_run(row.text("noise_multipliers_z(counts)")), "eps_pld");
  });
}

TEST(PrivacyLoss, SampledGaussiansAgreeWithTheTable) {
  for_each_row("subsampled_gaussian.csv", [](const VectorRow& row) {
    const GaussianMechanism mechanism{row.number("noise_multiplier_z"), row.number("q")};
    const PrivacyLossBounds bounds = pld_epsilon(repeated(mechanism, row.number("T")), row.number("delta"));
    if (!row.text("eps_exact_T1_remove").empty()) {
      expect_bracket(bounds, std::max(row.number("eps_exact_T1_remove"), row.number("eps_exact_T1_add")), 1e-4);
    }
    if (!row.text("eps_exact_q1_gdp").empty()) expect_bracket(bounds, row.number("eps_exact_q1_gdp"), 1e-5);
    const double table = row.number("eps_pld_dp_accounting");
    if (std::isnan(table)) return;
    // The table lies up to 3 of its steps above the truth, and 4e-4 relative where its step is 1e-2.
    const double step = row.number("pld_value_discretization");
    EXPECT_LE(bounds.lower, table * (1 + 1e-8));
    EXPECT_GE(bounds.upper, table - 3 * step - (step > 5e-3 ? 1e-3 * table : 1e-8 * table));
  });
}

TEST(PrivacyLoss, SampledGaussiansAgreeWithAnIndependentAccountant) {
  for_each_row("subsampled_gaussian_fft_check.csv", [](const VectorRow& row) {
    const GaussianMechanism mechanism{row.number("noise_multiplier_z"), row.number("q")};
    const PrivacyLossBounds bounds = pld_epsilon(repeated(mechanism, row.number("T")), 1e-5, kFewCells * 4);
    const double other = std::max(row.number("eps_own_fft_remove"), row.number("eps_own_fft_add"));
    EXPECT_LE(bounds.lower, other + 7e-5 + 2e-4 * other);
    EXPECT_GE(bounds.upper, other - 7e-5 - 2e-4 * other);
    EXPECT_LE(bounds.upper - bounds.lower, 1e-3 * bounds.upper);
  });
}

TEST(PrivacyLoss, OneStepIsTheClosedForm) {
  for (const double z : {0.3, 1.0, 7.0}) {
    for (const double q : {1e-3, 0.1, 0.9}) {
      for (const double epsilon : {0.01, 0.3, 2.0}) {
        SCOPED_TRACE(testing::Message() << z << " " << q << " " << epsilon);
        const double exact = std::max(sampled_gaussian_delta(z, q, epsilon, Direction::kRemove),
                                      sampled_gaussian_delta(z, q, epsilon, Direction::kAdd));
        if (exact < 1e-10) continue;  // the closed form has lost its digits
        expect_bracket(pld_epsilon(repeated(GaussianMechanism{z, q}), exact, kFewCells), epsilon, 1e-3, 1e-4);
      }
    }
  }
}

// Rare large losses: the corner where a grid is coarse against the sampling rate. Lower bounds may be far off there.
TEST(PrivacyLoss, RareLossesStayBracketed) {
  struct Row {
    double z, q, count, delta, reference;  // of an untilted transform with step 2.5e-7, good to about 1%
  };
  for (const Row& row :
       {Row{0.594, 1.65e-6, 692, 3.044925e-6, 0.00048717}, Row{0.699, 1.8e-6, 9506, 1.892757e-10, 0.01}}) {
    const PrivacyLossBounds bounds = pld_epsilon(repeated(GaussianMechanism{row.z, row.q}, row.count), row.delta);
    EXPECT_LE(bounds.lower, row.reference * 1.02);
    EXPECT_GE(bounds.upper, row.reference * 0.98);
    EXPECT_LE(bounds.upper, row.reference * 1.15);
  }
}

TEST(PrivacyLoss, SelectionsAndPureDpAreTheClosedFormsOnce) {
  for (const double range : {0.01, 1.0, 6.0}) {
    for (const double share : {0.3, 0.9}) {
      const double epsilon = share * range;
      const auto expect_at = [&](const Mechanism& mechanism, double delta) {
        const PrivacyLossBounds bounds = pld_epsilon(repeated(mechanism, 1), delta);
        EXPECT_LE(bounds.lower, epsilon * (1 + 1e-9));
        EXPECT_GE(bounds.upper, epsilon * (1 - 1e-9));
        EXPECT_LE(bounds.upper, epsilon * (1 + 1e-4));
      };
      expect_at(PureMechanism{range}, randomized_response_delta(range, epsilon));
      expect_at(ExponentialMechanism{range}, selection_delta(range, epsilon));
    }
  }
}

// Never above pure composition; and an exponential mechanism costs less than pure DP of the same epsilon.
TEST(PrivacyLoss, PureMechanismsStayBelowBasicComposition) {
  for (const double epsilon : {0.02, 0.5}) {
    for (const double count : {1.0, 3.0, 50.0}) {
      const double pure = pld_epsilon_upper(repeated(PureMechanism{epsilon}, count), 1e-9);
      EXPECT_LE(pure, count * epsilon * (1 + 1e-9));
      EXPECT_LE(pld_epsilon_upper(repeated(ExponentialMechanism{epsilon}, count), 1e-9), pure * (1 + 1e-9));
    }
  }
}

TEST(PrivacyLoss, OneUseOfAnExponentialMechanismIsExact) {
  for_each_row("exponential_mechanism.csv", [](const VectorRow& row) {
    const double epsilon = row.number("eps_pure");
    const double upper = pld_epsilon_upper(repeated(ExponentialMechanism{epsilon}, 1), row.number("delta"));
    const double exact = row.number("eps_at_delta_exact_bounded_range_single");
    EXPECT_GE(upper, exact * (1 - 1e-12));
    EXPECT_LE(upper, exact * (1 + 1e-5) + 1e-9);
  });
}

TEST(PrivacyLoss, GrowsWithStepsAndFallsWithDelta) {
  for (const Mechanism& mechanism : {Mechanism(GaussianMechanism{0.7, 1e-4}), Mechanism(GaussianMechanism{4, 0.3}),
                                     Mechanism(ExponentialMechanism{0.1}), Mechanism(PureMechanism{0.01})}) {
    SCOPED_TRACE(describe(mechanism));
    double before = 0;
    for (const double count : {1.0, 2.0, 10.0, 100.0, 2000.0}) {
      const double here = pld_epsilon_upper(repeated(mechanism, count), 1e-7, kFewCells);
      EXPECT_GE(here, before);
      before = here;
    }
    before = std::numeric_limits<double>::infinity();
    for (const double delta : {1e-15, 1e-12, 1e-6, 1e-3, 0.1}) {
      const double here = pld_epsilon_upper(repeated(mechanism, 100), delta, kFewCells);
      EXPECT_LE(here, before);
      before = here;
    }
  }
}

TEST(PrivacyLoss, OrderAndSplittingOfARunDoNotMatter) {
  const std::vector<RepeatedMechanism> run{{GaussianMechanism{5}, 4}, {ExponentialMechanism{0.25}, 3}};
  const std::vector<RepeatedMechanism> split{
      {ExponentialMechanism{0.25}, 1}, {GaussianMechanism{5}, 4}, {ExponentialMechanism{0.25}, 2}};
  expect_relative(pld_epsilon_upper(split, 1e-6, kFewCells), pld_epsilon_upper(run, 1e-6, kFewCells), 1e-9);
}

TEST(PrivacyLoss, NeverAboveRenyi) {
  const std::vector<RepeatedMechanism> run{
      {GaussianMechanism{1.1, 0.02}, 100}, {ExponentialMechanism{0.5}, 2}, {PureMechanism{0.1}, 5}};
  for (const double delta : {1e-12, 1e-5, 0.01}) {
    const PrivacyLossBounds bounds = pld_epsilon(run, delta, kFewCells);
    EXPECT_LE(bounds.lower, bounds.upper);
    EXPECT_LE(bounds.upper, rdp_epsilon(run, delta));
    EXPECT_GT(bounds.lower, 0);
  }
}

TEST(PrivacyLoss, RefusesBadArguments) {
  const auto run = repeated(GaussianMechanism{1}, 1);
  EXPECT_THROW(pld_epsilon({}, 1e-5), UsageError);
  EXPECT_THROW(pld_epsilon(repeated(GaussianMechanism{0}, 1), 1e-5), UsageError);
  for (const double delta : {0.0, 1e-250, 1.0, kNan}) EXPECT_THROW(pld_epsilon(run, delta), UsageError) << delta;
  EXPECT_THROW(pld_epsilon(run, 1e-5, 1), UsageError);
  EXPECT_THROW(pld_epsilon_upper(run, 1e-5, std::size_t{1} << 40), UsageError);
}

}  // namespace dpreduce::privacy_loss_test
