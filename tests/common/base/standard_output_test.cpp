#include "common/base/standard_output.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/temporary_folder.hpp"
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

TEST(StandardOutput, ThatIsFullIsAnErrorUnlessSomethingFailedBeforeAndThatNobodyReadsIsNone) {
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_little), 3);
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_much), 3);
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, [] {}), 0) << "nothing was to be written";
  EXPECT_EQ(end_of([] { to_file("/dev/full"); }, print_little, 4), 4);
  EXPECT_EQ(end_of(to_pipe_without_reader, print_little), kClosedPipe);
  EXPECT_EQ(end_of(to_pipe_without_reader, print_much), kClosedPipe);
}

TEST(StandardOutput, GetsAllThatIsPrinted) {
  const TemporaryFolder folder;
  EXPECT_EQ(end_of([&] { to_file(folder / "out"); }, print_much), 0);
  std::string text;
  for (int line = 0; line < 20000; ++line) text += fmt::format("{} of many lines\n", line);
  text += "and a last\n";
  EXPECT_TRUE(read_bytes(folder / "out") == text);
}

// Else the next file to be opened would get what is printed.
TEST(StandardOutput, ThatTheProcessWasStartedWithoutIsNoOtherFile) {
  const TemporaryFolder folder;
  const auto open_one = [&] {
    const int first = ::open((folder / "first").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (first <= STDERR_FILENO) ::_exit(98);
  };
  EXPECT_EQ(end_of([] { ::close(STDOUT_FILENO); }, print_little), 3);
  EXPECT_EQ(end_of([] { ::close(STDOUT_FILENO); }, open_one), 0);
}

TEST(BrokenLine, EndsAtSpacesAndGoesOnAfterItsIndentOrInItsColumn) {
  EXPECT_EQ(broken_line("delta      at most one in ten n", 24, 11), "delta      at most one\n           in ten n");
  EXPECT_EQ(broken_line("short", 5, 0), "short");
  EXPECT_EQ(broken_line("a verylongword b", 6, 2), "a verylongword\n  b");
  EXPECT_EQ(broken_line("verylongword", 6, 2), "verylongword");
  EXPECT_EQ(broken_line("      words", 6, 6), "      words") << "no line of spaces alone";
  EXPECT_EQ(broken_lines("  --x FILE  rows of features\n\n  --y  labels\n", 26),
            "  --x FILE  rows of\n            features\n\n  --y  labels\n");
  EXPECT_EQ(broken_lines("  --a-long-option FILE  rows of features\n", 24),
            "  --a-long-option FILE\n  rows of features\n");
  EXPECT_EQ(broken_lines("any words of a sentence", 12), "any words of\na sentence");
}

TEST(PrintedColumns, OfAPipeHaveNoBound) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(columns_of_terminal(ends[1]), std::nullopt);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  winsize size{};
  size.ws_col = 57;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(columns_of_terminal(terminal), 57U);
  for (const int one : {ends[0], ends[1], terminal}) ::close(one);
}

}  // namespace dpreduce::standard_output_test
