// What tests of the command line do again and again, in a folder of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProgramTest : public testing::Test {
 protected:
  /// `line` as split_arguments splits it; what a fixture puts around its lines, it puts here.
  virtual ProgramRun run(const std::string& line, int ranks = 0) const;
  /// Expects that the run ends well and says nothing on standard error.
  ProgramRun succeed(const std::string& line, int ranks = 0) const;
  /// What such a run prints with --format json.
  json figures(const std::string& line, int ranks = 0) const;
  /// Expects that the run is refused as expect_refusal says, and that every file stays as it is.
  void expect_refused(const std::string& line, int code, const std::string& said, int ranks = 0) const;
  /// Expects this code, one message of the program with each of these parts, and nothing on standard output.
  static void expect_refusal(const ProgramRun& run, int code, const std::vector<std::string>& said);
  /// Expects each of these parts in the text.
  static void expect_parts(const std::string& text, const std::vector<std::string>& parts);

  bool has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  std::string bytes(const std::string& name) const { return read_bytes(folder_ / name); }
  json document(const std::string& name) const { return json::parse(bytes(name)); }
  void write_rows(const TrainingRows& rows, const std::string& x = "x.npy", const std::string& y = "y.npy") const {
    write_npy(rows, folder_ / x, folder_ / y);
  }
  /// Names of the run files in the folder: those of runs that live, or that another can go on with.
  std::vector<std::string> run_files() const;

  const TemporaryFolder folder_;
};

}  // namespace dpreduce
