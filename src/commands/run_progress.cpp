#include "commands/run_progress.hpp"

#include <array>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kRowsOfUsualSilo = 10000;

}  // namespace

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
