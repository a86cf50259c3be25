#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dpreduce/aggregator/mean_classifier.hpp"
#include "dpreduce/aggregator/release.hpp"
#include "dpreduce/commands/commands.hpp"
#include "dpreduce/commands/evaluation.hpp"
#include "dpreduce/commands/fit_plan.hpp"
#include "dpreduce/commands/fit_report.hpp"
#include "dpreduce/commands/progress.hpp"
#include "dpreduce/commands/ranked_rows.hpp"
#include "dpreduce/config/command_line.hpp"
#include "dpreduce/data/atomic_file.hpp"
#include "dpreduce/model/classifier_file.hpp"
#include "dpreduce/randomness/key_file.hpp"
#include "dpreduce/worker/registered_statistics.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kModelHeader = 4096;

// The files that a run leaves, opened before anything is spent. On the coordinator.
struct Outputs {
  Outputs(const FitOptions& options, std::size_t dim) : model(options.out) {
    model.reserve(kModelHeader + sizeof(double) * (options.classes * (dim + 1) + dim));
    if (!options.report.empty()) report.emplace(options.report);
  }
  AtomicFile model;
  std::optional<AtomicFile> report;
};

// The ledger can be read, verifies, has room for the plan, and can be written, as far as that shows in advance. A
// resumed run may have paid already; what it still has to pay is checked when it is charged.
void check_ledger(const FitOptions& options, const FitPlan& plan) {
  const std::string& path = options.ledger;
  const std::vector<LedgerRecord> records = Ledger::read(path);
  if (plan.limit_mu && plan.is_private && !options.resume) {
    require_allowed({*plan.limit_mu, plan.noise->mu}, records, path);
  }
  const bool exists = std::filesystem::exists(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw BadInput(fmt::format("--ledger {}: cannot be written; choose a folder that exists and is yours", path));
  }
}

// A run's key: of the seed, or of the key file. On the coordinator; other ranks' keys are never used.
NoiseKey noise_key(const FitOptions& options, const Communicator& ranks) {
  if (options.seed) return NoiseKey::from_seed(*options.seed);
  if (!ranks.is_coordinator()) return NoiseKey::from_entropy();
  return load_or_make_key(options.key.empty() ? options.ledger + ".key" : options.key);
}

Releaser make_releaser(const FitOptions& options, const FitPlan& plan, Communicator& ranks) {
  if (!plan.noise) return Releaser(ranks);
  Charging charging{.ledger_path = options.ledger,
                    .limit_mu = plan.limit_mu,
                    .replay = options.resume ? Replay::kChargedBefore : Replay::kNever};
  LedgerContext context{.method = "mean",
                        .accountant = options.budget.accountant,
                        .epsilon = options.budget.epsilon,
                        .delta = options.budget.epsilon ? options.budget.delta : std::nullopt,
                        .config_digest = plan.config_digest,
                        .version = version()};
  return Releaser(ranks, *plan.noise, noise_key(options, ranks), std::move(charging), std::move(context));
}

// The statistic of `release` over this rank's rows: one pass, which ends soon after any rank fails. Collective.
Statistic sum_rows(std::string_view release, const FitPlan& plan, WorkerRows& rows, const RowTransform& transform,
                   const StreamPlan& stream, Communicator& ranks) {
  std::optional<Statistic> statistic;
  ranks.together([&] {
    const double bytes = static_cast<double>(rows.range().count) * static_cast<double>(rows.dim() * sizeof(float));
    Progress progress(std::string(release), bytes * ranks.size(), ranks.is_coordinator());
    const auto on_chunk = [&](double share) {
      ranks.check_peers();
      progress.update(share);
    };
    const RegisteredStatistic& registered = registered_statistic(release);
    statistic.emplace(registered.compute(plan.request(release), rows, transform, stream, on_chunk));
  });
  return std::move(*statistic);
}

