#include "common/accounting/loss_grid.hpp"

#include "tests/common/accounting/hockey_stick.hpp"
#include "tests/testing.hpp"

namespace dpreduce::loss_grid_test {

struct Case {
  Mechanism mechanism;
  double step;
};

double exact_delta(const Mechanism& mechanism, Direction direction, double epsilon) {
  if (const auto* m = std::get_if<GaussianMechanism>(&mechanism)) {
    return m->sampling_rate ? sampled_gaussian_delta(m->noise_multiplier, m->q(), epsilon, direction)
                            : gaussian_delta(epsilon, 1 / m->noise_multiplier);
  }
  if (const auto* m = std::get_if<ExponentialMechanism>(&mechanism)) return selection_delta(m->epsilon, epsilon);
  return randomized_response_delta(std::get<PureMechanism>(mechanism).epsilon, epsilon);
}

const std::vector<Case> kCases{{GaussianMechanism{0.4}, 0.01},       {GaussianMechanism{0.4}, 0.3},
                               {GaussianMechanism{50}, 1e-4},        {GaussianMechanism{1, 0.01}, 1e-3},
                               {GaussianMechanism{1, 0.01}, 0.05},   {GaussianMechanism{0.594, 1.65e-6}, 3.0383e-6},
                               {GaussianMechanism{0.3, 1e-6}, 1e-4}, {GaussianMechanism{0.6, 1e-4}, 3e-5},
                               {GaussianMechanism{100, 1e-6}, 1e-9}, {GaussianMechanism{2, 0.7}, 0.02},
                               {ExponentialMechanism{1}, 1. / 64},   {PureMechanism{1}, 1. / 64}};

TEST(LossGrid, TrueHockeyStickLiesBetweenBothGrids) {
  for (const Case& each : kCases) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const LossLaw law = pessimistic_law(each.mechanism, direction, 1e-18);
      const LossCells cells = loss_cells(law, each.step);
      const LossGrid above = pessimistic_grid(law, cells);
      const LossLaw below_law = optimistic_law(each.mechanism, direction, 1e-18, each.step, 2);
      const LossGrid below = optimistic_grid(below_law, loss_cells(below_law, each.step));
      EXPECT_NEAR(std::accumulate(above.mass.begin(), above.mass.end(), 0.0), 1, 1e-11) << describe(each.mechanism);
      const double mass_below = std::accumulate(below.mass.begin(), below.mass.end(), 0.0);
      EXPECT_LE(mass_below, 1 + 1e-12) << describe(each.mechanism);
      EXPECT_GT(mass_below, 0.5) << describe(each.mechanism);
      EXPECT_GE(*std::min_element(below.mass.begin(), below.mass.end()), 0);
      const auto expect_between = [&](double epsilon) {
        SCOPED_TRACE(testing::Message() << describe(each.mechanism) << " step " << each.step << " epsilon " << epsilon);
        const double exact = exact_delta(each.mechanism, direction, epsilon);
        EXPECT_GE(grid_delta(above, epsilon - above.loss_error), exact * (1 - 1e-10) - 2e-14);
        EXPECT_LE(grid_delta(below, epsilon + below.loss_error), exact * (1 + 1e-10) + 2e-14);
      };
      // On, next to and between nodes, then far out.
      for (double cell = 0; cell < 12; cell += 0.3) expect_between(cell * each.step);
      for (double epsilon = 1e-7; epsilon < 20; epsilon *= 1.9) expect_between(epsilon);
    }
  }
}

// Halving the step divides the width between both grids by about 4.
TEST(LossGrid, WidthIsOfSecondOrder) {
  const auto width = [](double step) {
    const LossLaw law = pessimistic_law(GaussianMechanism{1}, Direction::kRemove, 1e-18);
    const LossCells cells = loss_cells(law, step);
    return grid_delta(pessimistic_grid(law, cells), 0.5) - grid_delta(optimistic_grid(law, cells), 0.5);
  };
  EXPECT_NEAR(width(0.01) / width(0.005), 4, 1);
  EXPECT_LT(width(0.005), 1e-5);
}

// One outcome with a step of 100: all of a law in one or two cells.
TEST(LossGrid, AStepWiderThanTheLawStillBrackets) {
  const LossLaw law = pessimistic_law(GaussianMechanism{3, 0.2}, Direction::kRemove, 1e-15);
  EXPECT_ANY_THROW(loss_cells(law, 0));
  const LossCells cells = loss_cells(law, 100);
  EXPECT_GE(grid_delta(pessimistic_grid(law, cells), 0.1),
            sampled_gaussian_delta(3, 0.2, 0.1, Direction::kRemove) * (1 - 1e-10));
  EXPECT_LE(grid_delta(optimistic_grid(law, cells), 0.1), sampled_gaussian_delta(3, 0.2, 0.1, Direction::kRemove));
}

// Where one or two cells hold all of a law, the grid below it is one loss: nearly all mass, and a loss that is ln(P/Q)
// of all, so that Q has no more than 1.
TEST(LossGrid, MergedToOneLossItKeepsItsMass) {
  for (const Mechanism& mechanism : {Mechanism(GaussianMechanism{3, 0.2}), Mechanism(GaussianMechanism{1})}) {
    for (const double step : {5.0, 30.0, 100.0}) {
      const LossLaw law = pessimistic_law(mechanism, Direction::kRemove, 1e-15);
      const LossGrid merged = optimistic_grid(law, loss_cells(law, step));
      SCOPED_TRACE(testing::Message() << describe(mechanism) << " step " << step);
      double p = 0;
      double q = 0;
      std::size_t losses = 0;
      for (std::size_t node = 0; node < merged.mass.size(); ++node) {
        p += merged.mass[node];
        q += merged.mass[node] * std::exp(-loss_at(merged, node));
        losses += merged.mass[node] > 0 ? 1 : 0;
      }
      if (losses != 1) continue;
      EXPECT_LE(p, 1 + 1e-15);
      EXPECT_NEAR(p, 1, 1e-11);
      EXPECT_GE(q, 1 - 1e-11);  // rounded down, the loss gives Q more
      EXPECT_LT(q, std::exp(step) * (1 + 1e-9));
    }
  }
}

}  // namespace dpreduce::loss_grid_test
