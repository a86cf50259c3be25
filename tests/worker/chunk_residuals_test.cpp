#include "worker/chunk_residuals.hpp"

#include "common/base/error.hpp"
#include "tests/common/kernels/reference_kernel.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce::chunk_residuals_test {

LatticeRows random_rows(std::size_t count, std::size_t dim, std::size_t classes) {
  std::mt19937_64 engine(count + dim);
  const std::vector<float> features = normal_numbers<float>(engine, count * dim);
  const std::vector<std::int32_t> labels = random_labels(engine, count, classes);
  LatticeRows rows({1.0, dim}, count);
  rows.assign(RowTransform(Preprocessing{.input_dim = dim, .center = {}}), features, labels, 1);
  return rows;
}

LatticeWeights random_weights(const LatticeRows& rows, std::size_t classes, double deviation) {
  std::mt19937_64 engine(classes);
  return {normal_numbers(engine, classes * rows.dim(), deviation), rows.lattice()};
}

// Few classes or many, any threads: R^T Q of the residuals that `assign` takes, by the plain kernel.
TEST(ChunkResiduals, AccumulateTheProductOfTheirResiduals) {
  for (const std::size_t classes : {2u, 10u, 33u, 64u, 65u, 130u}) {
    for (const std::size_t count : {1u, 255u, 256u, 257u, 800u}) {
      SCOPED_TRACE(fmt::format("{} classes, {} rows", classes, count));
      const std::size_t dim = 37;
      const LatticeRows rows = random_rows(count, dim, classes);
      const LatticeWeights weights = random_weights(rows, classes, 1.0);
      const GradientPoint point{weights};
      ChunkResiduals assigned(point, 1);
      assigned.assign(rows);
      std::vector<std::int64_t> expected(classes * dim, 5);
      ReferenceKernel().accumulate_product(assigned.residuals(), view_of(rows), {expected.data(), classes, dim, dim});
      for (const unsigned threads : {1U, 2U, 3U}) {
        ChunkResiduals residuals(point, threads);
        std::vector<std::int64_t> gradient(classes * dim, 5);
        residuals.accumulate(rows, gradient);
        EXPECT_EQ(gradient, expected) << threads << " threads";
        for (std::size_t row = 0; row < count; ++row) {
          EXPECT_EQ(residuals.residual_norm(row), assigned.residual_norm(row));
        }
        EXPECT_GT(residuals.seconds().scores, 0.0);
      }
    }
  }
}

TEST(ChunkResiduals, ABoundThatIsNoneIsRefused) {
  const LatticeRows rows = random_rows(3, 5, 2);
  const LatticeWeights weights(std::vector<double>(10, 0.5), rows.lattice());
  for (const double bound : {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
    const GradientPoint point{.weights = weights, .residual_norm = bound};
    EXPECT_THROW(ChunkResiduals(point, 1), AggregationAborted) << bound;
  }
}

// Weights that take every row for one of another class: residuals are as long as sqrt(2). In feature units, where a
// lattice unit is Z / S, a row's own gradient has norm Z C at most, and so much more or less is a neighbor's sum.
TEST(ChunkResiduals, NoneThatIsLongerThanItsBoundEntersAGradient) {
  for (const std::size_t classes : {2u, 3u, 10u, 70u}) {
    const LatticeRows rows = random_rows(40, 5, classes);
    const LatticeWeights weights = random_weights(rows, classes, 1000.0);
    const GradientPoint point{weights};
    EXPECT_EQ(point.residual_norm, 0.7);
    ChunkResiduals residuals(point, 1);
    residuals.assign(rows);
    double longest = 0.0;
    double longest_clipped = 0.0;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const auto residual = std::span(residuals.residuals().row(row), classes);
      const double norm = std::sqrt(sum_of_squares(residual)) / Lattice{point.residual_norm, classes}.scale();
      EXPECT_LE(norm, 0.7 * (1.0 + std::sqrt(static_cast<double>(classes)) / kLatticeNorm));
      longest = std::max(longest, residuals.residual_norm(row));
      longest_clipped = std::max(longest_clipped, norm);
    }
    EXPECT_GT(longest, 1.4);
    EXPECT_GE(longest_clipped, 0.7 * 0.999);
  }
}

}  // namespace dpreduce::chunk_residuals_test
