#include "common/lattice/row_transform.hpp"

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::row_transform_test {

Preprocessing preprocessing(std::size_t input_dim, Normalize normalize, double clip_norm) {
  return {.input_dim = input_dim, .pool = 1, .normalize = normalize, .clip_norm = clip_norm, .center = {}};
}

std::vector<double> transformed(const Preprocessing& p, std::vector<float> row) {
  const RowTransform transform(p);
  std::vector<double> out(transform.output_dim());
  EXPECT_TRUE(transform(row, out));
  return out;
}

double norm(const std::vector<double>& v) {
  return std::sqrt(squared_norm(v));
}

TEST(RowTransform, L2ScalesEveryRowButZeroToTheClipNorm) {
  EXPECT_THAT(transformed(preprocessing(2, Normalize::kL2, 1.0), {3.0F, 4.0F}), ElementsAre(0.6000000000000001, 0.8));
  EXPECT_DOUBLE_EQ(norm(transformed(preprocessing(3, Normalize::kL2, 2.5), {1e-30F, 2e-30F, 0.0F})), 2.5);
  const float huge = std::numeric_limits<float>::max();
  EXPECT_DOUBLE_EQ(norm(transformed(preprocessing(4, Normalize::kL2, 1.0), {huge, -huge, huge, huge})), 1.0);
  EXPECT_EQ(transformed(preprocessing(3, Normalize::kL2, 1.0), {0.0F, -0.0F, 0.0F}), std::vector<double>(3, 0.0));
}

TEST(RowTransform, NoneClipsOnlyLongerRows) {
  EXPECT_THAT(transformed(preprocessing(2, Normalize::kNone, 10.0), {3.0F, 4.0F}), ElementsAre(3.0, 4.0));
  EXPECT_DOUBLE_EQ(norm(transformed(preprocessing(2, Normalize::kNone, 2.0), {3.0F, 4.0F})), 2.0);
}

TEST(TargetColumns, AreOfNormOneAtMostWhateverNumbersAre) {
  const TargetColumns columns{.count = 2, .center = {0.0, 1.0}, .scale = {1.0, 2.0}};
  for (const double number : {kNan, kInfinity, -kInfinity, 1e308, -1e308, 0.5}) {
    std::vector<double> scaled(2);
    columns.scaled_numbers(std::vector{number, number}, scaled);
    EXPECT_LE(squared_norm(scaled), 1.0 + 1e-15) << number;
  }
}

TEST(RowTransform, PoolAveragesGroupsAndTheShorterLastOne) {
  Preprocessing p = preprocessing(5, Normalize::kNone, 100.0);
  p.pool = 2;
  EXPECT_EQ(p.dim(), 3U);
  EXPECT_THAT(transformed(p, {1.0F, 3.0F, 5.0F, 5.0F, 7.0F}), ElementsAre(2.0, 5.0, 7.0));
}

TEST(RowTransform, CenteredRowsAreNormalizedAgainOrClipped) {
  Preprocessing p = preprocessing(2, Normalize::kL2, 1.0);
  p.center = {0.5, 0.0};
  EXPECT_THAT(transformed(p, {1.0F, 0.0F}), ElementsAre(1.0, 0.0));
  p.center = {1.0, 0.0};
  EXPECT_THAT(transformed(p, {5.0F, 0.0F}), ElementsAre(0.0, 0.0)) << "a row at the center stays zero";
  p.normalize = Normalize::kNone;
  p.center = {-0.9, 0.0};
  EXPECT_DOUBLE_EQ(norm(transformed(p, {0.9F, 0.0F})), 1.0);
}

// Rounding to the lattice moves a row by up to C sqrt(d) / (2 S) = 3.7e-4, and one of P by 1e-4 of its norm.
TEST(RowTransform, ProjectedRowsAreTheirProductsScaledAgain) {
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  for (const std::size_t components : {1U, 15U, 16U, 17U, 37U}) {
    Preprocessing p = preprocessing(37, Normalize::kNone, 4.0);
    p.projection.resize(components * 37);
    for (double& entry : p.projection) entry = 0.01 * normal(engine);
    std::vector<float> row(37);
    for (float& entry : row) entry = 0.1F * static_cast<float>(normal(engine));
    const std::vector<double> out = transformed(p, row);
    ASSERT_EQ(out.size(), components);
    for (std::size_t j = 0; j < components; ++j) {
      double expected = 0.0;
      for (std::size_t a = 0; a < 37; ++a) expected += row[a] * p.projection[j * 37 + a];
      EXPECT_NEAR(out[j], expected, 5e-4 * std::sqrt(squared_norm(std::span(p.projection).subspan(j * 37, 37))));
    }
    p.normalize = Normalize::kL2;
    EXPECT_NEAR(norm(transformed(p, row)), 4.0, 1e-12);
  }
}

TEST(RowTransform, CenteredRowsThatAreNotScaledAreMultipliedSoThatTheyFillTheNorm) {
  Preprocessing p = preprocessing(2, Normalize::kNone, 5.0);
  p.center = {3.0, 0.0};
  p.center_factor = center_factor_of(p.center, p.normalize, p.clip_norm);
  EXPECT_NEAR(p.center_factor, 5.0 / 4.0, 1e-12);  // sqrt(25 - 9)
  EXPECT_THAT(transformed(p, {3.0F, 4.0F}), ElementsAre(0.0, 5.0));
  EXPECT_THAT(transformed(p, {4.0F, 2.0F}), ElementsAre(1.25, 2.5));
  EXPECT_NEAR(norm(transformed(p, {-4.0F, 0.0F})), 5.0, 1e-12) << "clipped again";
  EXPECT_EQ(center_factor_of(std::vector<double>{3.0, 4.0}, Normalize::kNone, 5.0), kLargestCenterFactor);
  EXPECT_EQ(center_factor_of(p.center, Normalize::kL2, 5.0), 1.0);
  p.center_factor = 0.5;
  EXPECT_THROW(RowTransform{p}, UsageError);
}

TEST(RowTransform, ABlockOfRowsIsItsRowsOneByOne) {
  std::mt19937 engine(4);
  std::normal_distribution<float> normal;
  for (const bool is_projected : {false, true}) {
    Preprocessing p = preprocessing(21, Normalize::kL2, 2.0);
    p.intercept = 0.1;
    if (is_projected) {
      p.projection.resize(9 * 21);
      for (double& entry : p.projection) entry = static_cast<double>(normal(engine));
      p.selected = {0, 4, 8};
    }
    constexpr std::size_t kRows = 7;
    std::vector<float> rows(kRows * 21);
    for (float& entry : rows) entry = normal(engine);
    rows[3 * 21 + 5] = std::numeric_limits<float>::infinity();
    const RowTransform transform(p);
    const std::size_t dim = transform.output_dim();
    std::vector<double> block(kRows * dim);
    std::vector<char> is_finite(kRows);
    transform(rows, block, is_finite);
    std::vector<double> alone(dim);
    for (std::size_t row = 0; row < kRows; ++row) {
      const bool good = transform(std::span<const float>(rows).subspan(row * 21, 21), alone);
      EXPECT_EQ(good, row != 3);
      EXPECT_EQ(is_finite[row] != 0, good);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), block.begin() + static_cast<std::ptrdiff_t>(row * dim)));
    }
  }
}

