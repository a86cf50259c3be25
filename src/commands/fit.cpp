#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "dpreduce/aggregator/release.hpp"
#include "dpreduce/commands/commands.hpp"
#include "dpreduce/commands/cost_report.hpp"
#include "dpreduce/commands/evaluation.hpp"
#include "dpreduce/commands/fit_report.hpp"
#include "dpreduce/commands/fit_rows.hpp"
#include "dpreduce/commands/fitted_classifier.hpp"
#include "dpreduce/commands/progress.hpp"
#include "dpreduce/commands/ranked_rows.hpp"
#include "dpreduce/commands/silo_report.hpp"
#include "dpreduce/config/command_line.hpp"
#include "dpreduce/data/atomic_file.hpp"
#include "dpreduce/data/paths.hpp"
#include "dpreduce/methods/checkpoint_binding.hpp"
#include "dpreduce/methods/class_balance.hpp"
#include "dpreduce/methods/machine_memory.hpp"
#include "dpreduce/methods/machine_speed.hpp"
#include "dpreduce/methods/release_log.hpp"
#include "dpreduce/methods/row_preparation.hpp"
#include "dpreduce/methods/training_method.hpp"
#include "dpreduce/model/classifier_file.hpp"
#include "dpreduce/randomness/key_file.hpp"
#include "dpreduce/silos/party_log.hpp"
#include "dpreduce/transport/silo_job.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kModelHeader = 4096;

