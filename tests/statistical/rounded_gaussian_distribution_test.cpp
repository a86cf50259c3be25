// The distribution of rounded Gaussian noise, from 10^7 samples.
//
// Every test is seeded, so that it passes always or never; its threshold is such that a right sampler with a random
// seed would fail one test in 10^9. Counts are 4 * 10^6 where nothing else is said: thresholds follow from them.
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/randomness/gaussian_bins.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/common/randomness/tapes.hpp"
#include "tests/testing.hpp"

namespace dpreduce::rounded_gaussian_distribution_test {

constexpr double kFalseAlarm = 1e-9;
constexpr double kDeviations = 6.11;  // P(|standard normal| > 6.11) = 1.0e-9

using Samples = std::vector<std::int64_t>;
using Real = boost::multiprecision::cpp_bin_float_50;

constexpr std::size_t kFewSamples = 300'000;

Samples draw(std::uint64_t seed, double sigma, std::size_t count = 4'000'000) {
  RandomStream stream = NoiseKey::from_seed(seed).stream("distribution test", std::as_bytes(std::span(&sigma, 1)));
  Samples samples(count);
  fill_rounded_gaussian(stream, sigma, samples);
  return samples;
}

// P(X > x)
double upper_tail(double x) {
  return std::erfc(x / std::sqrt(2.0)) / 2;
}
Real upper_tail(const Real& x) {
  return boost::math::erfc(Real(x / sqrt(Real(2)))) / 2;
}

// P(round(sigma X) = k)
double rounded_probability(double sigma, std::int64_t k) {
  const Real least = (abs(Real(k)) - Real(0.5)) / Real(sigma);
  const Real most = (abs(Real(k)) + Real(0.5)) / Real(sigma);
  return static_cast<double>(upper_tail(least) - upper_tail(most));
}

void expect_fits(const std::vector<double>& observed, const std::vector<double>& expected, const std::string& what) {
  double statistic = 0;
  for (std::size_t cell = 0; cell < observed.size(); ++cell) {
    ASSERT_GE(expected[cell], 10.0) << what;
    statistic += (observed[cell] - expected[cell]) * (observed[cell] - expected[cell]) / expected[cell];
  }
  const boost::math::chi_squared law(static_cast<double>(observed.size() - 1));
  EXPECT_LT(statistic, quantile(complement(law, kFalseAlarm))) << what << ", " << observed.size() << " cells";
}

// count ~ Binomial(trials, probability), two-sided
void expect_count(std::size_t count, std::size_t trials, double probability, const std::string& what) {
  const boost::math::binomial law(static_cast<double>(trials), probability);
  EXPECT_GE(static_cast<double>(count), quantile(law, kFalseAlarm / 2)) << what;
  EXPECT_LE(static_cast<double>(count), quantile(complement(law, kFalseAlarm / 2))) << what;
}

TEST(RoundedProbability, AgreesWithTheOracleTable) {
  const std::vector<VectorRow> rows = read_vectors("discrete_gaussian_pmf.csv");
  EXPECT_GE(rows.size(), 10U);
  for (const VectorRow& row : rows) {
    const double expected = row.number("rounded_gaussian_P(X=k)");
    const double actual =
        rounded_probability(std::sqrt(row.number("sigma2")), static_cast<std::int64_t>(row.number("k")));
    EXPECT_NEAR(actual / expected, 1, 1e-10) << row.text("sigma2") << ", " << row.text("k");
  }
}

TEST(Distribution, OfSmallSigmaHasTheExactProbabilities) {
  for (const double sigma : {0.5, 1.0, std::sqrt(2.0), 2.0, 4.0, 10.0}) {
    const Samples samples = draw(1, sigma);
    const auto count = static_cast<double>(samples.size());
    std::int64_t last = 0;  // |k| <= last have a cell each, what is beyond them shares two
    while (count * rounded_probability(sigma, last + 1) >= 25) ++last;
    std::vector<double> observed(static_cast<std::size_t>(2 * last + 3));
    for (const std::int64_t sample : samples) {
      ++observed[static_cast<std::size_t>(std::clamp(sample, -last - 1, last + 1) + last + 1)];
    }
    const double beyond = count * static_cast<double>(upper_tail(Real((last + Real(0.5)) / Real(sigma))));
    std::vector<double> expected;
    for (std::int64_t k = -last; k <= last; ++k) expected.push_back(count * rounded_probability(sigma, k));
    expected.insert(expected.begin(), beyond);
    expected.push_back(beyond);
    if (beyond < 10) {  // too few for a cell of their own
      for (auto* cells : {&observed, &expected}) {
        (*cells)[1] += cells->front();
        (*cells)[cells->size() - 2] += cells->back();
        cells->erase(cells->begin());
        cells->pop_back();
      }
    }
    expect_fits(observed, expected, "sigma = " + std::to_string(sigma));
  }
}

// Rounding moves a cell's edge by at most 1/2, so that its probability changes by less than 2^-20 of the whole.
const std::vector<double> kLargeSigmas{0x1p20, 1234567.890625, 0x1.5555555555555p30, 0x1p40, 0x1p45};

TEST(Distribution, OfLargeSigmaIsNormalInEquallyLikelyCells) {
  constexpr std::size_t kCells = 1000;
  for (const double sigma : kLargeSigmas) {
    const Samples samples = draw(2, sigma);
    std::vector<double> observed(kCells);
    for (const std::int64_t sample : samples) {
      const double below = upper_tail(-static_cast<double>(sample) / sigma);
      ++observed[std::min(static_cast<std::size_t>(below * kCells), kCells - 1)];
    }
    const std::vector<double> expected(kCells, static_cast<double>(samples.size()) / kCells);
    expect_fits(observed, expected, "sigma = " + std::to_string(sigma));
  }
}

TEST(Distribution, OfLargeSigmaPassesKolmogorovSmirnov) {
  for (const double sigma : kLargeSigmas) {
    Samples samples = draw(3, sigma, kFewSamples);
    std::sort(samples.begin(), samples.end());
    double distance = 0;
    for (std::size_t rank = 0; rank < kFewSamples; ++rank) {
      const double below = upper_tail(-static_cast<double>(samples[rank]) / sigma);
      distance = std::max({distance, below - static_cast<double>(rank) / kFewSamples,
                           static_cast<double>(rank + 1) / kFewSamples - below});
    }
    // Dvoretzky-Kiefer-Wolfowitz-Massart: P(distance > t) <= 2 exp(-2 n t^2).
    EXPECT_LT(distance, std::sqrt(std::log(2 / kFalseAlarm) / (2 * kFewSamples))) << "sigma = " << sigma;
  }
}

// E X^2 = 1, E X^4 = 3, E X^6 = 15; Sheppard: rounding adds 1/12 to the variance, which is 2^-43 of it here.
TEST(Distribution, OfLargeSigmaHasTheMomentsOfANormal) {
  for (const double sigma : kLargeSigmas) {
    const Samples samples = draw(4, sigma);
    std::array<double, 5> sums{};
    for (const std::int64_t sample : samples) {
      const double x = static_cast<double>(sample) / sigma;
      double power = 1;
      for (std::size_t order = 1; order <= 4; ++order) sums[order] += power *= x;
    }
    constexpr std::array<double, 5> kMean{1, 0, 1, 0, 3};
    constexpr std::array<double, 5> kVariance{0, 1, 2, 15, 96};  // E X^(2k) - (E X^k)^2
    const auto count = static_cast<double>(samples.size());
    for (std::size_t order = 1; order <= 4; ++order) {
      EXPECT_LT(std::abs(sums[order] / count - kMean[order]), kDeviations * std::sqrt(kVariance[order] / count))
          << "moment " << order << ", sigma = " << sigma;
    }
  }
}

// Bits far below sigma are uniform: the density changes by less than 2^-20 of itself over 2^bits integers.
TEST(Distribution, OfLargeSigmaHasUniformLowBits) {
  constexpr unsigned kBits = 8;
  for (const double sigma : kLargeSigmas) {
    const Samples samples = draw(5, sigma);
    const int highest = std::ilogb(sigma);
    for (int shift = 0; shift + static_cast<int>(kBits) + 10 < highest; shift += 5) {
      std::vector<double> observed(1 << kBits);
      for (const std::int64_t sample : samples) ++observed[static_cast<std::size_t>(sample >> shift & 255)];
      const std::vector<double> expected(observed.size(),
                                         static_cast<double>(samples.size()) / static_cast<double>(observed.size()));
      expect_fits(observed, expected, "bits from " + std::to_string(shift) + ", sigma = " + std::to_string(sigma));
    }
  }
}

TEST(Distribution, HasTheTailsOfANormal) {
  for (const double sigma : kLargeSigmas) {
    const Samples samples = draw(6, sigma);
    for (const double multiple : {3.0, 4.0, 4.5, 5.0, 5.5}) {
      const auto beyond = [&](std::int64_t sample) { return std::abs(static_cast<double>(sample)) > multiple * sigma; };
      const auto count = static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), beyond));
      expect_count(count, samples.size(), 2 * upper_tail(multiple), std::to_string(multiple) + " sigma");
    }
  }
}

