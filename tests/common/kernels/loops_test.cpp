// Loops over vectors of several widths, and over threads.
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"
#include "tests/testing.hpp"

namespace dpreduce::loops_test {

// Of every kind of step that loops at several widths take: conversions, products and sums that would round differently
// if they were contracted, divisions, roots, comparisons, and eight running sums.
std::vector<std::uint64_t> bits_at(std::size_t width, const std::vector<std::int64_t>& integers,
                                   const std::vector<float>& features) {
  std::vector<double> values(integers.size());
  std::array<double, 8> sums{};
  double sum_of_eights = 0.0;
  run_at_width(width, [&]<std::size_t doubles>(Doubles<doubles>) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double wide = to_double<doubles>(integers[i]) * 1e-9;
      const double mixed = wide * wide + static_cast<double>(features[i]);
      values[i] = mixed < 0.5 ? mixed / 3.0 : std::sqrt(mixed);
    }
    for (std::size_t i = 0; i + sums.size() <= values.size(); i += sums.size()) {
      for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += values[i + lane] * values[i + lane];
    }
    using Eight = EightDoubles<doubles>;
    Eight total(0.0);
    for (std::size_t i = 0; i + 8 <= values.size(); i += 8) {
      const Eight eight(&values[i]);
      total += Eight::where_less(eight, 0.3, (eight * 1e6).rounded() / 7.0, eight.at_most(0.9).at_least(0.4) - total);
      total.set(i / 8 % 8, total[i % 7] * 0.5);
      total.store(&values[i]);
    }
    sum_of_eights = total.sum();
  });
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  for (const double sum : sums) bits.push_back(std::bit_cast<std::uint64_t>(sum));
  bits.push_back(std::bit_cast<std::uint64_t>(sum_of_eights));
  return bits;
}

TEST(VectorWidth, EveryWidthHasTheSameBits) {
  std::mt19937_64 engine(1);
  for (const std::size_t count : {1u, 7u, 8u, 9u, 64u, 1003u}) {
    std::vector<std::int64_t> integers(count);
    std::vector<float> features(count);
    for (auto& integer : integers) integer = static_cast<std::int64_t>(engine()) >> (engine() % 40);
    for (auto& feature : features) feature = std::ldexp(static_cast<float>(engine() >> 40), -24);
    const auto plain = bits_at(2, integers, features);
    for (const std::size_t width : vector_widths()) EXPECT_EQ(bits_at(width, integers, features), plain) << width;
  }
}

// Of exact ones, of halves that are rounded to even, of the largest and the smallest, and of any.
TEST(VectorWidth, IntegersBecomeTheDoublesOfAConversion) {
  std::vector<std::int64_t> integers{0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  for (int bit = 1; bit < 63; ++bit) {
    for (const std::int64_t beside : {-3, -1, 0, 1, 3}) {
      integers.push_back((std::int64_t{1} << bit) + beside);
      integers.push_back(-integers.back());
    }
  }
  std::mt19937_64 engine(1);
  for (int i = 0; i < 100'000; ++i) integers.push_back(static_cast<std::int64_t>(engine()) >> (engine() % 63));
  for (const std::size_t width : vector_widths()) {
    std::vector<double> doubles(integers.size());
    run_at_width(width, [&]<std::size_t of_vector>(Doubles<of_vector>) {
      for (std::size_t i = 0; i < integers.size(); ++i) doubles[i] = to_double<of_vector>(integers[i]);
    });
    for (std::size_t i = 0; i < integers.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(doubles[i]),
                std::bit_cast<std::uint64_t>(static_cast<double>(integers[i])))
          << integers[i] << " at width " << width;
    }
  }
}

TEST(VectorWidth, WorkIsToldItsWidthWhichAscendsFromWhatEveryProcessorHas) {
  const auto widths = vector_widths();
  ASSERT_FALSE(widths.empty());
  EXPECT_EQ(widths.front(), 2u);
  EXPECT_TRUE(std::is_sorted(widths.begin(), widths.end()));
  for (const std::size_t width : widths) {
    std::size_t given = 0;
    run_at_width(width, [&](auto doubles) { given = doubles; });
    EXPECT_EQ(given, width);
  }
  std::size_t given = 0;
  run_at_full_width([&](auto doubles) { given = doubles; });
  EXPECT_EQ(given, widths.back());
}

class ThreadTeamTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ThreadTeamTest, EveryStepOfEveryLoopIsTakenOnce) {
  ThreadTeam team(GetParam());
  for (const std::size_t count : {0, 1, 2, 3, 100, 1000}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<int> taken(count, 0);
      team.for_each(count, [&](std::size_t index) { ++taken[index]; });
      EXPECT_THAT(taken, ::testing::Each(1));
    }
  }
}

TEST_P(ThreadTeamTest, AFailureEndsTheLoopReachesTheCallerAndTheTeamWorksOn) {
  ThreadTeam team(GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto fails = [](std::size_t index) {
      if (index % 7 == 3) throw std::runtime_error("step failed");
    };
    EXPECT_THAT([&] { team.for_each(50, fails); }, ThrowsMessage<std::runtime_error>("step failed"));
    std::atomic<std::size_t> steps{0};
    team.for_each(50, [&](std::size_t) { ++steps; });
    EXPECT_EQ(steps, 50U);
    const auto stops = [&](std::size_t) {
      ++steps;
      throw std::runtime_error("stop");
    };
    EXPECT_THROW(team.for_each(1'000'000'000'000, stops), std::runtime_error);
    EXPECT_LE(steps, 50 + GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadTeamTest, ::testing::Values(1U, 2U, 3U, 8U));

}  // namespace dpreduce::loops_test