// The files that a run leaves, opened before anything is spent. On the coordinator.
struct Outputs {
  Outputs(const FitOptions& options, const FitPlan& plan) : model(options.out) {
    const std::size_t heads = options.warm_start ? 2 : 1;
    const std::size_t row_constants = plan.preprocessing.dim() + plan.projection_elements + options.select;
    model.reserve(kModelHeader + sizeof(double) * (options.classes * (heads * plan.dim + 1) + row_constants));
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
  if (plan.limit && plan.is_private && !options.resume) {
    require_allowed({*plan.limit, options.adjacency, spending_of(*plan.noise)}, records, path);
  }
  const bool exists = std::filesystem::exists(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw BadInput(fmt::format("--ledger {}: cannot be written; choose a folder that exists and is yours", path));
  }
}

// Where rows are cut evenly, one row more or less moves others from rank to rank, and so changes what several silos
// release: the noise is made for one.
void check_own_rows(const FitOptions& options, const Communicator& ranks) {
  if (options.method != Method::kFedavg || ranks.size() == 1 || paths_are_per_worker(options.train.x)) return;
  throw UsageError(
      fmt::format("--method fedavg on {} ranks: each is a silo with rows of its own; name them with {{rank}}, as in "
                  "--train-x 'silo{{rank}}/x.npy' (dpreduce synth partition makes such files)",
                  ranks.size()));
}

// What the run will cost, at the coordinator. Collective.
RunEstimate estimate(const FitOptions& options, const FitPlan& plan, const WorkerRows& rows, unsigned threads,
                     Communicator& ranks) {
  const std::uint64_t rows_here = rows.range().count;
  std::array<std::uint64_t, 1> all_rows{rows_here};
  ranks.sum_to_coordinator(all_rows);
  const JobShape job{all_rows[0], rows_here, ranks.size(), threads};
  return {.job = job,
          .memory_bytes = memory_of_rank(options, plan, rows_here, ranks.size()),
          .available_bytes = available_memory(),
          .phases = phases_of(options, plan, job),
          .speed = measure_speed(options, plan, threads, ranks)};
}

std::string key_path(const FitOptions& options) {
  return options.key.empty() ? options.ledger + ".key" : options.key;
}

// The folder of what the run has released. On the coordinator.
std::unique_ptr<ReleaseLog> open_log(const FitOptions& options) {
  if (options.checkpoint.empty()) return nullptr;
  const LogStart start = options.resume ? LogStart::kResume : LogStart::kNewRun;
  auto log = std::make_unique<ReleaseLog>(options.checkpoint, start, options.checkpoint_every);
  if (options.resume && !options.seed && !std::filesystem::exists(key_path(options))) {
    throw ResumeMismatch(fmt::format("--key {}: is not there; the run to resume needs its own", key_path(options)));
  }
  return log;
}

// From here on the run's releases are kept, those that are kept already are taken. Collective.
void record_releases(TrainingRun& run, ReleaseLog* log, const FitOptions& options, const FitPlan& plan,
                     const Releaser& releaser, const std::string& key_id) {
  const std::string rows = run.sealed_rows();
  run.ranks().together([&] {
    if (log == nullptr) return;
    log->bind(releaser.run_id(), checkpoint_binding(options, plan, key_id, rows));
    releaser.require_charged(log->release_labels());
  });
  run.record_in(log);
  run.end_phase("checkpoint");
}

// A run's key: of the seed, or of the coordinator's key file. Other ranks' keys are of this run alone: silos that add
// shares of the noise draw them from these, elsewhere they are never used.
NoiseKey noise_key(const FitOptions& options, const Communicator& ranks) {
  if (options.seed) return NoiseKey::from_seed(*options.seed);
  if (!ranks.is_coordinator()) return NoiseKey::from_entropy();
  return load_or_make_key(key_path(options));
}

// A run that goes on from a checkpoint keeps its name, and so finds its own charges; another one those of any run.
Releaser make_releaser(const FitOptions& options, const FitPlan& plan, Communicator& ranks, NoiseKey key,
                       const ReleaseLog* log) {
  Charging charging{.ledger_path = options.ledger,
                    .limit = plan.limit,
                    .replay = options.resume && options.checkpoint.empty() ? Replay::kChargedBefore : Replay::kNever,
                    .run_id = log != nullptr ? log->run_id() : std::string()};
  LedgerContext context{.method = std::string(make_method(options)->name()),
                        .accountant = options.budget.accountant,
                        .epsilon = plan.prototypes ? std::nullopt : options.budget.epsilon,
                        .delta = plan.prototypes || !options.budget.epsilon ? std::nullopt : options.budget.delta,
                        .config_digest = plan.config_digest,
                        .version = version()};
  return Releaser(ranks, *plan.noise, std::move(key), std::move(charging), std::move(context));
}

// What a training run shows of its passes; only at the coordinator's terminal.
ProgressOf progress_of(const WorkerRows& rows, const Communicator& ranks) {
  const double bytes =
      static_cast<double>(rows.range().count) * static_cast<double>(rows.dim() * sizeof(float)) * ranks.size();
  const bool shows = ranks.is_coordinator();
  return [bytes, shows](std::string_view release) -> OnChunk {
    const auto progress = std::make_shared<Progress>(std::string(release), bytes, shows);
    return [progress](double share) { progress->update(share); };
  };
}

// What a party of a run among silos writes down for its owner; null elsewhere.
PartyLog* log_of(const Communicator& ranks) {
  return ranks.silos() == nullptr ? nullptr : ranks.silos()->log();
}

Timings::Told told_to_log(const Communicator& ranks) {
  PartyLog* log = log_of(ranks);
  if (log == nullptr) return nullptr;
  return [log](const std::string& phase, double seconds) { log->end_phase(phase, seconds); };
}

}  // namespace