TEST(Distribution, HasNoPreferredSign) {
  const Samples samples = draw(7, 0x1p40);
  const auto negative = std::count_if(samples.begin(), samples.end(), [](std::int64_t sample) { return sample < 0; });
  expect_count(static_cast<std::size_t>(negative), samples.size(), 0.5, "negative samples");
}

// n^(1/2) * the correlation of independent standardized variables is standard normal for large n.
double scaled_correlation(std::span<const double> one, std::span<const double> other) {
  double sum = 0;
  double squares_one = 0;
  double squares_other = 0;
  for (std::size_t place = 0; place < one.size(); ++place) {
    sum += one[place] * other[place];
    squares_one += one[place] * one[place];
    squares_other += other[place] * other[place];
  }
  return sum / std::sqrt(squares_one * squares_other) * std::sqrt(static_cast<double>(one.size()));
}

TEST(Distribution, SamplesAreUncorrelated) {
  const double sigma = 0x1p30;
  const Samples samples = draw(8, sigma);
  const Samples of_other_key = draw(9, sigma);
  std::vector<double> values;
  std::vector<double> others;
  std::vector<double> squares;  // minus their mean
  std::vector<double> signs;
  for (std::size_t place = 0; place < samples.size(); ++place) {
    const double value = static_cast<double>(samples[place]) / sigma;
    values.push_back(value);
    others.push_back(static_cast<double>(of_other_key[place]) / sigma);
    squares.push_back(value * value - 1);
    signs.push_back(value < 0 ? -1 : 1);
  }
  for (const std::size_t lag : {1u, 2u, 3u, 16u, 2048u}) {
    for (const auto* series : {&values, &squares, &signs}) {
      const std::span<const double> whole(*series);
      EXPECT_LT(std::abs(scaled_correlation(whole.first(whole.size() - lag), whole.subspan(lag))), kDeviations)
          << "lag " << lag;
    }
  }
  EXPECT_LT(std::abs(scaled_correlation(values, others)), kDeviations) << "streams of two keys";
  EXPECT_LT(std::abs(scaled_correlation(squares, signs)), kDeviations) << "size and sign";
}

