#include "commands/progress.hpp"

#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

namespace dpreduce {

using Seconds = std::chrono::duration<double>;

Progress::Progress(std::string what, double bytes, bool shows)
    : what_(std::move(what)),
      bytes_(bytes),
      shows_(shows && isatty(STDERR_FILENO) != 0),
      started_(std::chrono::steady_clock::now()),
      drawn_(started_) {}

Progress::~Progress() {
  if (shows_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double share) {
  if (!shows_ || share <= 0.0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double elapsed = Seconds(now - started_).count();
  fmt::print(stderr, "\r\033[K{}: {:.0f} %, {:.0f} MB/s, {:.0f} s left", what_, 100.0 * share,
             share * bytes_ / elapsed / 1e6, elapsed * (1.0 - share) / share);
  std::fflush(stderr);
}

}  // namespace dpreduce
