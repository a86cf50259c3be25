#include "dpreduce/audit/method_run.hpp"

#include <algorithm>
#include <filesystem>

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/methods/class_balance.hpp"
#include "dpreduce/methods/row_preparation.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostRowMemory = std::size_t{64} << 20;

std::vector<double> values_of(const Release& release) {
  std::vector<double> values;
  for (const ReleasedBlock& block : release.blocks()) {
    values.insert(values.end(), block.values().begin(), block.values().end());
  }
  return values;
}

}  // namespace

std::vector<double> Published::numbers(const NoisePlan& plan) const {
  std::vector<double> summary;
  std::vector<double> rounds;
  std::size_t next = 0;
  for (const PlannedRelease& planned : plan.releases) {
    const std::size_t first = summary.size();
    for (std::uint64_t round = 0; round < planned.rounds; ++round, ++next) {
      const std::vector<double> values = values_of(releases.at(next));
      summary.resize(first + values.size());
      for (std::size_t e = 0; e < values.size(); ++e) summary[first + e] += values[e];
      if (planned.rounds > 1) rounds.insert(rounds.end(), values.begin(), values.end());
    }
  }
  summary.insert(summary.end(), scores.weights.begin(), scores.weights.end());
  summary.insert(summary.end(), scores.bias.begin(), scores.bias.end());
  summary.insert(summary.end(), rounds.begin(), rounds.end());
  return summary;
}

AuditedMethod::AuditedMethod(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows)
    : options_(resolved(options, input_dim, public_rows)),
      plan_(plan_fit(options_, input_dim, public_rows)),
      method_(make_method(options_)) {
  DPREDUCE_ASSERT(plan_.noise.has_value());
}

StreamPlan AuditedMethod::stream_over(const WorkerRows& rows) const {
  Preprocessing largest = plan_.preprocessing;
  largest.intercept = 0.5;                                   // whatever its share, an intercept is one coordinate
  const std::size_t row_bytes = 2 * bytes_per_row(largest);  // passes over some classes only hold a row twice
  return {.classes = options_.classes,
          .bad_rows = BadRows::kFail,
          .memory_bytes = std::clamp(rows.range().count * row_bytes, row_bytes, kMostRowMemory),
          .threads = 1};
}

Statistic AuditedMethod::statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                                   const GradientPoint* point) const {
  const RowTransform transform(preprocessing);
  const StreamPlan stream = stream_over(rows);
  const OnChunk silent = [](double) {};
  return registered_statistic(release).compute(plan_.request(release), {rows, transform, stream, silent, point});
}

Published AuditedMethod::run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows) const {
  Communicator alone = Communicator::join();
  Releaser releaser(alone, *plan_.noise, NoiseKey::from_entropy(), {.ledger_path = ledger_path},
                    {.method = std::string(method_->name()),
                     .accountant = Accountant::kGdp,
                     .epsilon = {},
                     .delta = {},
                     .config_digest = plan_.config_digest,
                     .version = version()});
  Timings timings;
  TrainingRun run(
      alone, rows, releaser, plan_, stream_over(rows), [](std::string_view) -> OnChunk { return [](double) {}; },
      timings, public_rows);
  Published published;
  run.watch([&](const Release& release) { published.releases.push_back(release); });
  prepare_rows(run, options_);
  published.scores = trained_scores(*method_, run, options_);
  published.preprocessing = run.preprocessing();
  std::filesystem::remove(ledger_path);
  return published;
}

MethodRun::MethodRun(const AuditedMethod& method, const Files& without, const Files& with, std::string ledger_path,
                     const std::string& public_x)
    : method_(method),
      without_(WorkerRows::open({without.x}, {without.y}, 0, 1)),
      with_(WorkerRows::open({with.x}, {with.y}, 0, 1)),
      ledger_path_(std::move(ledger_path)) {
  if (public_x.empty()) return;
  features_ = WorkerRows::open({public_x}, {}, 0, 1);
  candidates_ = WorkerRows::open({public_x}, {}, 0, 1);
}

std::vector<double> MethodRun::observe(World world) {
  const PublicRows public_rows{.features = features_ ? &*features_ : nullptr,
                               .candidates = candidates_ ? &*candidates_ : nullptr};
  WorkerRows& rows = world == World::kWithCanary ? with_ : without_;
  return method_.run(rows, ledger_path_, public_rows).numbers(*method_.plan().noise);
}

std::size_t MethodRun::summary() const {
  std::size_t numbers = method_.options().classes * (method_.plan().dim + 1);
  for (const PlannedRelease& planned : method_.plan().noise->releases) {
    for (const PlannedBlock& block : planned.blocks) numbers += block.elements;
  }
  return numbers;
}

}  // namespace dpreduce
