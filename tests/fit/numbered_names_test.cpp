#include "fit/numbered_names.hpp"

#include <string>

#include <gtest/gtest.h>

namespace dpreduce {
namespace {

TEST(NumberedNames, AreNumberedInTheOrderInWhichTheyCome) {
  NumberedNames names;
  const auto name_of = [](std::uint32_t number) {
    return number % 2 == 0 ? std::to_string(number) : "a name of many letters, and number " + std::to_string(number);
  };
  for (std::uint32_t number = 0; number < 5000; ++number) {
    EXPECT_EQ(names.number_of(name_of(number)), number);
    EXPECT_EQ(names.size(), number + 1);
    EXPECT_EQ(names.number_of(name_of(number / 3)), number / 3);
  }
  EXPECT_EQ(names.number_of(""), 5000u);
  EXPECT_EQ(names.number_of(std::string("1\0", 2)), 5001u);
  EXPECT_EQ(names.number_of("1"), 5002u);
  EXPECT_EQ(names.size(), 5003u);
}

}  // namespace
}  // namespace dpreduce
