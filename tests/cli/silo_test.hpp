// What tests of runs among silos do again and again.
#pragma once

#include "tests/cli/program_test.hpp"

namespace dpreduce {

class AmongSilosTest : public ProgramTest {
 protected:
  /// Runs `line` for a coordinator and so many silos; expects this code, and each of these parts on standard error.
  ProgramRun run_among(std::size_t silos, const std::string& line, int code, const std::vector<std::string>& said = {},
                       Form form = Form::kFork) const {
    const ProgramRun run = run_program(
        split_arguments(line),
        {.folder = folder_.path(), .ranks = static_cast<int>(silos) + 1, .form = form, .timeout_seconds = 300.0});
    EXPECT_EQ(run.exit_code, code) << line << ": " << run.err;
    for (const std::string& part : said) EXPECT_THAT(run.err, HasSubstr(part));
    return run;
  }

  std::string model() const { return bytes("model.safetensors"); }
};

}  // namespace dpreduce
