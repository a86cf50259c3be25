#include "audit/release_audit.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "audit/two_world_audit.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kFewestTrials = 1000;     // a world
constexpr double kTrialsAtMuOne = 32.0 * 32.0;  // a world: the bound is then some 0.4 mu below the truth
constexpr std::uint64_t kRoundsOfALedger = 32;

std::size_t trials_of(double mu, std::size_t most_trials) {
  const double wanted = std::max(kTrialsAtMuOne / (mu * mu), static_cast<double>(kFewestTrials));
  return static_cast<std::size_t>(std::min(wanted, static_cast<double>(most_trials / 2)));
}

Statistic copy_of(const Statistic& statistic) {
  Statistic copy(statistic.shape());
  std::ranges::copy(statistic.words(), copy.words().begin());
  return copy;
}

// Makes one release of one statistic, each time with new noise.
class RepeatedRelease {
 public:
  RepeatedRelease(const AuditedMethod& method, const PlannedRelease& planned, const std::string& ledger_path)
      : method_(method), planned_(planned), ledger_path_(ledger_path), alone_(Communicator::alone()) {
    planned_.rounds = kRoundsOfALedger;
  }
  ~RepeatedRelease() { forget(); }

  Release next(const Statistic& exact) {
    if (left_ == 0) {
      forget();
      NoisePlan plan{.adjacency = method_.plan().noise->adjacency,
                     .budget_mu = method_.plan().noise->budget_mu,
                     .mu = method_.plan().noise->mu,
                     .releases = {planned_}};
      releaser_.reset(new Releaser(method_.releaser(alone_, std::move(plan), ledger_path_)));  // it does not move
      left_ = kRoundsOfALedger;
    }
    --left_;
    return releaser_->release(planned_.name, copy_of(exact));
  }

 private:
  void forget() {
    releaser_.reset();
    std::filesystem::remove(ledger_path_);
  }

  const AuditedMethod& method_;
  PlannedRelease planned_;
  std::string ledger_path_;
  Communicator alone_;
  std::unique_ptr<Releaser> releaser_;
  std::uint64_t left_ = 0;
};

ReleaseLoss audit_release(const AuditedMethod& method, const PlannedRelease& planned, const Statistic& without,
                          const Statistic& with, std::size_t most_trials, double error,
                          const std::string& ledger_path) {
  const double mu = mu_of_rounds(planned, 1);
  const std::size_t trials = trials_of(mu, most_trials);
  RepeatedRelease repeated(method, planned, ledger_path);
  Runs worlds[2];
  for (const Statistic* exact : {&without, &with}) {
    Runs observed;  // released values, and last their log ratio
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Release release = repeated.next(*exact);
      observed.push_back(values_of(release));
      observed.back().push_back(log_ratio(planned, release, without, with));
    }
    worlds[exact == &with ? 1 : 0] = std::move(observed);
  }
  const std::size_t numbers = worlds[0].front().size() - 1;
  const std::vector<View> views{{0, numbers, ViewKind::kNumbers}, {numbers, 1, ViewKind::kScore}};
  constexpr double kAnyDelta = 0.0;  // the bound on epsilon is not asked for
  return {planned.name, mu, proven_loss(worlds[0], worlds[1], views, kAnyDelta, error).mu};
}

}  // namespace

std::vector<ReleaseLoss> audit_each_release(const AuditedMethod& method, const WorldFiles& files,
                                            std::size_t most_trials, double error, const std::string& ledger_path) {
  const std::vector<PlannedRelease>& releases = method.plan().noise->releases;
  const bool is_whole_run = releases.size() == 1 && releases.front().rounds == 1;
  if (releases.empty() || is_whole_run) return {};
  DPREDUCE_ASSERT(most_trials >= 24);
  WorkerRows without = open_world(method.options(), files.without);
  WorkerRows with = open_world(method.options(), files.with);
  std::optional<WorkerRows> features;
  if (!files.public_x.empty()) features = WorkerRows::open({files.public_x}, {}, 0, 1);
  const auto audited = std::count_if(releases.begin(), releases.end(), [](const auto& r) { return !r.is_sampled(); });
  ExactStatistics exact_without(method, without);
  ExactStatistics exact_with(method, with);
  std::map<std::string, std::uint64_t, std::less<>> rounds;
  std::vector<ReleaseLoss> losses;
  const ReleaseWatcher stop = [&](const WatchedRelease& watched) {
    const PlannedRelease& planned = method.plan().noise->release(watched.name);
    if (planned.is_sampled() || ++rounds[planned.name] < planned.rounds) return;
    losses.push_back(audit_release(method, planned, exact_without.at(watched), exact_with.at(watched), most_trials,
                                   error / static_cast<double>(audited), ledger_path + ".release"));
  };
  method.run(without, ledger_path, {.features = features ? &*features : nullptr}, stop);
  return losses;
}

}  // namespace dpreduce
