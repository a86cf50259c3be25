#include "audit/audited_method.hpp"

#include <algorithm>
#include <filesystem>

#include "common/base/error.hpp"

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

std::vector<double> zeros_of(const PlannedRelease& planned) {
  std::size_t elements = 0;
  for (const PlannedBlock& block : planned.blocks) elements += block.elements;
  return std::vector<double>(elements, 0.0);
}

}  // namespace

std::vector<double> Published::numbers(const NoisePlan& plan) const {
  std::vector<double> summary;
  std::vector<double> rounds;
  for (const PlannedRelease& planned : plan.releases) {
    const auto made = releases.find(planned.name);
    const std::size_t first = summary.size();
    for (std::uint64_t round = 0; round < planned.rounds; ++round) {
      const std::vector<double> values = made == releases.end() ? zeros_of(planned) : values_of(made->second.at(round));
      summary.resize(first + values.size());
      for (std::size_t e = 0; e < values.size(); ++e) summary[first + e] += values[e];
      if (planned.rounds > 1) rounds.insert(rounds.end(), values.begin(), values.end());
    }
  }
  const ClassifierParts& model = classifier.parts();
  summary.insert(summary.end(), model.weights.begin(), model.weights.end());
  summary.insert(summary.end(), model.bias.begin(), model.bias.end());
  summary.insert(summary.end(), rounds.begin(), rounds.end());
  return summary;
}

AuditedMethod::AuditedMethod(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows)
    : fit_(std::make_shared<const ResolvedFit>(options, input_dim, public_rows)) {
  DPREDUCE_ASSERT(plan().noise.has_value());
}

// A statistic by itself keeps no rows.
std::size_t AuditedMethod::memory_for(const WorkerRows& rows) const {
  Preprocessing largest = plan().preprocessing;
  largest.intercept = 0.5;                                   // whatever its share, an intercept is one coordinate
  const std::size_t row_bytes = 2 * bytes_per_row(largest);  // passes over some classes only hold a row twice
  return std::clamp(rows.range().count * row_bytes, row_bytes, kMostRowMemory);
}

StreamPlan AuditedMethod::stream_over(const WorkerRows& rows) const {
  return fit_->stream_over(rows, 1, memory_for(rows));
}

Statistic AuditedMethod::statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                                   const PublicPoint& point, std::span<const LatticeRows> kept) const {
  const RowTransform transform(preprocessing);
  const StreamPlan stream = stream_over(rows);
  const OnChunk silent = [](double) {};
  return registered_statistic(release).compute(plan().request(release),
                                               {rows, transform, stream, silent, point, {}, kept});
}

std::optional<KeptChunks> AuditedMethod::kept_rows(WorkerRows& rows, const Preprocessing& preprocessing) const {
  return keep_lattice_chunks(rows, RowTransform(preprocessing), stream_over(rows), KeptFor::kRounds, [](double) {});
}

Releaser AuditedMethod::releaser(Communicator& ranks, NoisePlan plan, const std::string& ledger_path) const {
  return Releaser(ranks, std::move(plan), RunFile(), {.ledger_path = ledger_path}, fit_->terms());
}

Published AuditedMethod::run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows,
                             const ReleaseWatcher& watcher) const {
  Communicator alone = Communicator::alone();
  std::map<std::string, std::vector<Release>, std::less<>> releases;
  Preprocessing preprocessing;
  const ReleaseWatcher keep = [&](const WatchedRelease& watched) {
    releases[std::string(watched.name)].push_back(watched.release);
    preprocessing = watched.preprocessing;
    if (watcher) watcher(watched);
  };
  FittedRun fitted = train(fit_, rows, public_rows, alone, FitAccount{.charging = {.ledger_path = ledger_path}},
                           {.memory_bytes = kMostRowMemory, .watcher = keep});
  fitted.finish();
  std::filesystem::remove(ledger_path);
  return {std::move(releases), std::move(fitted.classifier), std::move(preprocessing)};
}

}  // namespace dpreduce
