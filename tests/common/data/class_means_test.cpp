#include "common/data/synthetic.hpp"
#include "tests/testing.hpp"

namespace dpreduce::class_means_test {

double inner(const std::vector<double>& rows, std::size_t dim, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t k = 0; k < dim; ++k) sum += rows[a * dim + k] * rows[b * dim + k];
  return sum;
}

TEST(SimplexFrame, ClassesAreUnitVectorsAtEqualAngles) {
  const std::vector<std::pair<std::size_t, std::size_t>> shapes = {{2, 1},  {2, 2},    {3, 2},
                                                                   {10, 9}, {10, 128}, {40, 77}};
  for (const auto& [classes, dim] : shapes) {
    const std::vector<double> means = simplex_frame(classes, dim, 7);
    for (std::size_t a = 0; a < classes; ++a) {
      for (std::size_t b = 0; b < classes; ++b) {
        const double wanted = a == b ? 1.0 : -1.0 / static_cast<double>(classes - 1);
        ASSERT_NEAR(inner(means, dim, a, b), wanted, 1e-13) << classes << " " << dim << " " << a << " " << b;
      }
    }
    for (std::size_t k = 0; k < dim; ++k) {
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += means[c * dim + k];
      ASSERT_NEAR(sum, 0.0, 1e-13);
    }
  }
}

TEST(SimplexFrame, TurnsWithTheSeedAndNeedsEnoughFeaturesAndClasses) {
  EXPECT_NE(simplex_frame(3, 4, 1), simplex_frame(3, 4, 2));
  EXPECT_THROW(simplex_frame(4, 2, 1), std::logic_error);
  EXPECT_THROW(simplex_frame(1, 2, 1), std::logic_error);
}

TEST(SpherePoints, LieOnTheSphere) {
  const std::vector<double> points = sphere_points(5, 33, 3.0, 1);
  for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(inner(points, 33, c, c), 9.0, 1e-12);
}

TEST(WorstPerturbations, TwoClassesArePushedTowardEachOther) {
  const std::vector<double> means = {1, 0.5, -1, -0.5};  // M_0 = (1, .5), M_1 = -M_0
  EXPECT_EQ(worst_perturbations(means, 2, 2, 0.25), (std::vector<double>{-0.25, -0.25, 0.25, 0.25}));
}

TEST(WorstPerturbations, TheClassThatIsEasiestToReachIsTheTarget) {
  // From M_0 = 0: class 1 at distance 2 along one axis, class 2 at distance 1.5 along the other.
  const std::vector<double> means = {0, 0, 2, 0, 0, 1.5};
  const std::vector<double> moved = worst_perturbations(means, 3, 2, 0.1);
  EXPECT_EQ(moved[1], 0.1);
}

TEST(WorstPerturbations, NoOtherPerturbationOfThatSupNormLeavesASmallerMargin) {
  constexpr std::size_t kClasses = 3;
  constexpr std::size_t kDim = 6;
  constexpr double kBeta = 0.2;
  const std::vector<double> means = sphere_points(kClasses, kDim, 1.0, 11);
  const std::vector<double> moved = worst_perturbations(means, kClasses, kDim, kBeta);
  // min over j of (||M_j - x||^2 - ||M_k - x||^2) / 2 at x = M_k + w
  const auto margin = [&](std::size_t k, const auto& w) {
    double smallest = INFINITY;
    for (std::size_t j = 0; j < kClasses; ++j) {
      if (j == k) continue;
      double difference = 0;
      for (std::size_t a = 0; a < kDim; ++a) {
        const double x = means[k * kDim + a] + w(a);
        difference += std::pow(means[j * kDim + a] - x, 2) - std::pow(means[k * kDim + a] - x, 2);
      }
      smallest = std::min(smallest, difference / 2);
    }
    return smallest;
  };
  for (std::size_t k = 0; k < kClasses; ++k) {
    const double found = margin(k, [&](std::size_t a) { return moved[k * kDim + a]; });
    for (unsigned corner = 0; corner < 1u << kDim; ++corner) {  // the minimum is at a corner of the cube
      EXPECT_GE(margin(k, [&](std::size_t a) { return corner >> a & 1 ? kBeta : -kBeta; }), found - 1e-12);
    }
  }
}

}  // namespace dpreduce::class_means_test
