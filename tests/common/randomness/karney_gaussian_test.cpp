#include "common/randomness/karney_gaussian.hpp"

#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/common/randomness/tapes.hpp"

namespace dpreduce {
namespace karney_gaussian_test {

using oracle::seeded_stream;
using oracle::stream_of;

TEST(KarneyGaussian, SameStreamGivesTheSameSamples) {
  std::vector<std::int64_t> one(1000);
  std::vector<std::int64_t> other(1000);
  RandomStream stream = seeded_stream(1);
  fill_rounded_gaussian_by_karney(stream, 1000.0, one);
  RandomStream again = seeded_stream(1);
  fill_rounded_gaussian_by_karney(again, 1000.0, std::span(other).first(300));
  fill_rounded_gaussian_by_karney(again, 1000.0, std::span(other).subspan(300));
  EXPECT_EQ(one, other);
}

// The words that Algorithm N reads, one comparison after another, for a sample that is known by hand.
TEST(KarneyGaussian, HandWrittenDigitsGiveTheHandComputedSample) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const std::vector<std::uint64_t> tape{1,
                                        0,
                                        5,  // H: 1/2 > U_1 > U_2, U_3 > U_2: a run of two, true
                                        kHalf - 1,
                                        kHalf,  // H: 1/2 > U_1, U_2 > U_1: a run of one, false: k = 1, no coins
                                        ~std::uint64_t{0},
                                        kHalf + 1,  // B: z, then x = 1/2 + 2^-64; z > x: no run, true
                                        3,
                                        0,       // B: z < x, but part 0 of 4 loses: no run, true; k + 1 = 2 successes
                                        kHalf};  // sign: negative
  RandomStream stream = stream_of([&tape](std::uint64_t, std::uint64_t column) {
    const auto word = [&tape](std::uint64_t place) { return place < tape.size() ? tape[place] : 0; };
    return RandomBlock{word(2 * column), word(2 * column + 1)};
  });
  std::array<std::int64_t, 1> sample;
  fill_rounded_gaussian_by_karney(stream, 0x1p40, sample);
  EXPECT_EQ(sample[0], -((std::int64_t{1} << 40) + (std::int64_t{1} << 39))) << "x = k + 1/2 + 2^-64";
}

TEST(KarneyGaussian, StuckStreamIsFatal) {
  std::array<std::int64_t, 1> sample;
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    RandomStream stuck = stream_of([word](std::uint64_t, std::uint64_t) { return RandomBlock{word, word}; });
    EXPECT_THROW(fill_rounded_gaussian_by_karney(stuck, 1.0, sample), EntropyFailure) << word;
  }
}

TEST(KarneyGaussian, SigmaOutOfRangeIsRefused) {
  RandomStream stream = seeded_stream(1);
  for (const double sigma : {0.0, 0.25, -1.0, 0x1.0000000000001p45, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(fill_rounded_gaussian_by_karney(stream, sigma, {}), UsageError) << sigma;
  }
}

}  // namespace karney_gaussian_test
}  // namespace dpreduce
