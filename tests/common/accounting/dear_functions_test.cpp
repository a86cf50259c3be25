#include "common/accounting/dear_functions.hpp"

#include "tests/testing.hpp"

namespace dpreduce::dear_functions_test {

class RememberedTest : public testing::Test {
 protected:
  int square(int question) {
    return answers_.to(question, [&] {
      ++computed_;
      return question * question;
    });
  }
  Remembered<int, int> answers_;
  int computed_ = 0;
};

TEST_F(RememberedTest, AQuestionIsComputedOnceAndAFailureIsNoAnswer) {
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(square(7), 49);
  EXPECT_EQ(computed_, 1);
  EXPECT_THROW(answers_.to(3, []() -> int { throw std::runtime_error("no answer"); }), std::runtime_error);
  EXPECT_EQ(square(3), 9);
}

TEST_F(RememberedTest, OfManyQuestionsTheLastSixteenAreKept) {
  for (int question = 0; question < 17; ++question) EXPECT_EQ(square(question), question * question);
  EXPECT_EQ(computed_, 17);
  EXPECT_EQ(square(16), 256);
  EXPECT_EQ(square(1), 1);
  EXPECT_EQ(computed_, 17);
  EXPECT_EQ(square(0), 0);
  EXPECT_EQ(computed_, 18);
}

TEST(GoldenSection, FindsTheBottomOfAValleyAndTheEndOfAMonotoneFunction) {
  EXPECT_NEAR(golden_section(-3, 10, 60, [](double x) { return (x - 2) * (x - 2); }), 2, 1e-7);
  EXPECT_NEAR(golden_section(0.1, 50, 60, [](double x) { return x + 9 / x; }), 3, 1e-6);
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

}  // namespace dpreduce::dear_functions_test
