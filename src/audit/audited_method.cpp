#include "audit/audited_method.hpp"

#include <algorithm>
#include <numeric>

#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostRowMemory = std::size_t{64} << 20;

// Numbers of one round.
std::size_t elements_of(const PlannedRelease& planned) {
  std::size_t elements = 0;
  for (const PlannedBlock& block : planned.blocks) elements += block.elements;
  return elements;
}

}  // namespace

std::vector<double> values_of(const Release& release) {
  std::vector<double> values;
  for (const ReleasedBlock& block : release.blocks()) {
    values.insert(values.end(), block.values().begin(), block.values().end());
  }
  return values;
}

std::vector<double> Published::numbers(const NoisePlan& plan) const {
  std::vector<double> summary;
  std::vector<double> rounds;
  for (const PlannedRelease& planned : plan.releases) {
    const auto made = releases.find(planned.name);
    const std::size_t first = summary.size();
    for (std::uint64_t round = 0; round < planned.rounds; ++round) {
      const std::vector<double> values =
          made == releases.end() ? std::vector<double>(elements_of(planned)) : values_of(made->second.at(round));
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
StreamPlan AuditedMethod::stream_over(const WorkerRows& rows) const {
  Preprocessing largest = plan().preprocessing;
  largest.intercept = 0.5;                                   // whatever its share, an intercept is one coordinate
  const std::size_t row_bytes = 2 * bytes_per_row(largest);  // passes over some classes only hold a row twice
  return fit_->stream_over(rows, 1, std::clamp(rows.range().count * row_bytes, row_bytes, kMostRowMemory));
}

Statistic AuditedMethod::statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                                   const PublicPoint& point, std::span<const LatticeRows> kept) const {
  const RowTransform transform(preprocessing);
  const StreamPlan stream = stream_over(rows);
  const OnChunk silent = [](double) {};
  return registered_statistic(release).compute(plan().request(release),
                                               {{rows, transform, stream, silent}, point, {}, kept});
}

std::optional<KeptChunks> AuditedMethod::kept_rows(WorkerRows& rows, const Preprocessing& preprocessing) const {
  return keep_lattice_chunks({rows, RowTransform(preprocessing), stream_over(rows), [](double) {}}, KeptFor::kRounds);
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

namespace {

// Exact: integers wrap around as the reduction's do.
double difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
}

// 2^-fraction_bits of a statistic's block: what is released of it, and its noise, are in units of 1.
double unit_of(const PlannedBlock& block) {
  return std::ldexp(1.0, -static_cast<int>(block.fraction_bits));
}

// 1 / v_e of a block's elements.
std::vector<double> precisions(const PlannedBlock& block) {
  const double on_diagonal = 1.0 / (block.sigma * block.sigma);
  if (block.noise == BlockNoise::kEqual) return std::vector<double>(block.elements, on_diagonal);
  std::vector<double> result(block.elements, 2.0 * on_diagonal);
  const std::uint64_t triangle = block.elements / block.triangles;
  const std::uint64_t order = triangle_order(triangle).value();
  for (std::uint64_t first = 0; first < block.elements; first += triangle) {
    for (std::uint64_t i = 0; i < order; ++i) result[first + triangle_row(i, order)] = on_diagonal;
  }
  return result;
}

}  // namespace

double log_ratio(const PlannedRelease& planned, const Release& release, const Statistic& world_0,
                 const Statistic& world_1) {
  double ratio = 0.0;
  for (const PlannedBlock& block : planned.blocks) {
    const std::vector<double> precision = precisions(block);
    const auto released = release.block(block.name).values();
    const auto exact_0 = world_0.block(world_0.index_of(block.name));
    const auto exact_1 = world_1.block(world_1.index_of(block.name));
    DPREDUCE_ASSERT(released.size() == precision.size() && exact_0.size() == precision.size() &&
                    exact_1.size() == precision.size());
    const double unit = unit_of(block);
    for (std::size_t e = 0; e < precision.size(); ++e) {
      const double shift = unit * difference(exact_1[e], exact_0[e]);
      if (shift == 0.0) continue;
      const double noise = block.fraction_bits == 0
                               ? difference(released[e], exact_0[e])
                               : static_cast<double>(released[e]) - unit * static_cast<double>(exact_0[e]);
      ratio += shift * (noise - shift / 2) * precision[e];
    }
  }
  return ratio;
}

double planned_distance(const PlannedRelease& planned, const Statistic& world_0, const Statistic& world_1) {
  double squared = 0.0;
  for (const PlannedBlock& block : planned.blocks) {
    const std::vector<double> precision = precisions(block);
    const auto exact_0 = world_0.block(world_0.index_of(block.name));
    const auto exact_1 = world_1.block(world_1.index_of(block.name));
    const double unit = unit_of(block);
    for (std::size_t e = 0; e < precision.size(); ++e) {
      const double shift = unit * difference(exact_1[e], exact_0[e]);
      squared += shift * shift * precision[e];
    }
  }
  return std::sqrt(squared);
}

Statistic ExactStatistics::at(const WatchedRelease& release) {
  if (!std::holds_alternative<GradientPoint>(release.point)) {
    return method_.statistic(release.name, rows_, release.preprocessing, release.point);
  }
  if (prepared_ != release.preprocessing) {
    kept_ = method_.kept_rows(rows_, release.preprocessing);
    prepared_ = release.preprocessing;
  }
  return method_.statistic(release.name, rows_, release.preprocessing, release.point,
                           kept_ ? std::span<const LatticeRows>(*kept_) : std::span<const LatticeRows>());
}

bool counts_rows(const FitPlan& plan) {
  return std::ranges::any_of(plan.requests, [](const ReleaseRequest& request) {
    return std::ranges::any_of(request.blocks, [](const BlockRequest& block) { return block.fraction_bits > 0; });
  });
}

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
    if (planned.rounds > 1) numbers += planned.rounds * elements_of(planned);
  }
  return numbers;
}

std::size_t MethodRun::summary() const {
  std::size_t numbers = method_.options().data.classes * (method_.plan().dim + 1);
  for (const PlannedRelease& planned : method_.plan().noise->releases) numbers += elements_of(planned);
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
