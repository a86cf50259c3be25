#include "dpreduce/audit/mean_run.hpp"

#include <algorithm>
#include <filesystem>

#include "dpreduce/aggregator/mean_classifier.hpp"
#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostRowMemory = std::size_t{64} << 20;

std::vector<ReleaseRequest> requests_of(const MeanTerms& terms) {
  std::vector<ReleaseRequest> requests;
  double rest = 1.0;
  if (terms.center == Centering::kDp) {
    requests.push_back(registered_statistic("center").request(terms.releases, terms.center_share));
    rest -= terms.center_share;
  }
  requests.push_back(registered_statistic("class_means").request(terms.releases, rest));
  return requests;
}

Statistic copy_of(const Statistic& statistic) {
  Statistic copy(statistic.shape());
  copy.merge(statistic);
  return copy;
}

void append_blocks(const Release& release, const PlannedRelease& planned, std::vector<double>& numbers) {
  for (const PlannedBlock& block : planned.blocks) {
    const auto values = release.block(block.name).values();
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
}

}  // namespace

MeanMethod::MeanMethod(MeanTerms terms)
    : terms_(std::move(terms)),
      requests_(requests_of(terms_)),
      plan_(make_noise_plan(terms_.mu, terms_.releases.adjacency, requests_)) {}

const ReleaseRequest& MeanMethod::request(std::string_view release) const {
  const auto found =
      std::find_if(requests_.begin(), requests_.end(), [&](const auto& entry) { return entry.name == release; });
  DPREDUCE_ASSERT(found != requests_.end());
  return *found;
}

Statistic MeanMethod::statistic(std::string_view release, WorkerRows& rows, const std::vector<double>& center) const {
  Preprocessing preprocessing = terms_.preprocessing;
  preprocessing.center = center;
  const std::size_t all_rows = rows.range().count * bytes_per_row(preprocessing);
  const StreamPlan stream{.classes = terms_.releases.classes,
                          .bad_rows = BadRows::kFail,
                          .memory_bytes = std::clamp(all_rows, bytes_per_row(preprocessing), kMostRowMemory),
                          .threads = 1};
  return registered_statistic(release).compute(request(release), rows, RowTransform(preprocessing), stream,
                                               [](double) {});
}

MeanReleases MeanMethod::run(WorkerRows& rows, const std::string& ledger_path, const Statistic* known) const {
  Communicator alone = Communicator::join();
  Releaser releaser(alone, plan_, NoiseKey::from_entropy(), {.ledger_path = ledger_path},
                    {.method = "mean",
                     .accountant = Accountant::kGdp,
                     .epsilon = {},
                     .delta = {},
                     .config_digest = sha256_hex("audit"),
                     .version = version()});
  MeanReleases published;
  const Lattice lattice{terms_.preprocessing.clip_norm, terms_.releases.dim};
  if (terms_.center == Centering::kDp) {
    const Release center = releaser.release("center", statistic("center", rows, {}));
    append_blocks(center, plan_.release("center"), published.all);
    published.center = solve_center(center, lattice);
  }
  const Release means = releaser.release(
      "class_means", known != nullptr ? copy_of(*known) : statistic("class_means", rows, published.center));
  append_blocks(means, plan_.release("class_means"), published.all);
  const auto sums = means.block("class_sums").values();
  published.class_sums.assign(sums.begin(), sums.end());
  std::filesystem::remove(ledger_path);
  return published;
}

MeanRun::Side MeanRun::open(const Files& files) const {
  Side side{WorkerRows::open({files.x}, {files.y}, 0, 1), {}};
  if (method_.terms().center == Centering::kNone)
    side.class_means.emplace(method_.statistic("class_means", side.rows, {}));
  return side;
}

MeanRun::MeanRun(const MeanMethod& method, const Files& without, const Files& with, std::string ledger_path)
    : method_(method), without_(open(without)), with_(open(with)), ledger_path_(std::move(ledger_path)) {}

std::vector<double> MeanRun::observe(World world) {
  Side& side = world == World::kWithCanary ? with_ : without_;
  return method_.run(side.rows, ledger_path_, side.class_means ? &*side.class_means : nullptr).all;
}

}  // namespace dpreduce
