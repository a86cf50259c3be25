#include "commands/run_progress.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dpreduce {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  line.show("gradient, round 3 of 20", 0.14);
  const std::string text = this->text(60);
  line.end();
  EXPECT_THAT(text, HasSubstr("progress   gradient, round 3 of 20: 14 %, "));
  EXPECT_THAT(text, HasSubstr(" left\n"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(ProgressLineTest, ATerminalsLineIsDrawnOverItselfAndClearedAtTheEnd) {
  ProgressLine line(ProgressLine::Form::kTerminal, out_);
  line.show("gram", 0.5);
  text(20);
  line.end();
  const std::string text = this->text(0);
  EXPECT_THAT(text, testing::StartsWith("\r\033[Kgram: 50 %, "));
  EXPECT_THAT(text, testing::EndsWith("\r\033[K"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST_F(ProgressLineTest, ATerminalsLineIsNotBrokenInTwo) {
  ProgressLine line(ProgressLine::Form::kTerminal, out_);
  line.show(std::string(500, 'x'), 0.5);
  text(20);
  line.end();
  EXPECT_LE(text(0).find('\r', 1), 4U + 79U) << "a file has no width: 80 columns are taken";
}

TEST_F(ProgressLineTest, NothingIsWrittenBeforeThereIsSomethingToSayNorByAQuietRun) {
  {
    ProgressLine silent(ProgressLine::Form::kLog, out_, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  {
    ProgressLine none(ProgressLine::Form::kNone, out_, std::chrono::milliseconds(1));
    none.show("gram", 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(text(0), "");
}

TEST(RunProgress, NoMoreRunsBeginThanThereAre) {
  RunProgress progress(ProgressLine::Form::kNone, {{.label = "", .phases = {}}});
  progress.begin_run();
  EXPECT_THROW(progress.begin_run(), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
