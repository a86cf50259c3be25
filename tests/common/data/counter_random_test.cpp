#include "common/data/counter_random.hpp"

#include "tests/testing.hpp"

namespace dpreduce::counter_random_test {

TEST(CounterRandom, TheFinalizerIsSplitMix64) {
  // First outputs of SplitMix64 from state 0 (Vigna's reference code).
  EXPECT_EQ(mix_bits(0x9e3779b97f4a7c15u), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix_bits(2 * 0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(CounterRandom, LogarithmAndCirclesAgreeWithTheMathematicalLibrary) {
  const CounterRandom random(1, 1);
  for (std::uint64_t k = 0; k < 100'000; ++k) {
    const double u = (static_cast<double>(random.bits(k) >> 11) + 1.0) * 0x1p-53;
    ASSERT_NEAR(portable_log(u), std::log(u), 4e-16 * std::max(1.0, -std::log(u)));
    ASSERT_NEAR(portable_exp(-40.0 * u), std::exp(-40.0 * u), 1e-12 * std::exp(-40.0 * u));
    const auto [cosine, sine] = portable_cos_sin_turn(u * 0.999999);
    ASSERT_NEAR(cosine, std::cos(2 * M_PI * u * 0.999999), 2e-15);
    ASSERT_NEAR(sine, std::sin(2 * M_PI * u * 0.999999), 2e-15);
  }
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_NEAR(portable_exp(-700.0) / std::exp(-700.0), 1.0, 1e-12);
  EXPECT_NEAR(portable_log(0x1p-53), -53 * std::log(2.0), 1e-14);
  EXPECT_EQ(portable_cos_sin_turn(0.0), std::make_pair(1.0, 0.0));
  EXPECT_NEAR(portable_cos_sin_turn(0.9999999999999999).first, 1.0, 1e-15);
}

TEST(CounterRandom, TheBytesAreTheSameEverywhere) {
  // Fixed once; a change here changes every synthetic data set.
  const CounterRandom random(42, 7);
  EXPECT_EQ(random.bits(0), 0xcf248d74fda66069u);
  EXPECT_EQ(random.bits(1'000'000), 0x9edf2b21fe68eed6u);
  EXPECT_EQ(random.normals(0).first, 0x1.c85a3d761ee41p-2);
  EXPECT_EQ(random.normals(3).second, -0x1.403af801bfd8p+0);
}

TEST(CounterRandom, NormalsHaveTheMomentsOfTheNormalDistribution) {
  // 2 million seeded draws; bounds at 6 standard errors each: false alarm below 1e-8 if the seed were random.
  constexpr std::uint64_t kPairs = 1'000'000;
  const CounterRandom random(3, 4);
  double mean = 0, square = 0, fourth = 0, product = 0, beyond_two = 0;
  for (std::uint64_t k = 0; k < kPairs; ++k) {
    const auto [a, b] = random.normals(k);
    mean += a + b;
    square += a * a + b * b;
    fourth += a * a * a * a + b * b * b * b;
    product += a * b;
    beyond_two += (std::fabs(a) > 2) + (std::fabs(b) > 2);
  }
  const double n = 2.0 * kPairs;
  EXPECT_NEAR(mean / n, 0.0, 6 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1.0, 6 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3.0, 6 * std::sqrt(96 / n));
  EXPECT_NEAR(product / kPairs, 0.0, 6 / std::sqrt(static_cast<double>(kPairs)));
  const double tail = std::erfc(std::sqrt(2.0));  // P(|z| > 2)
  EXPECT_NEAR(beyond_two / n, tail, 6 * std::sqrt(tail / n));
}

TEST(CounterRandom, StreamsAndSeedsDiffer) {
  const auto first = [](std::uint64_t seed, std::uint64_t stream) { return CounterRandom(seed, stream).bits(0); };
  EXPECT_EQ((std::set{first(1, 2), first(1, 3), first(2, 2), first(2, 1)}).size(), 4U);
}

TEST(IndexPermutation, IsAPermutationForEverySize) {
  for (const std::uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 1000u, 65536u}) {
    const IndexPermutation permutation(size, 5, 6);
    std::set<std::uint64_t> images;
    for (std::uint64_t index = 0; index < size; ++index) images.insert(permutation(index));
    ASSERT_EQ(images.size(), size);
    ASSERT_EQ(*images.rbegin(), size - 1);
  }
}

}  // namespace dpreduce::counter_random_test
