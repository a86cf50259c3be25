// What tests of the command line do again and again, in a folder of their own.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {

namespace fs = std::filesystem;
using nlohmann::json;

class ProgramTest : public testing::Test {
 protected:
  /// `line` as split_arguments splits it; what a fixture puts around its lines, it puts here.
  virtual ProgramRun run(const std::string& line, int ranks = 0) const;
  /// The line itself, in the folder, as `options` say.
  ProgramRun run_with(RunOptions options, const std::string& line) const;
  /// What a shell prints that runs the command in the folder, with what it says on standard error.
  ProgramRun run_in_shell(const std::string& command) const;
  /// Runs `line` for a coordinator and so many silos; expects this code, and each of these parts on standard error.
  ProgramRun run_among(std::size_t silos, const std::string& line, int code, const Strings& said = {},
                       Form form = Form::kFork) const;
  /// Expects that the run ends well and says nothing on standard error.
  ProgramRun succeed(const std::string& line, int ranks = 0) const;
  /// What such a run prints with --format json.
  json figures(const std::string& line, int ranks = 0) const;
  /// Expects this code.
  ProgramRun expect_code(const std::string& line, int code, int ranks = 0) const;
  /// The report.json of a run that ends well, whatever it says on standard error.
  json reported(const std::string& line, int ranks = 0) const;
  /// Expects that the run is refused as expect_refusal says, and that every file stays as it is.
  void expect_refused(const std::string& line, int code, const std::string& said, int ranks = 0) const;
  /// Expects this code, one message of the program with each of these parts, and nothing on standard output.
  static void expect_refusal(const ProgramRun& run, int code, const Strings& said);
  /// Expects each of these parts in the text, and none of those that are absent.
  static void expect_parts(const std::string& text, const Strings& parts, const Strings& absent = {});
  /// Expects that the object has these members, of which none is null, and these in members that are objects.
  static void expect_members(const json& object, const json& expected);

  bool has(const std::string& name) const { return fs::exists(folder_ / name); }
  std::string bytes(const std::string& name) const { return read_bytes(folder_ / name); }
  std::string model() const { return bytes("model.safetensors"); }
  json document(const std::string& name) const { return json::parse(bytes(name)); }
  /// A document a line.
  std::vector<json> documents(const std::string& name) const;
  void write_rows(const TrainingRows& rows, const std::string& x = "x.npy", const std::string& y = "y.npy") const {
    write_npy(rows, folder_ / x, folder_ / y);
  }
  /// Deals rows out in order: as many to each silo, from 1, as x{silo}.npy and y{silo}.npy behind `prefix`.
  void write_silos(const TrainingRows& rows, const std::vector<std::size_t>& counts,
                   const std::string& prefix = "") const;
  /// A file of a whole number for each of so many rows.
  void write_numbers(const std::string& name, std::size_t rows,
                     const std::function<std::size_t(std::size_t row)>& of_row) const;
  /// Names of the run files in the folder: those of runs that live, or that another can go on with.
  Strings run_files() const;

  const TemporaryFolder folder_;
};

}  // namespace dpreduce
