#include "common/accounting/remembered.hpp"

#include "tests/testing.hpp"

namespace dpreduce::remembered_test {

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

TEST_F(RememberedTest, AQuestionIsComputedOnce) {
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(square(7), 49);
  EXPECT_EQ(computed_, 1);
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

TEST_F(RememberedTest, AFailureIsNoAnswer) {
  EXPECT_THROW(answers_.to(3, []() -> int { throw std::runtime_error("no answer"); }), std::runtime_error);
  EXPECT_EQ(square(3), 9);
}

}  // namespace dpreduce::remembered_test