void run_command(const FitOptions& stated, Communicator& ranks) {
  Timings timings(told_to_log(ranks));

  ranks.together([&] {
    check_own_rows(stated, ranks);
    require_silos(stated, ranks);
  });
  WorkerRows rows = open_ranked_rows(stated.train, ranks);
  ranks.together([&] {
    check_labels(rows, stated);
    check_against_roster(stated, rows.dim());
  });
  if (PartyLog* log = log_of(ranks)) log->line(rows.is_none() ? "no rows here" : "rows opened, they fit");
  if (const auto tail = long_tail_of(stated); tail && !stated.dry_run) {
    ranks.together([&] {
      if (!rows.is_none()) keep_long_tail(rows, stated.classes, *tail);
    });
  }
  std::optional<WorkerRows> candidates = open_candidates(stated, rows.dim(), ranks);
  const std::uint64_t to_choose_from = candidates ? candidates->range().count : 0;
  FitOptions options;
  const MachineShare machine = machine_share(ranks);
  ranks.together([&] { options = resolved(stated, rows.dim(), to_choose_from, machine.bytes_for_rank()); });
  std::optional<WorkerRows> public_rows = open_public_rows(options, rows.dim(), ranks);
  FitPlan plan;
  ranks.together([&] {
    plan = plan_fit(options, rows.dim(), to_choose_from);
    machine.require(memory_of_rank(options, plan, rows.range().count, ranks.size()));
  });
  const unsigned threads = options.threads == 0 ? default_threads() : options.threads;
  if (options.dry_run) {
    const RunEstimate cost = estimate(options, plan, rows, threads, ranks);
    if (ranks.is_coordinator()) print_dry_run(options, plan, cost);
    return;
  }
  std::optional<WorkerRows> test_rows;
  std::optional<WorkerRows> validation_rows;
  std::optional<Outputs> outputs;
  std::optional<Releaser> releaser;
  std::unique_ptr<ReleaseLog> log;
  std::string key_id;
  ranks.together([&] {
    const auto open = [&](const RowsOptions& of) { return open_rows_of_rank(of, rows.dim(), ranks); };
    if (!options.test.x.empty()) test_rows.emplace(open(options.test));
    if (!options.validation.x.empty()) {
      validation_rows.emplace(open(options.validation));
      label_counts(validation_rows->labels(), validation_rows->range(), options.classes, ranks);  // before it costs
    }
    if (ranks.is_coordinator()) {
      if (plan.noise) check_ledger(options, plan);
      outputs.emplace(options, plan);
      log = open_log(options);
    }
    if (!plan.noise) {
      releaser.emplace(ranks);
      return;
    }
    NoiseKey key = noise_key(options, ranks);
    key_id = key.id();
    releaser.emplace(make_releaser(options, plan, ranks, std::move(key), log.get()));
    if (options.silos.is_distributed()) releaser->share_noise({honest_shares(ranks)});
  });
  timings.end_phase("open");

  const StreamPlan stream{options.classes, options.train.bad_rows, options.memory_mib.value() << 20, threads,
                          options.most_labels()};
  const std::unique_ptr<TrainingMethod> method = make_method(options);
  TrainingRun run(ranks, rows, *releaser, plan, stream, progress_of(rows, ranks), timings,
                  {.features = public_rows ? &*public_rows : nullptr,
                   .validation = validation_rows ? &*validation_rows : nullptr,
                   .candidates = candidates ? &*candidates : nullptr});
  if (!options.checkpoint.empty()) record_releases(run, log.get(), options, plan, *releaser, key_id);
  const std::size_t taken = log ? log->release_labels().size() : 0;
  prepare_rows(run, options);
  LinearScores scores = trained_scores(*method, run, options);
  ranks.together([&] {
    if (log) log->flush();
  });
  timings.end_phase("solve");
  std::optional<Classifier> trained;
  ranks.together(
      [&] { trained.emplace(fitted_classifier(*method, std::move(scores), run.preprocessing(), options, plan)); });
  const Classifier& classifier = *trained;

  // What has been paid for is kept, whatever becomes of the test.
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    outputs->model.write(to_bytes(classifier));
    outputs->model.commit();
  });
  timings.end_phase("write");

  std::optional<TestFigures> test;
  if (test_rows && ranks.silos() == nullptr) {
    test.emplace(evaluate_on_ranks(ranks, classifier, *test_rows, options.test.bad_rows, threads));
    timings.end_phase("test");
  } else if (test_rows && ranks.is_coordinator()) {
    Communicator coordinator = Communicator::alone();
    test.emplace(evaluate_on_ranks(coordinator, classifier, *test_rows, options.test.bad_rows, threads));
    timings.end_phase("test");
  }

  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    nlohmann::json report = fit_report(options, plan, classifier, test, timings, ranks.size(), threads);
    if (run.prototypes() != nullptr) report["prototypes"] = prototypes_json(*run.prototypes());
    if (stated.method == Method::kPrototypes) report["adaptive"] = adaptive_json(options);
    if (ranks.silos() != nullptr) report["silos"] = silos_json(ranks, options.silos.noise);
    if (options.choose) report["choice"] = choice_json(options, plan, run.chosen_setting());
    if (log) report["checkpoint"] = {{"folder", options.checkpoint}, {"resumed_releases", taken}};
    if (outputs->report) {
      outputs->report->write(report.dump(2) + "\n");
      outputs->report->commit();
    }
    print_fit(options, plan, report, timings);
  });
}

}  // namespace dpreduce
