#include "commands/run_progress.hpp"

#include "tests/testing.hpp"

namespace dpreduce::run_progress_test {

const auto now = [] { return std::chrono::steady_clock::now(); };

class ProgressLineTest : public testing::Test {
 protected:
  ~ProgressLineTest() override { std::fclose(out_); }

  // Everything so far; waits until there is as much as `bytes`, for ten seconds at most.
  std::string text(std::size_t bytes) const {
    for (int wait = 0; wait < 1000 && static_cast<std::size_t>(std::ftell(out_)) < bytes; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::string text(static_cast<std::size_t>(std::ftell(out_)), ' ');
    std::rewind(out_);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), out_), text.size());
    std::fseek(out_, 0, SEEK_END);
    return text;
  }

  std::FILE* out_ = std::tmpfile();
};

TEST_F(ProgressLineTest, ALogGetsLinesOfItsOwn) {
  ProgressLine line(ProgressLine::Form::kLog, out_, std::chrono::milliseconds(5));
  line.show("gradient, round 3 of 20", 0.14, now());
  const std::string text = this->text(60);
  line.end();
  EXPECT_THAT(text, HasSubstr("progress   gradient, round 3 of 20: 14 %, "));
  EXPECT_THAT(text, HasSubstr(" left\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(ProgressLineTest, ATerminalsLineIsDrawnOverItselfAndClearedAtTheEnd) {
  ProgressLine line(ProgressLine::Form::kTerminal, out_);
  line.show("gram", 0.5, now());
  text(20);
  line.end();
  const std::string text = this->text(0);
  EXPECT_THAT(text, StartsWith("\r\033[Kgram [###############---------------] 50 %, "));
  EXPECT_THAT(text, HasSubstr(" %/s, 0 s left"));
  EXPECT_THAT(text, testing::EndsWith("\r\033[K"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST_F(ProgressLineTest, ATerminalsLineIsNotBrokenInTwo) {
  ProgressLine line(ProgressLine::Form::kTerminal, out_);
  line.show(std::string(500, 'x'), 0.5, now());
  text(20);
  line.end();
  EXPECT_LE(text(0).find('\r', 1), 4U + 79U) << "a file has no width: 80 columns are taken";
}

TEST_F(ProgressLineTest, ABarIsAsLongAsThereIsRoomAndRoundsHaveTheirRate) {
  ProgressLine line(ProgressLine::Form::kTerminal, out_);
  line.show("gradient, round 3 of 20", 0.125, now() - std::chrono::seconds(25), 20.0);
  const std::string first = text(60);
  line.show(std::string(50, 'x'), 0.5, now() - std::chrono::hours(1));
  while (text(0).find("xx") == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  line.end();
  EXPECT_THAT(first, HasSubstr("gradient, round 3 of 20 [##--------------------] 12 %, 0.1 rounds/s, 3 min left"));
  EXPECT_THAT(text(0), HasSubstr(std::string(50, 'x') + ": 50 %, 0.014 %/s, 1 h 0 min"));
}

TEST_F(ProgressLineTest, NothingIsWrittenBeforeThereIsSomethingToSayNorByAQuietRun) {
  {
    ProgressLine silent(ProgressLine::Form::kLog, out_, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  {
    ProgressLine none(ProgressLine::Form::kNone, out_, std::chrono::milliseconds(1));
    none.show("gram", 0.5, now());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(text(0), "");
}

TEST(RunProgress, APhaseIsDoneByItsRoundsAndTheirRows) {
  RunProgress pace(ProgressLine::Form::kNone, RunProgress::RoundsOfPhases{{"gram", 1}, {"gradient", 4}});
  EXPECT_EQ(pace.doing(), "");
  pace.begin("gram");
  pace.advance(0.5);
  EXPECT_EQ(pace.doing(), "gram");
  EXPECT_EQ(pace.share(), 0.5);
  const auto began = pace.began();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pace.begin("gradient");
  EXPECT_EQ(pace.doing(), "gradient, round 1 of 4");
  EXPECT_EQ(pace.share(), 0.0);
  EXPECT_GT(pace.began(), began) << "time left is that of the phase";
  pace.begin("gradient");
  pace.begin("gradient");
  pace.advance(0.5);
  EXPECT_EQ(pace.doing(), "gradient, round 3 of 4");
  EXPECT_EQ(pace.share(), 2.5 / 4.0);
  pace.advance(7.0);
  EXPECT_EQ(pace.share(), 3.0 / 4.0);
}

TEST(RunProgress, WhatIsNotPlannedIsNamedAndMorePassesThanPlannedEndAtTheEnd) {
  RunProgress pace(ProgressLine::Form::kNone, RunProgress::RoundsOfPhases{{"utilities", 1}});
  pace.begin("rows");
  pace.advance(0.9);
  EXPECT_EQ(pace.doing(), "rows");
  EXPECT_EQ(pace.share(), 0.9);
  pace.begin("utilities");
  pace.advance(1.0);
  pace.begin("utilities");
  EXPECT_EQ(pace.doing(), "utilities, round 2 of 2");
  pace.advance(1.0);
  EXPECT_EQ(pace.share(), 1.0);
}

TEST(PrintDuration, HasOneUnitOrHoursAndMinutes) {
  EXPECT_EQ(print_duration(0.0), "0 s");
  EXPECT_EQ(print_duration(59.4), "59 s");
  EXPECT_EQ(print_duration(59.6), "1 min");
  EXPECT_EQ(print_duration(3599.0), "1 h 0 min");
  EXPECT_EQ(print_duration(7800.0), "2 h 10 min");
}

}  // namespace dpreduce::run_progress_test