TEST(RowTransform, AnInterceptMayBeSetLater) {
  Preprocessing p = preprocessing(4, Normalize::kL2, 1.5);
  p.projection = {1, 0, 0, 0, 0, 1, 1, 0};
  RowTransform later(p);
  later.set_intercept(0.2);
  p.intercept = 0.2;
  const std::vector<float> row{0.5F, 1.0F, 2.0F, -0.5F};
  std::vector<double> of_later(later.output_dim());
  EXPECT_TRUE(later(row, of_later));
  EXPECT_EQ(of_later.size(), 3U);
  EXPECT_EQ(of_later, transformed(p, row));
  EXPECT_THROW(later.set_intercept(1.0), UsageError);
}

TEST(RowTransform, AProjectionOfReducedRowsIsOneProjection) {
  Preprocessing reduced = preprocessing(4, Normalize::kL2, 1.0);
  reduced.projection = {1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1};  // (x0, x1 + x2, x3)
  reduced.selected = {1, 2};
  const std::vector<double> matrix = {1, 1, 1, -1};
  const Preprocessing both = with_projection(reduced, matrix);
  EXPECT_TRUE(both.selected.empty());
  EXPECT_THAT(both.projection, ElementsAre(0, 1, 1, 1, 0, 1, 1, -1));
  const std::vector<double> once = transformed(both, {0.5F, 1.0F, 2.0F, -0.5F});
  const double length = std::hypot(2.5, 3.5);
  EXPECT_NEAR(once[0], 2.5 / length, 1e-4);
  EXPECT_NEAR(once[1], 3.5 / length, 1e-4);
}