// A seeded tape whose every proposal is moved to one slot: samples then follow the density exp(-x^2/2) restricted to
// that slot, which a sample of the whole law visits too seldom to tell. In the tail, where A(x) <= 2^-5, coins are
// divided by 2^5: 32 times as many proposals are accepted, with the same density.
class OneSlotTape final : public BlockSource {
 public:
  explicit OneSlotTape(std::uint64_t slot)
      : tape_(oracle::seeded_tape(static_cast<unsigned char>(slot))), slot_(slot) {}
  void read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) override {
    tape_.read(row, first_column, out);
    if (row > 0) return;
    constexpr std::uint64_t kSign = kSlots;
    for (RandomBlock& block : out) {
      const std::uint64_t coin = block.first >> 11 >> (slot_ == kStrips ? 5 : 0);
      block.first = slot_ | (block.first & kSign) | coin << 11;
    }
  }

 private:
  AesBlockSource tape_;
  std::uint64_t slot_;
};

TEST(BulkDistribution, WithinEachSlotFollowsTheCurve) {
  constexpr double kSigma = 0x1p40;
  constexpr std::size_t kCells = 100;
  for (const std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511}, kStrips - 20, kStrips - 3,
                                   kStrips - 2, kStrips - 1, kStrips}) {
    RandomStream stream(std::make_unique<OneSlotTape>(slot));
    Samples samples(500'000);
    fill_rounded_gaussian(stream, kSigma, samples);
    const GaussianBin& bin = gaussian_bins()[slot];
    ASSERT_TRUE(slot < kStrips || bin.peak < std::uint64_t{1} << (kPeakBits - 5));
    const double left = std::ldexp(static_cast<double>(bin.left), -32);
    const double width = std::ldexp(static_cast<double>(bin.width), -32);
    const double beyond = slot < kStrips ? upper_tail(left + width) : 0;
    const double mass = upper_tail(left) - beyond;
    std::vector<double> observed(kCells);
    for (const std::int64_t sample : samples) {
      const double above = (upper_tail(std::abs(static_cast<double>(sample)) / kSigma) - beyond) / mass;
      ++observed[static_cast<std::size_t>(std::clamp(above, 0.0, 1 - 1e-9) * kCells)];
    }
    const std::vector<double> expected(kCells, static_cast<double>(samples.size()) / kCells);
    expect_fits(observed, expected, "slot " + std::to_string(slot));
  }
}

}  // namespace dpreduce::rounded_gaussian_distribution_test
