#include "common/lattice/lattice_rows.hpp"

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::lattice_rows_test {

constexpr std::int64_t kSquaredNorm = kLatticeNorm * kLatticeNorm;

std::int64_t exact_squared_norm(std::span<const std::int16_t> q) {
  std::int64_t sum = 0;
  for (const std::int16_t entry : q) sum += std::int64_t{entry} * entry;
  return sum;
}

std::vector<float> random_rows(std::size_t rows, std::size_t dim, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(rows * dim);
  for (float& value : values) value = normal(engine);
  return values;
}

Preprocessing unit_rows(std::size_t dim) {
  return {.input_dim = dim, .pool = 1, .normalize = Normalize::kL2, .clip_norm = 1.0, .center = {}};
}

TEST(Lattice, ScaleLeavesRoomForRounding) {
  EXPECT_EQ((Lattice{1.0, 4}).scale(), 32766.0);
  EXPECT_EQ((Lattice{2.0, 1664}).scale(), (32767.0 - 21.0) / 2.0);
}

TEST(Lattice, EveryClippedRowKeepsTheNormBoundAndIsNotShrunk) {
  for (const std::size_t dim : {1, 2, 4, 16, 100, 1664, 4096}) {
    const Lattice lattice{0.7, dim};
    Preprocessing p = unit_rows(dim);
    p.clip_norm = 0.7;
    const RowTransform transform(p);
    for (unsigned seed = 0; seed < 50; ++seed) {
      std::vector<double> u(dim);
      ASSERT_TRUE(transform(random_rows(1, dim, seed), u));
      std::vector<std::int16_t> q(dim);
      ASSERT_TRUE(quantize_row(u, lattice, q));
      ASSERT_LE(exact_squared_norm(q), kSquaredNorm);
      for (std::size_t a = 0; a < dim; ++a) ASSERT_NEAR(q[a], u[a] * lattice.scale(), 0.5 + 1e-9);
    }
  }
}

TEST(Lattice, WorstRoundingOfTheLongestRowStillFits) {
  // All entries equal, so that all round the same way: the largest norm that rounding can make.
  for (std::size_t dim = 1; dim < 3000; dim += 7) {
    const Lattice lattice{1.0, dim};
    const std::vector<double> u(dim, 1.0 / std::sqrt(static_cast<double>(dim)));
    std::vector<std::int16_t> q(dim);
    ASSERT_TRUE(quantize_row(u, lattice, q));
    ASSERT_LE(exact_squared_norm(q), kSquaredNorm) << dim;
  }
}

TEST(Lattice, RowsThatPassTheBoundAreShrunkOrZeroedNeverKept) {
  const Lattice lattice{1.0, 3};
  std::vector<std::int16_t> q(3);
  EXPECT_TRUE(quantize_row(std::vector<double>{1.0005, 0.0, 0.0}, lattice, q));
  EXPECT_LE(exact_squared_norm(q), kSquaredNorm);
  EXPECT_FALSE(quantize_row(std::vector<double>{2.0, 0.0, 1.0}, lattice, q)) << "a caller that does not clip";
  EXPECT_EQ(q, std::vector<std::int16_t>(3, 0));
  EXPECT_FALSE(quantize_row(std::vector<double>{1e300, -1e300, 1e300}, lattice, q));
  EXPECT_EQ(q, std::vector<std::int16_t>(3, 0));
}

TEST(Lattice, RoundsToTheNearestInteger) {
  std::vector<std::int16_t> q(4);
  ASSERT_TRUE(quantize_row(std::vector<double>{1.4999, -1.5001, 2.5, -3.5}, Lattice{32766.0, 4}, q));  // scale 1
  EXPECT_THAT(q, ElementsAre(1, -2, 2, -4));
}

TEST(LatticeRows, ARowsIntegersDoNotDependOnItsPlaceOrOnThreads) {
  const std::size_t dim = 37;
  const std::vector<float> features = random_rows(23, dim, 1);
  const std::vector<std::int32_t> labels(23, 0);
  const RowTransform transform(unit_rows(dim));
  LatticeRows all({1.0, dim}, 23);
  for (const unsigned threads : {1U, 2U, 5U, 64U}) {
    all.assign(transform, features, labels, threads);
    for (std::size_t row = 0; row < 23; ++row) {
      LatticeRows alone({1.0, dim}, 1);
      alone.assign(transform, std::span(features).subspan(row * dim, dim), std::vector<std::int32_t>{0}, 1);
      ASSERT_TRUE(std::ranges::equal(all.row(row), alone.row(0)));
    }
  }
}

TEST(LatticeRows, RowsThatLieApartAreTheSameRows) {
  constexpr std::size_t kRows = 300;
  constexpr std::size_t kDim = 20;
  std::vector<float> features = random_rows(kRows, kDim, 3);
  features[7 * kDim + 1] = std::numeric_limits<float>::infinity();
  Preprocessing projected = unit_rows(kDim);
  const std::vector<float> directions = random_rows(4, kDim, 4);
  projected.projection.assign(directions.begin(), directions.end());
  for (const Preprocessing& preprocessing : {unit_rows(kDim), projected}) {
    const RowTransform transform(preprocessing);
    const std::vector<std::int32_t> labels(kRows, 1);
    LatticeRows together({1.0, transform.output_dim()}, kRows);
    together.assign(transform, StoredFloats(features), labels, 1);
    std::vector<StoredFloats> rows;
    for (std::size_t row = kRows; row-- > 0;)
      rows.push_back(std::span<const float>(features).subspan(row * kDim, kDim));
    LatticeRows apart({1.0, transform.output_dim()}, kRows);
    for (const unsigned threads : {1u, 3u}) {
      apart.assign(transform, rows, labels, threads);
      EXPECT_EQ(apart.first_bad_row(), kRows - 8);
      for (std::size_t row = 0; row < kRows; ++row) {
        EXPECT_TRUE(std::ranges::equal(apart.row(row), together.row(kRows - 1 - row))) << row;
        EXPECT_EQ(apart.counts(row), together.counts(kRows - 1 - row));
      }
    }
  }
}

TEST(LatticeRows, RowsOnTheLatticeAreProjectedAsThoseTheyCameFrom) {
  constexpr std::size_t kRows = 130;
  constexpr std::size_t kDim = 20;
  std::vector<float> features = random_rows(kRows, kDim, 5);
  features[7 * kDim + 1] = std::numeric_limits<float>::infinity();
  std::vector<std::int32_t> labels(kRows, 1);
  labels[11] = -3;  // more classes than slots
  std::vector<RowWeight> weights(kRows);
  std::vector<std::uint32_t> persons(kRows);
  UnitParts parts;
  for (std::size_t row = 0; row < kRows; ++row) {
    weights[row] = static_cast<RowWeight>(row + 1);
    persons[row] = static_cast<std::uint32_t>(row / 2);
    if (row % 2 == 0) parts.push_back({1, static_cast<std::uint32_t>(row + 2)});
  }
  for (const Normalize normalize : {Normalize::kL2, Normalize::kNone}) {
    Preprocessing before = unit_rows(kDim);
    before.normalize = normalize;
    before.center.assign(kDim, 0.01);
    LatticeRows kept({1.0, kDim}, kRows);
    kept.assign(RowTransform(before), features, labels, 1);
    kept.set_weights(weights);
    kept.set_units(persons, std::make_shared<const UnitParts>(parts));
    for (const bool selects : {false, true}) {
      Preprocessing after = before;
      const std::vector<float> directions = random_rows(9, kDim, 6);
      after.projection.assign(directions.begin(), directions.end());
      if (selects) after.selected = {0, 3, 8};
      after.intercept = 0.05;
      ASSERT_TRUE(is_projection_of(after, before));
      const RowTransform transform(after);
      LatticeRows read({1.0, transform.output_dim()}, kRows);
      read.assign(transform, features, labels, 1);
      for (const unsigned threads : {1u, 3u}) {
        LatticeRows projected({1.0, transform.output_dim()}, kRows);
        projected.assign_projected(transform, kept, threads);
        ASSERT_EQ(projected.rows(), kRows);
        EXPECT_TRUE(std::ranges::equal(projected.weights(), weights));
        for (std::size_t row = 0; row < kRows; ++row) {
          EXPECT_TRUE(std::ranges::equal(projected.row(row), read.row(row))) << row;
          EXPECT_EQ(projected.squared_norm(row), read.squared_norm(row));
          EXPECT_EQ(projected.counts(row), read.counts(row));
          EXPECT_EQ(projected.labels()[row], read.labels()[row]);
          EXPECT_EQ(projected.unit(row), persons[row]);
          EXPECT_EQ(projected.part_of_unit(row), parts[persons[row]]);
        }
      }
    }
  }
}

TEST(LatticeRows, BadRowsCountNowhereAndTheFirstIsNamed) {
  const std::size_t dim = 4;
  const RowTransform transform(unit_rows(dim));
  std::vector<float> features = random_rows(6, dim, 2);
  features[3 * dim + 1] = std::numeric_limits<float>::quiet_NaN();
  features[5 * dim] = std::numeric_limits<float>::infinity();
  LatticeRows rows({1.0, dim}, 6);
  rows.assign(transform, features, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}, 2);
  EXPECT_EQ(rows.first_bad_row(), 3U);
  EXPECT_THAT(rows.labels(), ElementsAre(0, 1, 2, kNoLabel, 4, kNoLabel));
  EXPECT_EQ(exact_squared_norm(rows.row(3)), 0);
  rows.assign(transform, random_rows(2, dim, 3), std::vector<std::int32_t>{0, 1}, 2);
  EXPECT_EQ(rows.first_bad_row(), 2U) << "none";
}

