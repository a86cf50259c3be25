#include "commands/progress_line.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "forecast/run_pace.hpp"

namespace dpreduce {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::size_t kUsualColumns = 80;

// What fits into one line of the terminal: a line that is broken in two cannot be drawn over.
std::string cut_to_terminal(std::string line, std::FILE* out) {
  winsize size{};
  const bool is_known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  line.resize(std::min<std::size_t>(line.size(), (is_known ? size.ws_col : kUsualColumns) - 1));
  return line;
}

}  // namespace

ProgressLine::Form ProgressLine::form_of_standard_error() {
  return isatty(STDERR_FILENO) != 0 ? Form::kTerminal : Form::kLog;
}

ProgressLine::ProgressLine(Form form, std::FILE* out, std::chrono::milliseconds log_interval) : form_(form), out_(out) {
  if (form == Form::kNone) return;
  const auto interval = form == Form::kTerminal ? kTerminalInterval : log_interval;
  writer_ = std::jthread([this, interval](const std::stop_token& stop) { write_until_stopped(interval, stop); });
}

void ProgressLine::end() {
  if (!writer_.joinable()) return;
  writer_.request_stop();
  writer_.join();
  if (form_ != Form::kTerminal) return;
  fmt::print(out_, "\r\033[K");
  std::fflush(out_);
}

void ProgressLine::show(std::string doing, double share) {
  if (form_ == Form::kNone) return;
  const std::scoped_lock lock(mutex_);
  doing_ = std::move(doing);
  share_ = share;
}

std::string ProgressLine::line() const {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  const std::string left = share_ > 0.0 ? fmt::format(", {} left", print_duration(seconds_left(share_, elapsed))) : "";
  return fmt::format("{}: {:.0f} %{}", doing_, 100.0 * share_, left);
}

void ProgressLine::write_until_stopped(std::chrono::milliseconds interval, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wakes_.wait_for(lock, stop, interval, [&stop] { return stop.stop_requested(); })) {
    if (doing_.empty()) continue;
    if (form_ == Form::kTerminal) {
      fmt::print(out_, "\r\033[K{}", cut_to_terminal(line(), out_));
    } else {
      fmt::print(out_, "progress   {}\n", line());
    }
    std::fflush(out_);
  }
}

}  // namespace dpreduce
