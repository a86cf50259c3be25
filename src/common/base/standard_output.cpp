#include "common/base/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

int first_error = 0;  // of a write to standard output

// Never fails: stdio would keep what was not written, and try again at each print.
ssize_t write_through(void*, const char* text, std::size_t length) {
  for (std::size_t done = 0; done < length && first_error == 0;) {
    const ssize_t written = ::write(STDOUT_FILENO, text + done, length - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      first_error = errno;
    }
  }
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

}  // namespace dpreduce
