#include "commands/run_progress.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRowsOfUsualSilo = 10000;
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

JobShape shape_of_job(std::uint64_t rows_here, unsigned threads, Communicator& ranks) {
  std::array<std::uint64_t, 1> all_rows{rows_here};
  if (ranks.silos() == nullptr) {
    ranks.sum_to_coordinator(all_rows);
  } else {
    all_rows[0] = kRowsOfUsualSilo * static_cast<std::uint64_t>(ranks.size() - 1);
  }
  return {all_rows[0], rows_here, ranks.size(), threads};
}

RunProgress::RunProgress(ProgressLine::Form form, const std::vector<ShownRun>& runs) : line_(form) {
  double whole = 0.0;
  for (const ShownRun& run : runs) {
    runs_.push_back({.label = run.label, .pace = RunPace(run.phases)});
    whole += runs_.back().pace.work();
  }
  double before = 0.0;
  for (Run& run : runs_) {
    run.begins = before;
    run.share = whole > 0.0 ? run.pace.work() / whole : 0.0;
    before += run.share;
  }
}

void RunProgress::begin_run() {
  DPREDUCE_ASSERT(begun_ < runs_.size());
  ++begun_;
}

void RunProgress::begin(std::string_view pass) {
  DPREDUCE_ASSERT(begun_ > 0);
  runs_[begun_ - 1].pace.begin(pass);
  show();
}

ProgressOf RunProgress::of_passes() {
  return [this](std::string_view pass) -> OnChunk {
    begin(pass);
    return [this](double share) {
      runs_[begun_ - 1].pace.advance(share);
      show();
    };
  };
}

void RunProgress::show() {
  const Run& run = runs_[begun_ - 1];
  const std::string doing = run.label.empty() ? run.pace.doing() : run.label + ": " + run.pace.doing();
  line_.show(doing, run.begins + run.share * run.pace.share());
}

PhaseWork test_work(std::uint64_t rows, std::size_t classes, std::size_t dim) {
  const auto count = static_cast<double>(rows);
  return {.name = "test",
          .rows_prepared = count,
          .round_macs = count * static_cast<double>(classes) * static_cast<double>(dim)};
}

}  // namespace dpreduce