TEST(LatticeRows, ARowOfMoreClassesThanSlotsCountsNowhereOneOfNoClassCounts) {
  const std::size_t dim = 4;
  LatticeRows rows({1.0, dim}, 3, 2);
  rows.assign(RowTransform(unit_rows(dim)), random_rows(3, dim, 2), std::vector<std::int32_t>{1, 4, -1, -1, -3, -1}, 2);
  ASSERT_EQ(rows.rows(), 3U);
  EXPECT_THAT(rows.classes_of(0), ElementsAre(1, 4));
  EXPECT_TRUE(rows.classes_of(1).empty());
  EXPECT_TRUE(rows.classes_of(2).empty());
  EXPECT_TRUE(rows.counts(1));
  EXPECT_FALSE(rows.counts(2));
  EXPECT_EQ(rows.first_bad_row(), 2U);
  EXPECT_GT(exact_squared_norm(rows.row(1)), 0);
  EXPECT_EQ(exact_squared_norm(rows.row(2)), 0);
}

TEST(CosineClip, IsRoundedToTheLatticeAndActiveUnlessItLetsEverythingThrough) {
  const CosineClip clip = cosine_clip(0.5, 1.25);
  EXPECT_EQ(clip.lower, (kSquaredNorm + 1) / 2);
  EXPECT_NEAR(static_cast<double>(clip.upper), 1.25 * static_cast<double>(kSquaredNorm), 0.5);
  EXPECT_EQ(clip.range(), static_cast<std::uint64_t>(clip.upper - clip.lower));
  EXPECT_FALSE(CosineClip{}.is_active());
  EXPECT_FALSE(cosine_clip(0, 2).is_active());
  EXPECT_EQ(cosine_clip(0, 2).range(), static_cast<std::uint64_t>(2 * kSquaredNorm));
  EXPECT_TRUE(cosine_clip(0.1, 2).is_active());
  EXPECT_TRUE(cosine_clip(0, 1.9).is_active());
}

TEST(CosineClip, RefusesBoundsThatBoundNothing) {
  // The third pair is apart, but not on the lattice.
  for (const auto& [lower, upper] :
       {std::pair{-0.1, 1.0}, {0.0, 2.1}, {1.0, 1 + 1e-12}, {1.0, 1.0}, {1.5, 1.0}, {kNan, 1.0}, {0.0, kNan}}) {
    EXPECT_THROW(cosine_clip(lower, upper), UsageError) << lower << " " << upper;
  }
}

}  // namespace dpreduce::lattice_rows_test
