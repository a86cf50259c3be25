#include "common/ledger/statistic.hpp"

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

TEST(Statistic, RefusesShapesThatCannotBe) {
  EXPECT_THROW(Statistic({}), std::logic_error);
  EXPECT_THROW(Statistic({{"", 3}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", 0}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", 3}, {"count", 2}, {"sum", 3}}), std::logic_error);
  EXPECT_THROW(Statistic({{"sum", (std::size_t{1} << 40) + 1}}), UsageError);
  EXPECT_THROW(Statistic({{"sum", 3}, {"gram", std::numeric_limits<std::size_t>::max()}}), UsageError);
}

TEST(Statistic, RefusesUnknownBlocks) {
  Statistic statistic = sums_and_counts();
  EXPECT_THROW(statistic.index_of("gram"), std::logic_error);
  EXPECT_THROW(statistic.block(2), std::logic_error);
  EXPECT_THROW(std::as_const(statistic).block(2), std::logic_error);
}

}  // namespace dpreduce::statistic_test
