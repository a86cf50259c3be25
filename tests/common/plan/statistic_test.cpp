#include "common/plan/statistic.hpp"

#include <concepts>
#include <ostream>
#include <type_traits>

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::statistic_test {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

template <typename T>
concept Printable = requires(std::ostream& stream, const T& value) {
  stream << value;
};

static_assert(!std::copyable<Statistic>);
static_assert(!std::is_copy_constructible_v<Statistic> && !std::is_copy_assignable_v<Statistic>);
static_assert(std::movable<Statistic>);
static_assert(!Printable<Statistic>);
static_assert(Printable<int>);

Statistic sums_and_counts() {
  return Statistic({{"sum", 3}, {"count", 2}});
}

TEST(Statistic, StartsAtZero) {
  const Statistic statistic = sums_and_counts();
  EXPECT_THAT(statistic.words(), ElementsAre(0, 0, 0, 0, 0));
}

TEST(Statistic, KeepsItsBlocksOneAfterTheOther) {
  Statistic statistic = sums_and_counts();
  statistic.block(0)[2] = -7;
  statistic.block(statistic.index_of("count"))[0] = 9;
  EXPECT_THAT(statistic.words(), ElementsAre(0, 0, static_cast<std::uint64_t>(-7), 9, 0));
  EXPECT_EQ(statistic.index_of("sum"), 0u);
  EXPECT_EQ(statistic.shape()[1].name, "count");
}

TEST(Statistic, AccumulatesModuloTwoToThe64) {
  Statistic statistic = sums_and_counts();
  statistic.accumulate(0, std::vector<std::int64_t>{kMost, kLeast, 5});
  statistic.accumulate(0, std::vector<std::int64_t>{1, -1, -8});
  EXPECT_THAT(statistic.block(0), ElementsAre(kLeast, kMost, -3));
  EXPECT_THAT(statistic.block(1), ElementsAre(0, 0));
}

TEST(Statistic, MergesModuloTwoToThe64) {
  Statistic left = sums_and_counts();
  Statistic right = sums_and_counts();
  left.accumulate(0, std::vector<std::int64_t>{kMost, 2, 3});
  right.accumulate(0, std::vector<std::int64_t>{kMost, 20, 30});
  right.accumulate(1, std::vector<std::int64_t>{kLeast, 4});
  left.merge(right);
  EXPECT_THAT(left.block(0), ElementsAre(-2, 22, 33));
  EXPECT_THAT(left.block(1), ElementsAre(kLeast, 4));
  EXPECT_THAT(right.block(0), ElementsAre(kMost, 20, 30));
}

TEST(Statistic, MergeDoesNotDependOnTheOrder) {
  Statistic forwards = sums_and_counts();
  Statistic backwards = sums_and_counts();
  std::vector<Statistic> parts;
  for (int part = 0; part < 7; ++part) {
    parts.push_back(sums_and_counts());
    for (std::uint64_t& word : parts.back().words()) word = 0x9e3779b97f4a7c15u * static_cast<unsigned>(part + 1);
  }
  for (auto part = parts.begin(); part != parts.end(); ++part) forwards.merge(*part);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) backwards.merge(*part);
  EXPECT_THAT(forwards.words(), testing::ElementsAreArray(backwards.words()));
}

TEST(Statistic, RefusesShapesThatCannotBe) {
  EXPECT_THROW(Statistic({}), UsageError);
  EXPECT_THROW(Statistic({{"", 3}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", 0}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", 3}, {"count", 2}, {"sum", 3}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", (std::size_t{1} << 40) + 1}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", 3}, {"gram", std::numeric_limits<std::size_t>::max()}}), UsageError);
}

TEST(Statistic, RefusesAddendsOfAnotherSize) {
  Statistic statistic = sums_and_counts();
  EXPECT_THROW(statistic.accumulate(0, std::vector<std::int64_t>{1, 2}), UsageError);
  EXPECT_THROW(statistic.accumulate(1, std::vector<std::int64_t>{1, 2, 3}), UsageError);
  EXPECT_THAT(statistic.words(), ElementsAre(0, 0, 0, 0, 0));
}

TEST(Statistic, RefusesToMergeAnotherShape) {
  Statistic statistic = sums_and_counts();
  EXPECT_THROW(statistic.merge(Statistic({{"sum", 3}})), UsageError);
  EXPECT_THROW(statistic.merge(Statistic({{"sum", 3}, {"count", 3}})), UsageError);
  EXPECT_THROW(statistic.merge(Statistic({{"sum", 3}, {"counts", 2}})), UsageError);
}

TEST(Statistic, RefusesUnknownBlocks) {
  Statistic statistic = sums_and_counts();
  EXPECT_THROW(statistic.index_of("gram"), UsageError);
  EXPECT_THROW(statistic.block(2), std::logic_error);
  EXPECT_THROW(std::as_const(statistic).block(2), std::logic_error);
  EXPECT_THROW(statistic.accumulate(2, std::vector<std::int64_t>{1}), std::logic_error);
}

}  // namespace dpreduce::statistic_test
