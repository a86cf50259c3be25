#include <clocale>
#include <cstdlib>

#include "common/base/option_table.hpp"
#include "common/base/text.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::number_text_test {

TEST(BoundText, RoundsUpWhatCostsAndDownWhatHides) {
  EXPECT_EQ(upper_figure(0.23671, 4), "0.2368");
  EXPECT_EQ(upper_figure(0.4730001, 4), "0.4731");
  EXPECT_EQ(upper_figure(9.999994, 6), "10");
  EXPECT_EQ(upper_figure(1234567.0, 6), "1.23457e+06");
  EXPECT_EQ(upper_figure(1e-5 * (1.0 + 1e-12)), "1.01e-05");
  EXPECT_EQ(lower_figure(0.23679, 4), "0.2367");
  EXPECT_EQ(lower_figure(9.9999996, 6), "9.99999");
  EXPECT_EQ(lower_figure(-1.5, 1), "-2");
}

// A host program may have any locale: here one whose decimal sign is a comma.
TEST(BoundText, IsTheSameInEveryLocale) {
  const TemporaryFolder folder;
  const std::string made = fmt::format("localedef -i de_DE -f UTF-8 '{}/de_DE.UTF-8'", folder.path());
  ASSERT_EQ(std::system(made.c_str()), 0);
  ASSERT_EQ(::setenv("LOCPATH", folder.path().c_str(), 1), 0);
  const auto child = [] {
    const bool is_german = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr && std::strtod("1,5", nullptr) == 1.5;
    const bool is_right = upper_figure(0.23671, 4) == "0.2368" && upper_figure(0.1) == "0.1" &&
                          lower_figure(13.66, 3) == "13.6" && read_number("--epsilon", "1.5") == 1.5 &&
                          read_count("--rounds", "1.5e3", 2000) == 1500;
    std::_Exit(is_german ? (is_right ? 0 : 1) : 2);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
  ::unsetenv("LOCPATH");
}

TEST(BoundText, OfADecimalNumberIsItselfAndTakesDigitsThatADoubleHas) {
  for (const double value : {0.0, 0.1, 0.3, 1.0, 2.5, 1e-5, 1e-10, 20.0, 1e22}) {
    EXPECT_EQ(upper_figure(value), lower_figure(value)) << value;
    EXPECT_EQ(std::strtod(upper_figure(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(upper_figure(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_THROW(upper_figure(1.0, 0), std::logic_error);
  EXPECT_THROW(lower_figure(1.0, 16), std::logic_error);
}

TEST(BoundText, IsABoundAndNoFartherThanOneDigit) {
  std::mt19937_64 engine(34);
  std::uniform_real_distribution<double> exponent(-12.0, 12.0);
  for (int draw = 0; draw < 20000; ++draw) {
    const double value = std::pow(10.0, exponent(engine));
    for (const int digits : {1, 4, 6, 9, 15}) {
      const double upper = std::strtod(upper_figure(value, digits).c_str(), nullptr);
      const double lower = std::strtod(lower_figure(value, digits).c_str(), nullptr);
      const double unit = std::pow(10.0, std::floor(std::log10(value)) - digits + 1);
      ASSERT_LE(value, upper);
      ASSERT_GE(value, lower);
      ASSERT_LE(upper - lower, unit * 1.1 + 4e-16 * value) << value << " " << digits;
    }
  }
}

}  // namespace dpreduce::number_text_test
