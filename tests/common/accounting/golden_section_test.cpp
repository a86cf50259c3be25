#include "common/accounting/golden_section.hpp"

#include "tests/testing.hpp"

namespace dpreduce::golden_section_test {

TEST(GoldenSection, FindsTheBottomOfAValley) {
  EXPECT_NEAR(golden_section(-3, 10, 60, [](double x) { return (x - 2) * (x - 2); }), 2, 1e-7);
  EXPECT_NEAR(golden_section(0.1, 50, 60, [](double x) { return x + 9 / x; }), 3, 1e-6);
}

TEST(GoldenSection, GoesToTheEndOfAMonotoneFunction) {
  EXPECT_NEAR(golden_section(1, 2, 60, [](double x) { return x; }), 1, 1e-9);
  EXPECT_NEAR(golden_section(1, 2, 60, [](double x) { return -x; }), 2, 1e-9);
}

TEST(GoldenSection, EvaluatesAsOftenAsAsked) {
  int evaluations = 0;
  golden_section(0, 1, 17, [&](double x) {
    ++evaluations;
    return std::abs(x - 0.3);
  });
  EXPECT_EQ(evaluations, 17);
}

}  // namespace dpreduce::golden_section_test
