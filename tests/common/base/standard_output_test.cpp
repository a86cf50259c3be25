#include "common/base/standard_output.hpp"

#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/testing.hpp"

namespace dpreduce::standard_output_test {

// The end of a process that prints, once `redirect` has taken its standard output somewhere, and would end with `code`.
int end_of(const std::function<void()>& redirect, const std::function<void()>& print, int code = 0) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    redirect();
    keep_errors_of_standard_output();
    print();
    ::_exit(closed_standard_output(code));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void to_file(const std::string& path) {
  ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
}

void to_pipe_without_reader() {
  int ends[2];
  if (::pipe(ends) != 0) ::_exit(99);
  ::close(ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
}

void print_little() {
  fmt::print("one line\n");
}

// More than any buffer, with what prints and what puts.
void print_much() {
  for (int line = 0; line < 20000; ++line) fmt::print("{} of many lines\n", line);
  std::fputs("and a last\n", stdout);
}

TEST(StandardOutput, ThatIsFullIsAnError) {
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_little), 3);
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_much), 3);
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, [] {}), 0) << "nothing was to be written";
}

TEST(StandardOutput, WhoseReaderHasGoneIsNoBugOfOurs) {
  EXPECT_EQ(end_of(to_pipe_without_reader, print_little), kClosedPipe);
  EXPECT_EQ(end_of(to_pipe_without_reader, print_much), kClosedPipe);
}

TEST(StandardOutput, KeepsTheCodeOfWhatFailedBefore) {
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_little, 4), 4);
}

TEST(StandardOutput, GetsAllThatIsPrinted) {
  const std::string path = testing::TempDir() + fmt::format("/standard_output.{}", ::getpid());
  EXPECT_EQ(end_of([&] { to_file(path); }, print_much), 0);
  std::string text;
  for (int line = 0; line < 20000; ++line) text += fmt::format("{} of many lines\n", line);
  text += "and a last\n";
  std::string read(text.size() + 1, '\0');
  const int file = ::open(path.c_str(), O_RDONLY);
  read.resize(static_cast<std::size_t>(::read(file, read.data(), read.size())));
  ::close(file);
  ::unlink(path.c_str());
  EXPECT_TRUE(read == text);
}

// Else the next file to be opened would get what is printed.
TEST(StandardOutput, ThatTheProcessWasStartedWithoutIsNoOtherFile) {
  const std::string path = testing::TempDir() + fmt::format("/opened_first.{}", ::getpid());
  const auto open_one = [&] {
    const int first = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (first <= STDERR_FILENO) ::_exit(98);
  };
  EXPECT_EQ(end_of([] { ::close(STDOUT_FILENO); }, print_little), 3);
  EXPECT_EQ(end_of([] { ::close(STDOUT_FILENO); }, open_one), 0);
  ::unlink(path.c_str());
}

}  // namespace dpreduce::standard_output_test
