#include "fit/release_figures.hpp"

#include "common/ledger/triangle.hpp"
#include "tests/testing.hpp"

namespace dpreduce::release_figures_test {

constexpr std::size_t kFiguresDim = 2;

NoisePlan plan_of_gram_and_rounds() {
  NoisePlan plan{.adjacency = Adjacency::kAddRemove};
  const PlannedBlock gram{"gram", triangle_elements(kFiguresDim), 0, 0.0, 6.0, 0.0, BlockNoise::kSymmetric};
  const PlannedBlock gradient{"gradient", 2, 0, 0.0, 5.0, 0.0};  // of sigma 5, as the other is of 6
  plan.releases = {{.name = "gram", .rounds = 1, .blocks = {gram}, .profiles = {}, .mu = 0.1},
                   {.name = "gradient", .rounds = 2, .blocks = {gradient}, .profiles = {}, .mu = 0.1}};
  return plan;
}

Preprocessing rows_of_norm(double clip_norm) {
  Preprocessing rows;
  rows.input_dim = kFiguresDim;
  rows.clip_norm = clip_norm;
  return rows;
}

Release release_of(const std::string& block, std::vector<std::int64_t> values, double sigma) {
  return Release({ReleasedBlock(block, std::move(values), sigma)});
}

TEST(ReleaseFigures, NormsAreThoseOfWhatCameOutAndOfItsNoise) {
  const NoisePlan plan = plan_of_gram_and_rounds();
  ReleaseFigures figures(plan, false);
  const Preprocessing rows = rows_of_norm(1.0);
  figures.add({"gram", release_of("gram", {2, 3, 6}, 6.0), rows, {}});
  figures.add({"gradient", release_of("gradient", {3, -4}, 5.0), rows, {}});
  figures.add({"gradient", release_of("gradient", {0, 0}, 7.0), rows, {}});
  ASSERT_EQ(figures.blocks().size(), 3u);
  EXPECT_EQ(figures.blocks()[0].release, "gram");
  EXPECT_DOUBLE_EQ(figures.blocks()[0].norm, 7.0);
  EXPECT_DOUBLE_EQ(figures.blocks()[0].noise_norm, 6.0 * std::sqrt(2.5));  // 2 of variance s^2, 1 of s^2 / 2
  EXPECT_EQ(figures.blocks()[1].release, "gradient/1");
  EXPECT_DOUBLE_EQ(figures.blocks()[1].norm, 5.0);
  EXPECT_DOUBLE_EQ(figures.blocks()[1].noise_norm, 5.0 * std::sqrt(2.0));
  EXPECT_EQ(figures.blocks()[2].release, "gradient/2");
  EXPECT_DOUBLE_EQ(figures.blocks()[2].noise_norm, 7.0 * std::sqrt(2.0)) << "the noise that was made, not the planned";
  EXPECT_TRUE(figures.spectra().empty());
}

TEST(ReleaseFigures, SpectrumIsInSquaresOfTheClipNorm) {
  const NoisePlan plan = plan_of_gram_and_rounds();
  const Preprocessing rows = rows_of_norm(3.0);
  const double unit = std::pow(Lattice{3.0, kFiguresDim}.scale(), 2) * 9.0;  // lattice units of one row of norm 3
  const auto entry = [&](double value) { return static_cast<std::int64_t>(std::llround(value * unit)); };
  ReleaseFigures figures(plan, true);
  figures.add({"gram", release_of("gram", {entry(4.0), entry(1.0), entry(4.0)}, 0.25 * unit), rows, {}});
  ASSERT_EQ(figures.spectra().size(), 1u);
  const SpectrumFigures spectrum = figures.spectra().front();
  EXPECT_EQ(spectrum.release, "gram");
  EXPECT_THAT(spectrum.eigenvalues, testing::Pointwise(testing::DoubleNear(1e-8), {5.0, 3.0}));
  EXPECT_NEAR(spectrum.noise_radius, 2.0 * 0.25 * std::sqrt(kFiguresDim / 2.0), 1e-12);
}

TEST(ReleaseFigures, ARankWithoutTheReleaseHasNone) {
  const NoisePlan plan = plan_of_gram_and_rounds();
  ReleaseFigures figures(plan, true);
  figures.add({"gradient", Release({}), rows_of_norm(1.0), {}});
  EXPECT_TRUE(figures.blocks().empty());
}

}  // namespace dpreduce::release_figures_test
