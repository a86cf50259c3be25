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
    expect_parts(run.err, said);
    return run;
  }

  /// Deals rows out in order: as many to each silo, from 1, as x{silo}.npy and y{silo}.npy behind `prefix`.
  void write_silos(const TrainingRows& rows, const std::vector<std::size_t>& counts,
                   const std::string& prefix = "") const {
    std::size_t first = 0;
    std::size_t silo = 0;
    for (const std::size_t count : counts) {
      ++silo;
      write_rows(rows.part(first, count), fmt::format("{}x{}.npy", prefix, silo),
                 fmt::format("{}y{}.npy", prefix, silo));
      first += count;
    }
  }

  std::string model() const { return bytes("model.safetensors"); }
};

}  // namespace dpreduce
