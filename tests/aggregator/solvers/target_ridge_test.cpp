#include "aggregator/solvers/target_ridge.hpp"

#include <cmath>

#include "common/plan/triangle.hpp"
#include "tests/testing.hpp"

namespace dpreduce::target_ridge_test {

// Two features, a constant and one target; of a row's square .3 is the target's, a seventh of the rest the constant's.
const Preprocessing kRows{.input_dim = 2,
                          .clip_norm = 2.0,
                          .center = {},
                          .intercept = 1.0 / 7.0,
                          .targets = {.count = 1, .center = {0.0}, .scale = {1.0}, .share = 0.3}};

ReleasedBlock gram_of(double rows, double sigma) {
  const Lattice lattice{2.0, 4};
  std::vector<std::int64_t> triangle(triangle_elements(4), 0);
  const double constant_squared = 0.7 / 7.0 * 4.0;
  triangle[triangle_row(2, 4)] = std::llround(rows * constant_squared * lattice.scale() * lattice.scale());
  return {"gram", std::move(triangle), sigma * constant_squared * lattice.scale() * lattice.scale()};
}

// `sigma` is in rows: below three of it, that number of rows is not known.
TEST(TargetRidge, KnowsNoFewerRowsThanThreeOfTheirNoise) {
  EXPECT_NEAR(TargetRidge(gram_of(500.0, 10.0), kRows).rows(), 500.0, 1e-3);
  for (const double rows : {-40.0, 0.0, 29.0}) EXPECT_NEAR(TargetRidge(gram_of(rows, 10.0), kRows).rows(), 30.0, 1e-3);
  EXPECT_NEAR(TargetRidge(gram_of(31.0, 10.0), kRows).rows(), 31.0, 1e-3);
  EXPECT_NEAR(TargetRidge(gram_of(0.0, 0.0), kRows).rows(), 1.0, 1e-6) << "one row at least";
}

}  // namespace dpreduce::target_ridge_test
