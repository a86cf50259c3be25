#include "tests/cli/program_test.hpp"

#include <cstdio>

#include <sys/wait.h>

namespace dpreduce {

ProgramRun ProgramTest::run(const std::string& line, int ranks) const {
  return run_with({.ranks = ranks}, line);
}

ProgramRun ProgramTest::run_with(RunOptions options, const std::string& line) const {
  options.folder = folder_.path();
  return run_program(split_arguments(line), options);
}

ProgramRun ProgramTest::run_in_shell(const std::string& command) const {
  ProgramRun done;
  std::FILE* const shell = ::popen(fmt::format("exec 2>&1 && cd '{}' && {}", folder_.path(), command).c_str(), "r");
  if (shell == nullptr) return done;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), shell)) done.out.append(part.data(), read);
  const int status = ::pclose(shell);
  done.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return done;
}

ProgramRun ProgramTest::run_among(std::size_t silos, const std::string& line, int code, const Strings& said,
                                  Form form) const {
  const ProgramRun run = run_with({.ranks = static_cast<int>(silos) + 1, .form = form, .timeout_seconds = 300.0}, line);
  EXPECT_EQ(run.exit_code, code) << line << ": " << run.err;
  expect_parts(run.err, said);
  return run;
}

ProgramRun ProgramTest::succeed(const std::string& line, int ranks) const {
  ProgramRun done = expect_code(line, 0, ranks);
  EXPECT_EQ(done.err, "") << line;
  return done;
}

json ProgramTest::figures(const std::string& line, int ranks) const {
  return succeed(line + " --format json", ranks).json();
}

ProgramRun ProgramTest::expect_code(const std::string& line, int code, int ranks) const {
  ProgramRun done = run(line, ranks);
  EXPECT_EQ(done.exit_code, code) << line << ": " << done.err;
  return done;
}

json ProgramTest::reported(const std::string& line, int ranks) const {
  expect_code(line, 0, ranks);
  return document("report.json");
}

std::vector<json> ProgramTest::documents(const std::string& name) const {
  std::vector<json> found;
  for (const std::string& line : lines_of(bytes(name))) found.push_back(json::parse(line));
  return found;
}

void ProgramTest::expect_refused(const std::string& line, int code, const std::string& said, int ranks) const {
  SCOPED_TRACE(fmt::format("{} on {} ranks", line, ranks));
  const auto before = content_of(folder_.path());
  expect_refusal(run(line, ranks), code, {said});
  EXPECT_TRUE(content_of(folder_.path()) == before) << "a file was changed";
}

void ProgramTest::expect_refusal(const ProgramRun& run, int code, const Strings& said) {
  EXPECT_EQ(run.exit_code, code) << run.err;
  ASSERT_EQ(messages_in(run.err).size(), 1u) << run.err;
  expect_parts(messages_in(run.err).front(), said);
  EXPECT_EQ(run.out, "");
}

void ProgramTest::expect_parts(const std::string& text, const Strings& parts, const Strings& absent) {
  for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
  for (const std::string& part : absent) EXPECT_THAT(text, Not(HasSubstr(part)));
}

void ProgramTest::write_silos(const TrainingRows& rows, const std::vector<std::size_t>& counts,
                              const std::string& prefix) const {
  std::size_t first = 0;
  for (std::size_t silo = 1; silo <= counts.size(); ++silo) {
    write_rows(rows.part(first, counts[silo - 1]), numbered_npy(prefix + "x", silo), numbered_npy(prefix + "y", silo));
    first += counts[silo - 1];
  }
}

void ProgramTest::write_numbers(const std::string& name, std::size_t rows,
                                const std::function<std::size_t(std::size_t row)>& of_row) const {
  std::vector<std::int64_t> numbers;
  for (std::size_t row = 0; row < rows; ++row) numbers.push_back(static_cast<std::int64_t>(of_row(row)));
  write_labels(folder_ / name, numbers);
}

void ProgramTest::expect_members(const json& object, const json& expected) {
  json wanted = object;
  wanted.merge_patch(expected);
  EXPECT_EQ(json::diff(object, wanted), json::array()) << "of " << object;
}

Strings ProgramTest::run_files() const {
  Strings found = folder_.names();
  std::erase_if(found, [](const std::string& name) { return !name.ends_with(".releases"); });
  return found;
}

}  // namespace dpreduce
