#include "persons/identified_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::numbered_names_test {

TEST(NumberedNames, AreNumberedInTheOrderInWhichTheyCome) {
  NumberedNames names;
  const auto name_of = [](std::uint32_t number) {
    return number % 2 == 0 ? std::to_string(number) : "a name of many letters, and number " + std::to_string(number);
  };
  const auto number_of = [&](const std::string& name) {
    const std::string_view view = name;
    return names.numbers_of(std::span(&view, 1)).front();
  };
  for (std::uint32_t number = 0; number < 5000; ++number) {
    EXPECT_EQ(number_of(name_of(number)), number);
    EXPECT_EQ(names.size(), number + 1);
    EXPECT_EQ(number_of(name_of(number / 3)), number / 3);
  }
  EXPECT_EQ(number_of(""), 5000u);
  EXPECT_EQ(number_of(std::string("1\0", 2)), 5001u);
  EXPECT_EQ(number_of("1"), 5002u);
  EXPECT_EQ(names.size(), 5003u);
}

TEST(NumberedNames, OfOneCallMayBeNewOrTheSame) {
  NumberedNames names;
  EXPECT_TRUE(names.numbers_of(std::span<const std::string_view>()).empty());
  EXPECT_TRUE(names.numbers_of(std::span<const std::int64_t>()).empty());
  const std::vector<std::string_view> some{"b", "a", "b", "c", "a"};
  EXPECT_EQ(names.numbers_of(some), (std::vector<std::uint32_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(names.numbers_of(some), (std::vector<std::uint32_t>{0, 1, 0, 2, 1}));
}

TEST(NumberedNames, AnIntegerIsItsDecimalDigits) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  NumberedNames names;
  const std::vector<std::string_view> digits{"7", "-1", "07"};
  EXPECT_EQ(names.numbers_of(digits), (std::vector<std::uint32_t>{0, 1, 2}));
  const std::vector<std::int64_t> integers{-1, 12, 7, kLeast, 12};
  EXPECT_EQ(names.numbers_of(integers), (std::vector<std::uint32_t>{1, 3, 0, 4, 3}));
  EXPECT_EQ(names.numbers_of(integers), (std::vector<std::uint32_t>{1, 3, 0, 4, 3}));
  const std::vector<std::string_view> least{"-9223372036854775808", "12"};
  EXPECT_EQ(names.numbers_of(least), (std::vector<std::uint32_t>{4, 3}));
  EXPECT_EQ(names[2], "07");
  EXPECT_EQ(names[4], least.front());
  const std::vector<std::string_view> others{"-0", "+7", "7 ", "9223372036854775808", "0"};
  EXPECT_EQ(names.numbers_of(others), (std::vector<std::uint32_t>{5, 6, 7, 8, 9}));
  EXPECT_EQ(names.numbers_of(std::vector<std::int64_t>{0}), (std::vector<std::uint32_t>{9}));
  for (std::size_t number = 0; number < others.size(); ++number) EXPECT_EQ(names[5 + number], others[number]);
}

TEST(NumberedNames, ManyIntegersKeepTheirNumbers) {
  NumberedNames names;
  std::vector<std::int64_t> integers;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; number < 5000; ++number) {
    integers.push_back((std::int64_t{number} - 2500) << 32);
    numbers.push_back(number);
  }
  EXPECT_EQ(names.numbers_of(integers), numbers);
  EXPECT_EQ(names.numbers_of(integers), numbers);
  EXPECT_EQ(names.size(), 5000u);
}

}  // namespace dpreduce::numbered_names_test
