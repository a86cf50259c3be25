#include "audit/method_run.hpp"

#include <numeric>

#include "common/base/error.hpp"

namespace dpreduce {

MethodRun::MethodRun(const AuditedMethod& method, const WorldFiles& files, std::string ledger_path)
    : method_(method),
      without_(open_world(method.options(), files.without)),
      with_(open_world(method.options(), files.with)),
      ledger_path_(std::move(ledger_path)),
      exact_without_(method, without_),
      exact_with_(method, with_) {
  if (files.public_x.empty()) return;
  features_ = WorkerRows::open({files.public_x}, {}, 0, 1);
  candidates_ = WorkerRows::open({files.public_x}, {}, 0, 1);
}

std::vector<double> MethodRun::observe(World world) {
  const PublicRows public_rows{.features = features_ ? &*features_ : nullptr,
                               .candidates = candidates_ ? &*candidates_ : nullptr};
  WorkerRows& rows = world == World::kWithCanary ? with_ : without_;
  const std::vector<PlannedRelease>& releases = method_.plan().noise->releases;
  std::vector<double> ratios(releases.size(), 0.0);
  squared_distance_ = 0.0;
  const ReleaseWatcher score = [&](const WatchedRelease& watched) {
    const PlannedRelease& planned = method_.plan().noise->release(watched.name);
    if (planned.is_sampled()) return;  // which rows were drawn is secret: its law is a mixture
    const Statistic without = exact_without_.at(watched);
    const Statistic with = exact_with_.at(watched);
    const auto place = static_cast<std::size_t>(&planned - releases.data());
    ratios[place] += log_ratio(planned, watched.release, without, with);
    const double distance = dpreduce::planned_distance(planned, without, with);
    squared_distance_ += distance * distance;
  };
  std::vector<double> observed = method_.run(rows, ledger_path_, public_rows, score).numbers(*method_.plan().noise);
  DPREDUCE_ASSERT(observed.size() == all_numbers());
  observed.push_back(std::accumulate(ratios.begin(), ratios.end(), 0.0));
  observed.insert(observed.end(), ratios.begin(), ratios.end());
  return observed;
}

std::vector<View> MethodRun::views() const {
  const std::size_t names = method_.plan().noise->releases.size();
  const std::size_t numbers = all_numbers();
  std::vector<View> views{{0, summary(), ViewKind::kNumbers}};
  if (numbers > summary()) views.push_back({0, numbers, ViewKind::kNumbers});
  if (names > 0) views.push_back({numbers, 1, ViewKind::kScore});
  if (names > 1) views.push_back({numbers + 1, names, ViewKind::kNumbers});
  return views;
}

std::size_t MethodRun::all_numbers() const {
  std::size_t numbers = summary();
  for (const PlannedRelease& planned : method_.plan().noise->releases) {
    if (planned.rounds == 1) continue;
    for (const PlannedBlock& block : planned.blocks) numbers += planned.rounds * block.elements;
  }
  return numbers;
}

std::size_t MethodRun::summary() const {
  std::size_t numbers = method_.options().data.classes * (method_.plan().dim + 1);
  for (const PlannedRelease& planned : method_.plan().noise->releases) {
    for (const PlannedBlock& block : planned.blocks) numbers += block.elements;
  }
  return numbers;
}

WorldFiles write_worlds(const NeighborPair& pair, bool has_public_rows, double clip_norm,
                        const std::filesystem::path& folder) {
  WorldFiles files{.without = pair.without.write(folder, "0"), .with = pair.with.write(folder, "1"), .public_x = {}};
  if (has_public_rows) {
    files.public_x = opposed_public_rows(pair.with.dim, clip_norm).write(folder, "public").x.front();
  }
  return files;
}

}  // namespace dpreduce
