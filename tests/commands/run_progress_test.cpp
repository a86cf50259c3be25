#include "commands/run_progress.hpp"

#include "tests/testing.hpp"

namespace dpreduce::run_progress_test {

using Form = RunProgress::Form;
using Clock = RunProgress::Clock;

class RunProgressTest : public testing::Test {
 protected:
  ~RunProgressTest() override { std::fclose(out_); }

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

TEST_F(RunProgressTest, ALogGetsLinesOfItsOwn) {
  RunProgress progress(Form::kLog, {{"gradient", 20}}, out_, std::chrono::milliseconds(5));
  for (int round = 0; round < 3; ++round) progress.begin("gradient");
  progress.advance(0.5);
  const std::string text = this->text(150);
  progress.end();
  EXPECT_THAT(text, HasSubstr("progress   gradient, round 3 of 20: 12 %, "));
  EXPECT_THAT(text, HasSubstr(" left\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(RunProgressTest, ATerminalsLineIsDrawnOverItselfAndClearedAtTheEnd) {
  RunProgress progress(Form::kTerminal, {}, out_);
  progress.begin("gram");
  progress.advance(0.5);
  text(20);
  progress.end();
  const std::string text = this->text(0);
  EXPECT_THAT(text, StartsWith("\r\033[Kgram [###############---------------] 50 %, "));
  EXPECT_THAT(text, HasSubstr(" %/s, 0 s left"));
  EXPECT_THAT(text, testing::EndsWith("\r\033[K"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST_F(RunProgressTest, ATerminalsLineIsNotBrokenInTwo) {
  RunProgress progress(Form::kTerminal, {}, out_);
  progress.begin(std::string(500, 'x'));
  progress.advance(0.5);
  text(20);
  progress.end();
  EXPECT_LE(text(0).find('\r', 1), 4U + 79U) << "a file has no width: 80 columns are taken";
}

TEST_F(RunProgressTest, ABarIsAsLongAsThereIsRoomAndRoundsHaveTheirRate) {
  RunProgress progress(Form::kTerminal, {{"gradient", 20}}, out_);
  for (int round = 0; round < 3; ++round) progress.begin("gradient");
  progress.advance(0.5);
  EXPECT_EQ(progress.line(Clock::now() + std::chrono::seconds(25)),
            "gradient, round 3 of 20 [##--------------------] 12 %, 0.1 rounds/s, 3 min left");
  progress.begin(std::string(50, 'x'));
  progress.advance(0.5);
  EXPECT_THAT(progress.line(Clock::now() + std::chrono::hours(1)),
              StartsWith(std::string(50, 'x') + ": 50 %, 0.014 %/s, 1 h 0 min"));
}

TEST_F(RunProgressTest, NothingIsWrittenBeforeThereIsSomethingToSayNorByAQuietRun) {
  {
    RunProgress silent(Form::kLog, {}, out_, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  {
    RunProgress none(Form::kNone, {}, out_, std::chrono::milliseconds(1));
    none.begin("gram");
    none.advance(0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(text(0), "");
}

// A phase's line after its first 100 s.
std::string line_of(const RunProgress& progress) {
  return progress.line(Clock::now() + std::chrono::seconds(100));
}

TEST(RunProgress, APhaseIsDoneByItsRoundsAndTheirRows) {
  RunProgress progress(Form::kLog, {{"gram", 1}, {"gradient", 4}}, stderr, std::chrono::hours(1));
  progress.begin("gram");
  progress.advance(0.5);
  EXPECT_EQ(line_of(progress), "gram: 50 %, 0.5 %/s, 2 min left");
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto end_of_gram = Clock::now();
  progress.begin("gradient");
  EXPECT_EQ(line_of(progress), "gradient, round 1 of 4: 0 %");
  progress.begin("gradient");
  progress.begin("gradient");
  progress.advance(0.5);
  EXPECT_EQ(line_of(progress), "gradient, round 3 of 4: 62 %, 0.025 rounds/s, 1 min left");
  EXPECT_EQ(progress.line(end_of_gram), "gradient, round 3 of 4: 62 %") << "time left is that of the phase";
  progress.advance(7.0);
  EXPECT_THAT(line_of(progress), StartsWith("gradient, round 3 of 4: 75 %, "));
}

TEST(RunProgress, WhatIsNotPlannedIsNamedAndMorePassesThanPlannedEndAtTheEnd) {
  RunProgress progress(Form::kLog, {{"utilities", 1}}, stderr, std::chrono::hours(1));
  progress.begin("rows");
  progress.advance(0.9);
  EXPECT_THAT(line_of(progress), StartsWith("rows: 90 %, "));
  progress.begin("utilities");
  progress.advance(1.0);
  progress.begin("utilities");
  EXPECT_THAT(line_of(progress), StartsWith("utilities, round 2 of 2: 50 %, "));
  progress.advance(1.0);
  EXPECT_THAT(line_of(progress), StartsWith("utilities, round 2 of 2: 100 %, "));
}

TEST(PrintDuration, HasOneUnitOrHoursAndMinutes) {
  EXPECT_EQ(print_duration(0.0), "0 s");
  EXPECT_EQ(print_duration(59.4), "59 s");
  EXPECT_EQ(print_duration(59.6), "1 min");
  EXPECT_EQ(print_duration(3599.0), "1 h 0 min");
  EXPECT_EQ(print_duration(7800.0), "2 h 10 min");
}

}  // namespace dpreduce::run_progress_test
