#include "feature_rows.hpp"

#include <atomic>

#include "tests/testing.hpp"

namespace dpreduce::fashion_mnist {
namespace {

std::vector<float> random_coefficients(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> values(kCoefficients);
  for (float& value : values) value = uniform(random);
  return values;
}

std::vector<float> row_of(std::vector<float> coefficients, const RowSettings& settings) {
  std::vector<float> row(settings.dimension());
  make_row(coefficients, settings, row);
  return row;
}

void expect_standardized(const std::vector<float>& row, std::size_t group) {
  for (std::size_t begin = 0; begin < row.size(); begin += group) {
    double sum = 0, squares = 0;
    for (std::size_t k = begin; k < begin + group; ++k) sum += row[k], squares += static_cast<double>(row[k]) * row[k];
    EXPECT_NEAR(sum / group, 0, 1e-6);
    EXPECT_NEAR(squares / group, 1, 1e-4);
  }
}

TEST(FeatureRows, HaveTheDocumentedLengths) {
  EXPECT_EQ((RowSettings{Standardize::kGroup, 4}.dimension()), 1296u);
  EXPECT_EQ((RowSettings{Standardize::kGroup, 8}.dimension()), 5184u);
}

TEST(FeatureRows, AreTheCoefficientsWhereNothingIsAsked) {
  const std::vector<float> coefficients = random_coefficients(1);
  EXPECT_EQ(row_of(coefficients, {Standardize::kNone, 8}), coefficients);
}

TEST(FeatureRows, PoolTwoByTwoCells) {
  std::vector<float> coefficients(kCoefficients);
  std::iota(coefficients.begin(), coefficients.end(), 0.0F);
  const std::vector<float> row = row_of(coefficients, {Standardize::kNone, 4});
  EXPECT_EQ(row[0], (0 + 1 + 8 + 9) / 4.0f);
  EXPECT_EQ(row[1], (2 + 3 + 10 + 11) / 4.0f);
  EXPECT_EQ(row[4], (16 + 17 + 24 + 25) / 4.0f);
  EXPECT_EQ(row[16], 64 + (0 + 1 + 8 + 9) / 4.0f);
}

TEST(FeatureRows, HaveMeanZeroAndVarianceOneInEachChannelOrGroup) {
  expect_standardized(row_of(random_coefficients(2), {Standardize::kChannel, 8}), kCells);
  expect_standardized(row_of(random_coefficients(3), {Standardize::kGroup, 8}), 3 * kCells);
}

TEST(FeatureRows, OfAnImageWithoutVarianceAreZeroNotNaN) {
  for (const Standardize standardize : {Standardize::kChannel, Standardize::kGroup}) {
    EXPECT_THAT(row_of(std::vector<float>(kCoefficients, 0.5f), {standardize, 4}), testing::Each(0));
  }
}

TEST(FeatureRows, RefuseOtherGridsAndSizes) {
  std::vector<float> coefficients = random_coefficients(4), row(1296);
  EXPECT_THROW(make_row(coefficients, {Standardize::kNone, 2}, row), std::logic_error);
  EXPECT_THROW(make_row(coefficients, {Standardize::kNone, 8}, row), std::logic_error);
  EXPECT_THROW(make_row(std::span(coefficients).first(64), {Standardize::kNone, 4}, row), std::logic_error);
}

class Encode : public ::testing::Test {
 protected:
  static constexpr std::size_t kImages = 3 * kLanes + 5;
  Encode() : pixels_(kImages * kImagePixels) {
    std::mt19937 random(5);
    for (std::uint8_t& pixel : pixels_) pixel = static_cast<std::uint8_t>(random() & 0xff);
  }
  std::vector<float> encoded(std::span<const std::uint8_t> pixels, int threads) {
    std::vector<float> rows(pixels.size() / kImagePixels * settings_.dimension());
    std::atomic<std::size_t> done{0};
    encode(scattering_, pixels, settings_, threads, rows, [&](std::size_t images) { done += images; });
    EXPECT_EQ(done, pixels.size() / kImagePixels);
    return rows;
  }
  Scattering scattering_;
  RowSettings settings_;
  std::vector<std::uint8_t> pixels_;
};

TEST_F(Encode, HasTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> one = encoded(pixels_, 1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(encoded(pixels_, threads), one) << threads;
}

TEST_F(Encode, GivesARowThatDependsOnItsImageAlone) {
  const std::vector<float> all = encoded(pixels_, 2);
  const std::vector<float> tail = encoded(std::span(pixels_).subspan(3 * kImagePixels), 2);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + static_cast<long>(3 * settings_.dimension())));
}

TEST_F(Encode, RefusesNoThreadsAndRowsThatDoNotFit) {
  std::vector<float> rows(kImages * settings_.dimension());
  const auto ignore = [](std::size_t) {};
  EXPECT_THROW(encode(scattering_, pixels_, settings_, 0, rows, ignore), std::logic_error);
  EXPECT_THROW(encode(scattering_, pixels_, settings_, 1, std::span(rows).first(7), ignore), std::logic_error);
  EXPECT_THROW(encode(scattering_, std::span(pixels_).first(783), settings_, 1, rows, ignore), std::logic_error);
}

}  // namespace
}  // namespace dpreduce::fashion_mnist
