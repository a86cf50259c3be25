#include "progress.hpp"

#include <cstdio>

#include <unistd.h>

namespace dpreduce::fashion_mnist {

Progress::Progress(std::size_t total) : total_(total), shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(std::size_t images) noexcept {
  if (!shown_) return;
  const std::scoped_lock lock(mutex_);
  done_ += images;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double rate = static_cast<double>(done_) / std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\033[K%zu / %zu images, %.0f a second, %.0f s left", done_, total_, rate,
               static_cast<double>(total_ - done_) / rate);
}

}  // namespace dpreduce::fashion_mnist