// The released mean of all rows, known to every rank. Collective.
std::vector<double> release_center(Releaser& releaser, Statistic local, const Lattice& lattice, Communicator& ranks) {
  const Release release = releaser.release("center", std::move(local));
  std::vector<double> center(lattice.dim);
  if (ranks.is_coordinator()) center = solve_center(release, lattice);
  ranks.broadcast(center);
  return center;
}

// The released class means as a classifier, known to every rank. Collective.
Classifier release_classifier(Releaser& releaser, Statistic local, const FitOptions& options, const FitPlan& plan,
                              Preprocessing preprocessing, Communicator& ranks) {
  const Lattice lattice{preprocessing.clip_norm, preprocessing.dim()};
  const Release release = releaser.release("class_means", std::move(local));
  LinearScores scores{std::vector<double>(options.classes * lattice.dim), std::vector<double>(options.classes)};
  if (ranks.is_coordinator()) scores = solve_mean_classifier(release, lattice, options.metric);
  ranks.broadcast(scores.weights);
  ranks.broadcast(scores.bias);

  ClassifierParts parts{.method = "mean",
                        .privacy = std::nullopt,
                        .preprocessing = std::move(preprocessing),
                        .classes = options.classes,
                        .weights = std::move(scores.weights),
                        .bias = std::move(scores.bias),
                        .prototypes = {}};
  if (plan.is_private) {
    const Guarantee& g = *plan.guarantee;
    parts.privacy = PrivacyStatement{g.epsilon, g.delta, g.mu, g.rho, std::string(to_string(options.adjacency))};
  }
  return Classifier(std::move(parts));
}

}  // namespace

void run_command(const FitOptions& options, Communicator& ranks) {
  Timings timings;

  WorkerRows rows = open_ranked_rows(options.train, ranks);
  FitPlan plan;
  ranks.together([&] { plan = plan_fit(options, rows.dim()); });
  if (options.dry_run) {
    if (ranks.is_coordinator()) print_dry_run(options, plan);
    return;
  }
  std::optional<WorkerRows> test_rows;
  std::optional<Outputs> outputs;
  std::optional<Releaser> releaser;
  ranks.together([&] {
    if (!options.test.x.empty()) test_rows.emplace(open_rows_for(rows.dim(), options.test, ranks.rank(), ranks.size()));
    if (ranks.is_coordinator()) {
      if (plan.noise) check_ledger(options, plan);
      outputs.emplace(options, plan.preprocessing.dim());
    }
    releaser.emplace(make_releaser(options, plan, ranks));
  });
  timings.end_phase("open");

  const unsigned threads = options.threads == 0 ? default_threads() : options.threads;
  const StreamPlan stream{options.classes, options.train.bad_rows, options.memory_mib << 20, threads};
  Preprocessing preprocessing = plan.preprocessing;
  if (options.center == Centering::kDp) {
    Statistic local = sum_rows("center", plan, rows, RowTransform(preprocessing), stream, ranks);
    const Lattice lattice{preprocessing.clip_norm, preprocessing.dim()};
    preprocessing.center = release_center(*releaser, std::move(local), lattice, ranks);
    timings.end_phase("center");
  }

  Statistic local = sum_rows("class_means", plan, rows, RowTransform(preprocessing), stream, ranks);
  timings.end_phase("sums");
  const Classifier classifier =
      release_classifier(*releaser, std::move(local), options, plan, std::move(preprocessing), ranks);
  timings.end_phase("release");

  // What has been paid for is kept, whatever becomes of the test.
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    outputs->model.write(to_bytes(classifier));
    outputs->model.commit();
  });
  timings.end_phase("write");

  std::optional<ConfusionMatrix> test;
  if (test_rows) {
    test.emplace(evaluate_on_ranks(ranks, classifier, *test_rows, options.test.bad_rows, threads));
    timings.end_phase("test");
  }

  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const nlohmann::json report = fit_report(options, plan, classifier, test, timings, ranks.size(), threads);
    if (outputs->report) {
      outputs->report->write(report.dump(2) + "\n");
      outputs->report->commit();
    }
    print_fit(options, plan, report, timings);
  });
}

}  // namespace dpreduce
