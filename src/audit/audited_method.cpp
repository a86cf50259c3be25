#include "audit/audited_method.hpp"

#include <algorithm>
#include <filesystem>

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "fit/plan_fit.hpp"
#include "fit/row_preparation.hpp"
#include "methods/class_balance.hpp"

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
  return {.classes = options_.data.classes,
          .bad_rows = BadRows::kFail,
          .memory_bytes = std::clamp(rows.range().count * row_bytes, row_bytes, kMostRowMemory),
          .threads = 1};
}

Statistic AuditedMethod::statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                                   const PublicPoint& point, std::span<const LatticeRows> kept) const {
  const RowTransform transform(preprocessing);
  const StreamPlan stream = stream_over(rows);
  const OnChunk silent = [](double) {};
  return registered_statistic(release).compute(plan_.request(release),
                                               {rows, transform, stream, silent, point, {}, kept});
}

std::optional<KeptChunks> AuditedMethod::kept_rows(WorkerRows& rows, const Preprocessing& preprocessing) const {
  return keep_lattice_chunks(rows, RowTransform(preprocessing), stream_over(rows), [](double) {});
}

Releaser AuditedMethod::releaser(Communicator& ranks, NoisePlan plan, const std::string& ledger_path) const {
  return Releaser(ranks, std::move(plan), NoiseKey::from_entropy(), {.ledger_path = ledger_path},
                  {.method = std::string(method_->name()),
                   .accountant = Accountant::kGdp,
                   .epsilon = {},
                   .delta = {},
                   .config_digest = plan_.config_digest,
                   .version = version()});
}

Published AuditedMethod::run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows,
                             const ReleaseWatcher& watcher) const {
  Communicator alone = Communicator::join();
  Releaser releaser = this->releaser(alone, *plan_.noise, ledger_path);
  Timings timings;
  TrainingRun run(
      alone, rows, releaser, plan_, stream_over(rows), [](std::string_view) -> OnChunk { return [](double) {}; },
      timings, public_rows);
  Published published;
  run.watch([&](const WatchedRelease& watched) {
    published.releases.push_back(watched.release);
    if (watcher) watcher(watched);
  });
  prepare_rows(run, options_);
  published.scores = trained_scores(*method_, run, options_);
  published.preprocessing = run.preprocessing();
  releaser.finish();
  std::filesystem::remove(ledger_path);
  return published;
}

}  // namespace dpreduce
