#include "commands/run_progress.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/standard_output.hpp"

namespace dpreduce {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kShortestBar = 8;
constexpr std::size_t kLongestBar = 30;

}  // namespace

RunProgress::Form RunProgress::form_of_standard_error() {
  return isatty(STDERR_FILENO) != 0 ? Form::kTerminal : Form::kLog;
}

RunProgress::RunProgress(Form form, RoundsOfPhases rounds, std::FILE* out, std::chrono::milliseconds log_interval)
    : form_(form), planned_(std::move(rounds)), out_(out) {
  if (form == Form::kNone) return;
  const auto interval = form == Form::kTerminal ? kTerminalInterval : log_interval;
  writer_ = std::jthread([this, interval](const std::stop_token& stop) { write_until_stopped(interval, stop); });
}

void RunProgress::end() {
  if (!writer_.joinable()) return;
  writer_.request_stop();
  writer_.join();
  if (form_ != Form::kTerminal) return;
  fmt::print(out_, "\r\033[K");
  std::fflush(out_);
}

std::string RunProgress::line(Clock::time_point now) const {
  const std::string doing = rounds_ < 2.0 ? phase_ : fmt::format("{}, round {} of {}", phase_, started_, rounds_);
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  std::string told = fmt::format("{:.0f} %", 100.0 * share_);
  if (share_ > 0.0 && elapsed > 0.0) {
    const double rate = share_ / elapsed;
    told +=
        rounds_ < 2.0 ? fmt::format(", {:.2g} %/s", 100.0 * rate) : fmt::format(", {:.2g} rounds/s", rounds_ * rate);
    told += fmt::format(", {} left", print_duration(elapsed * (1.0 - share_) / share_));
  }
  if (form_ == Form::kLog) return fmt::format("{}: {}", doing, told);
  // A line that is broken in two cannot be drawn over.
  const std::size_t columns = columns_of_terminal(fileno(out_)).value_or(kUsualColumns) - 1;
  const std::size_t taken = doing.size() + told.size() + 4;
  if (taken + kShortestBar > columns) return fmt::format("{}: {}", doing, told).substr(0, columns);
  const std::size_t length = std::min(columns - taken, kLongestBar);
  const std::string done(static_cast<std::size_t>(share_ * static_cast<double>(length)), '#');
  return fmt::format("{} [{:-<{}}] {}", doing, done, length, told);
}

void RunProgress::write_until_stopped(std::chrono::milliseconds interval, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wakes_.wait_for(lock, stop, interval, [&stop] { return stop.stop_requested(); })) {
    if (phase_.empty()) continue;
    if (form_ == Form::kTerminal) {
      fmt::print(out_, "\r\033[K{}", line(Clock::now()));
    } else {
      fmt::print(out_, "progress   {}\n", line(Clock::now()));
    }
    std::fflush(out_);
  }
}

void RunProgress::begin(std::string_view pass) {
  const std::scoped_lock lock(mutex_);
  if (phase_ != pass) {
    phase_ = pass;
    const auto planned = planned_.find(pass);
    rounds_ = planned == planned_.end() ? 1.0 : static_cast<double>(planned->second);
    started_ = 0.0;
    began_ = Clock::now();
  }
  started_ += 1.0;
  rounds_ = std::max(rounds_, started_);
  share_ = (started_ - 1.0) / rounds_;
}

void RunProgress::advance(double share) {
  const std::scoped_lock lock(mutex_);
  share_ = (started_ - 1.0 + std::clamp(share, 0.0, 1.0)) / rounds_;
}

std::string print_duration(double seconds) {
  const double rounded = std::round(seconds);
  if (rounded < 60.0) return fmt::format("{:.0f} s", rounded);
  const double minutes = std::round(seconds / 60.0);
  if (minutes < 60.0) return fmt::format("{:.0f} min", minutes);
  const double hours = std::floor(minutes / 60.0);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - 60.0 * hours);
}

ProgressOf RunProgress::of_passes() {
  return [this](std::string_view pass) -> OnChunk {
    begin(pass);
    return [this](double share) { advance(share); };
  };
}

}  // namespace dpreduce
