#include "common/base/standard_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"

namespace dpreduce {
namespace {

int first_error = 0;  // of a write to standard output

// Never fails: stdio would keep what was not written, and try again at each print.
ssize_t write_through(void*, const char* text, std::size_t length) {
  const bool is_written =
      first_error != 0 || write_all(STDOUT_FILENO, std::as_bytes(std::span(text, length))) == length;
  if (!is_written) first_error = errno;
  return static_cast<ssize_t>(length);
}

void take_missing_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // Standard output is opened for reading alone, so that printing fails as it would without.
    [[maybe_unused]] const int taken = ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

void keep_errors_of_standard_output() {
  take_missing_descriptors();
  cookie_io_functions_t through{};
  through.write = write_through;
  std::FILE* const out = ::fopencookie(nullptr, "w", through);
  if (out == nullptr) return;  // no memory
  std::setvbuf(out, nullptr, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = out;
}

int closed_standard_output(int code) {
  if (std::fflush(stdout) != 0 && first_error == 0) first_error = errno;
  // A network file system may report errors only now.
  if (::close(STDOUT_FILENO) != 0 && first_error == 0 && errno != EINTR) first_error = errno;
  if (code != 0 || first_error == 0) return code;
  if (first_error == EPIPE) return kClosedPipe;
  std::fprintf(stderr, "dpreduce: standard output: cannot be written: %s\n", std::strerror(first_error));
  return static_cast<int>(ExitCode::kBadInput);
}

std::optional<std::size_t> columns_of_terminal(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return std::nullopt;
  return size.ws_col;
}

std::size_t printed_columns() {
  return columns_of_terminal(STDOUT_FILENO).value_or(std::numeric_limits<std::size_t>::max());
}

std::string broken_line(std::string_view line, std::size_t columns, std::size_t indent) {
  std::string broken;
  std::size_t words = indent;  // where they begin, in what is left of the line
  while (line.size() > columns) {
    std::size_t end = line.rfind(' ', columns);
    if (end == std::string_view::npos || end < words) end = line.find(' ', words);
    const std::size_t next = line.find_first_not_of(' ', end);
    if (end == std::string_view::npos || next == std::string_view::npos) break;
    broken.append(line.substr(0, line.find_last_not_of(' ', end) + 1)).append(1, '\n').append(indent, ' ');
    line.remove_prefix(next);
    columns -= std::exchange(words, 0);
  }
  return broken.append(line);
}

std::string broken_lines(std::string_view text, std::size_t columns) {
  std::string broken;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t gap = line.rfind("  ", columns / 2);
    const std::size_t column = gap == std::string_view::npos ? 0 : line.find_first_not_of(' ', gap);
    broken += broken_line(line, columns, column < columns / 2 ? column : 2) + (end < text.size() ? "\n" : "");
    begin = end + 1;
  }
  return broken;
}

}  // namespace dpreduce