TEST(RowTransform, OnlyRowsThatAreAlikeBeforeItAreProjectedFromEachOther) {
  Preprocessing before = preprocessing(4, Normalize::kL2, 1.0);
  before.center = {0.1, 0.2, 0.3, 0.4};
  Preprocessing after = before;
  EXPECT_FALSE(is_projection_of(after, before));
  after.projection = {1, 0, 0, 0};
  after.intercept = 0.1;
  EXPECT_TRUE(is_projection_of(after, before));
  EXPECT_FALSE(is_projection_of(after, after));
  const auto differs = [&](auto change) {
    Preprocessing other = before;
    change(other);
    return !is_projection_of(after, other);
  };
  EXPECT_TRUE(differs([](Preprocessing& p) { p.center.clear(); }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.center[3] = 0.5; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.center_factor = 2.0; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.pool = 2; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.input_dim = 5; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.normalize = Normalize::kNone; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.clip_norm = 2.0; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.intercept = 0.1; }));
  EXPECT_TRUE(differs([](Preprocessing& p) { p.selected = {1}; }));
}

TEST(RowTransform, SelectedFeaturesAreThoseOfTheIndicesScaledAgain) {
  Preprocessing p = preprocessing(4, Normalize::kNone, 10.0);
  p.selected = {1, 3};
  EXPECT_EQ(p.dim(), 2U);
  EXPECT_EQ(transformed(p, {1.0F, 2.0F, 3.0F, 4.0F}), (std::vector<double>{2.0, 4.0}));
  p.normalize = Normalize::kL2;
  EXPECT_EQ(transformed(p, {1.0F, 3.0F, -7.0F, 4.0F}), (std::vector<double>{6.0, 8.0}));
}

TEST(RowTransform, StepsFollowInOrder) {
  Preprocessing p = preprocessing(6, Normalize::kNone, 100.0);
  p.pool = 2;
  p.center = {1.0, 1.0, 1.0};
  p.projection = {1.0, 1.0, 0.0, 0.0, 0.0, 2.0};  // (v0 + v1, 2 v2)
  p.selected = {1};
  p.intercept = 0.25;
  EXPECT_EQ(p.pooled_dim(), 3U);
  EXPECT_EQ(p.projected_dim(), 2U);
  EXPECT_EQ(p.output_dim(), 2U);
  const std::vector<double> out = transformed(p, {1.0F, 1.0F, 5.0F, 5.0F, 8.0F, 10.0F});
  EXPECT_NEAR(out[0], 16.0 * std::sqrt(0.75), 5e-3);  // lattice rounding
  EXPECT_DOUBLE_EQ(out[1], 50.0);
}

TEST(RowTransform, NonFiniteRowsAreRefusedAndZeroed) {
  const RowTransform transform(preprocessing(11, Normalize::kL2, 1.0));
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (std::size_t a = 0; a < 11; ++a) {
      std::vector<float> row(11, 1.0F);
      row[a] = bad;
      std::vector<double> out(11, 7.0);
      EXPECT_FALSE(transform(row, out));
      EXPECT_EQ(out, std::vector<double>(11, 0.0));
    }
  }
}

TEST(RowTransform, RefusesConstantsAndReductionsOutOfRange) {
  using Numbers = std::vector<double>;
  const auto expect_refused = [](const auto& change) {
    Preprocessing p = preprocessing(3, Normalize::kL2, 1.0);
    change(p);
    EXPECT_THROW(RowTransform{p}, UsageError);
  };
  expect_refused([](auto& p) { p.input_dim = 0; });
  for (const double clip_norm : {0.0, -1.0, 1e-51, 1e51, kNan, kInfinity}) {
    SCOPED_TRACE(clip_norm);
    expect_refused([&](auto& p) { p.clip_norm = clip_norm; });
  }
  for (const std::size_t pool : {0, 4}) expect_refused([&](auto& p) { p.pool = pool; });
  for (const Numbers& center : {Numbers{0.0, 0.0}, {0.0, kNan, 0.0}})
    expect_refused([&](auto& p) { p.center = center; });
  for (const Numbers& projection : {Numbers(4, 1.0), Numbers(12, 1.0), Numbers(3, kInfinity)}) {
    SCOPED_TRACE(projection.size());
    expect_refused([&](auto& p) { p.projection = projection; });
  }
  for (const std::vector<std::size_t>& selected : {std::vector<std::size_t>{3}, {1, 1}, {2, 0}}) {
    SCOPED_TRACE(selected.size());
    expect_refused([&](auto& p) { p.selected = selected; });
  }
}

TEST(SquaredNorm, SumsEveryEntryOnceForEveryLength) {
  std::vector<double> v;
  double expected = 0.0;
  for (int length = 0; length < 40; ++length) {
    EXPECT_EQ(squared_norm(v), expected);
    v.push_back(length + 1);
    expected += (length + 1.0) * (length + 1.0);
  }
}

}  // namespace dpreduce::row_transform_test
