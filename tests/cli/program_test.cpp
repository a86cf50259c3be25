#include "tests/cli/program_test.hpp"

namespace dpreduce {

ProgramRun ProgramTest::run(const std::string& line, int ranks) const {
  return run_program(split_arguments(line), {.folder = folder_.path(), .ranks = ranks});
}

ProgramRun ProgramTest::succeed(const std::string& line, int ranks) const {
  ProgramRun done = run(line, ranks);
  EXPECT_EQ(done.exit_code, 0) << line << ": " << done.err;
  EXPECT_EQ(done.err, "") << line;
  return done;
}

json ProgramTest::figures(const std::string& line, int ranks) const {
  return succeed(line + " --format json", ranks).json();
}

void ProgramTest::expect_refused(const std::string& line, int code, const std::string& said, int ranks) const {
  SCOPED_TRACE(fmt::format("{} on {} ranks", line, ranks));
  const auto before = content_of(folder_.path());
  expect_refusal(run(line, ranks), code, {said});
  EXPECT_TRUE(content_of(folder_.path()) == before) << "a file was changed";
}

void ProgramTest::expect_refusal(const ProgramRun& run, int code, const std::vector<std::string>& said) {
  EXPECT_EQ(run.exit_code, code) << run.err;
  ASSERT_EQ(messages_in(run.err).size(), 1u) << run.err;
  expect_parts(messages_in(run.err).front(), said);
  EXPECT_EQ(run.out, "");
}

void ProgramTest::expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_THAT(text, HasSubstr(part));
}

std::vector<std::string> ProgramTest::run_files() const {
  std::vector<std::string> found = folder_.names();
  std::erase_if(found, [](const std::string& name) { return !name.ends_with(".releases"); });
  return found;
}

}  // namespace dpreduce
