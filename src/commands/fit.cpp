#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "aggregator/release/release.hpp"
#include "commands/budget_warning.hpp"
#include "commands/commands.hpp"
#include "commands/cost_report.hpp"
#include "commands/evaluation.hpp"
#include "commands/fit_report.hpp"
#include "commands/fit_rows.hpp"
#include "commands/fitted_classifier.hpp"
#include "commands/progress.hpp"
#include "commands/ranked_rows.hpp"
#include "commands/silo_report.hpp"
#include "common/base/version.hpp"
#include "common/data/atomic_file.hpp"
#include "common/data/paths.hpp"
#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/party_log.hpp"
#include "fit/machine_memory.hpp"
#include "fit/machine_speed.hpp"
#include "fit/plan_fit.hpp"
#include "fit/row_preparation.hpp"
#include "fit/run_binding.hpp"
#include "methods/class_balance.hpp"
#include "methods/registry.hpp"
#include "methods/training_method.hpp"
#include "run/release_log.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kModelHeader = 4096;

// The files that a run leaves, opened before anything is spent. On the coordinator.
struct Outputs {
  Outputs(const FitOptions& options, const FitPlan& plan) : model(options.output.out) {
    const std::size_t heads = options.method.warm_start ? 2 : 1;
    const std::size_t row_constants = plan.preprocessing.dim() + plan.projection_elements + options.rows.select;
    model.reserve(kModelHeader + sizeof(double) * (options.data.classes * (heads * plan.dim + 1) + row_constants));
    if (!options.output.report.empty()) report.emplace(options.output.report);
  }
  AtomicFile model;
  std::optional<AtomicFile> report;
};

// The ledger can be read, verifies, and can be written, as far as that shows in advance.
void check_ledger(const FitOptions& options) {
  const std::string& path = options.privacy.ledger;
  Ledger::read(path);
  const bool exists = std::filesystem::exists(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(exists ? path.c_str() : folder.c_str(), W_OK) != 0) {
    throw BadInput(fmt::format("--ledger {}: cannot be written; choose a folder that exists and is yours", path));
  }
}

// Where rows are cut evenly, one row more or less moves others from rank to rank, and so changes what several silos
// release: the noise is made for one.
void check_own_rows(const FitOptions& options, const Communicator& ranks) {
  const MethodEntry& method = method_entry(options.method);
  if (!method.each_rank_is_a_silo || ranks.size() == 1 || paths_are_per_worker(options.data.train.x)) return;
  throw UsageError(
      fmt::format("--method {} on {} ranks: each is a silo with rows of its own; name them with {{rank}}, as in "
                  "--train-x 'silo{{rank}}/x.npy' (dpreduce synth partition --first-silo 0 makes such files)",
                  method.name, ranks.size()));
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

// The folder of what the run has released: empty, or of a run with this very binding. On the coordinator.
std::unique_ptr<ReleaseLog> open_log(const FitOptions& options, const nlohmann::json& binding) {
  if (options.output.checkpoint.empty()) return nullptr;
  const LogStart start = options.privacy.resume ? LogStart::kResume : LogStart::kNewRun;
  auto log = std::make_unique<ReleaseLog>(options.output.checkpoint, start, options.output.checkpoint_every);
  log->require_binding(binding);
  return log;
}

// From here on the run's releases are kept, those that are kept already are taken. Collective.
void record_releases(TrainingRun& run, ReleaseLog* log, Releaser& releaser, const nlohmann::json& binding) {
  std::array<std::byte, 1> has_ended{std::byte{releaser.has_ended()}};
  run.ranks().broadcast(has_ended);
  // Where the run has ended no row is read again, and nothing is left to tell whether they are the same.
  if (has_ended[0] == std::byte{0}) run.require_same_rows();
  run.ranks().together([&] {
    if (log == nullptr) return;
    log->bind(releaser.run_id(), binding);
    releaser.require_charged(log->release_labels());
  });
  run.record_in(log);
  run.end_phase("checkpoint");
}

NoiseKey new_secret(const FitOptions& options) {
  return options.privacy.seed ? NoiseKey::from_seed(*options.privacy.seed) : NoiseKey::from_entropy();
}

// The coordinator's: that of the run to go on with, or a new one. Other ranks' secrets are of this run alone: silos
// that add shares of the noise draw them from these, elsewhere they are never used. Nobody resumes a run among silos.
RunJournal open_journal(const FitOptions& options, const Communicator& ranks, const ReleaseLog* log,
                        const nlohmann::json& binding) {
  if (!ranks.is_coordinator() || ranks.silos() != nullptr) return RunJournal(new_secret(options));
  if (log != nullptr && !log->run_id().empty()) {
    std::optional<RunJournal> journal = RunJournal::of_run(options.privacy.ledger, log->run_id());
    if (journal) return std::move(*journal);
    if (log->recorded() > 0) return RunJournal::of_ended(log->run_id());  // else it ended before its first release
  }
  const std::string digest = to_hex(sha256(binding.dump()));
  if (options.privacy.resume) {
    // A run with a checkpoint has made that before its first charge.
    const ResumableJournal which = log != nullptr ? ResumableJournal::kUncharged : ResumableJournal::kAny;
    std::optional<RunJournal> journal = RunJournal::take_over(options.privacy.ledger, digest, which);
    if (journal) return std::move(*journal);
  }
  return RunJournal::make(options.privacy.ledger, digest, new_secret(options));
}

Releaser make_releaser(const FitOptions& options, const FitPlan& plan, Communicator& ranks, RunJournal journal) {
  RunTerms terms{
      .method = std::string(make_method(options)->name()),
      .accountant = options.privacy.budget.accountant,
      .epsilon = plan.prototypes ? std::nullopt : options.privacy.budget.epsilon,
      .delta = plan.prototypes || !options.privacy.budget.epsilon ? std::nullopt : options.privacy.budget.delta,
      .config_digest = plan.config_digest,
      .version = version()};
  std::optional<NoiseShares> shares;
  if (options.silos.is_distributed()) shares = NoiseShares{honest_shares(ranks)};
  return Releaser(ranks, *plan.noise, std::move(journal), {options.privacy.ledger, plan.limit}, std::move(terms),
                  shares);
}

// Does the work; an error of a run that has charged something also says what the next start may do about it.
void with_way_to_resume(const Releaser& releaser, const std::function<void()>& work) {
  const auto way = [&] {
    return fmt::format(
        "run {} has charged releases: the same command with --resume repeats them at no charge, `dpreduce ledger "
        "release {}` gives them up",
        releaser.run_id(), releaser.run_id());
  };
  try {
    work();
  } catch (const PeerFailed&) {  // that rank prints its error
    if (releaser.can_be_resumed()) fmt::print(stderr, "{}\n", way());
    throw;
  } catch (const Error& error) {
    if (!releaser.can_be_resumed()) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.what(), way()));
  }
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
  WorkerRows rows = open_ranked_rows(stated.data.train, ranks);
  ranks.together([&] {
    check_labels(rows, stated.data);
    check_against_roster(stated, rows.dim());
  });
  if (PartyLog* log = log_of(ranks)) log->line(rows.is_none() ? "no rows here" : "rows opened, they fit");
  if (const auto tail = long_tail_of(stated.data); tail && !stated.output.dry_run) {
    ranks.together([&] {
      if (!rows.is_none()) keep_long_tail(rows, stated.data.classes, *tail);
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
  const unsigned threads = options.machine.threads == 0 ? default_threads() : options.machine.threads;
  if (ranks.is_coordinator()) warn_of_weakness(weakness_of(plan));
  if (options.output.dry_run) {
    const RunEstimate cost = estimate(options, plan, rows, threads, ranks);
    if (ranks.is_coordinator()) print_dry_run(options, plan, cost);
    return;
  }
  std::optional<WorkerRows> test_rows;
  std::optional<WorkerRows> validation_rows;
  std::optional<Outputs> outputs;
  std::unique_ptr<ReleaseLog> log;
  const nlohmann::json binding = plan.noise ? run_binding(options, plan) : nlohmann::json();
  ranks.together([&] {
    const auto open = [&](const RowsOptions& of) { return open_rows_of_rank(of, rows.dim(), ranks); };
    if (!options.data.test.x.empty()) test_rows.emplace(open(options.data.test));
    if (!options.data.validation.x.empty()) {
      validation_rows.emplace(open(options.data.validation));
      label_counts(validation_rows->labels(), validation_rows->range(), options.data.classes,
                   ranks);  // before it costs
    }
    if (!ranks.is_coordinator()) return;
    if (plan.noise) check_ledger(options);
    outputs.emplace(options, plan);
    log = open_log(options, binding);
  });
  std::optional<RunJournal> journal;
  ranks.together([&] {
    if (plan.noise) journal.emplace(open_journal(options, ranks, log.get(), binding));
  });
  Releaser releaser = plan.noise ? make_releaser(options, plan, ranks, std::move(*journal)) : Releaser(ranks);
  timings.end_phase("open");

  with_way_to_resume(releaser, [&] {
    const StreamPlan stream{options.data.classes, options.data.train.bad_rows, options.machine.memory_mib.value() << 20,
                            threads, options.data.most_labels()};
    const std::unique_ptr<TrainingMethod> method = make_method(options);
    TrainingRun run(ranks, rows, releaser, plan, stream, progress_of(rows, ranks), timings,
                    {.features = public_rows ? &*public_rows : nullptr,
                     .validation = validation_rows ? &*validation_rows : nullptr,
                     .candidates = candidates ? &*candidates : nullptr});
    if (!options.output.checkpoint.empty()) record_releases(run, log.get(), releaser, binding);
    const std::size_t taken = log ? log->release_labels().size() : 0;
    prepare_rows(run, options);
    LinearScores scores = trained_scores(*method, run, options);
    if (ranks.silos() != nullptr && !ranks.is_coordinator())
      releaser.finish();  // nothing more of its rows is asked for
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
      test.emplace(evaluate_on_ranks(ranks, classifier, *test_rows, options.data.test.bad_rows, threads));
      timings.end_phase("test");
    } else if (test_rows && ranks.is_coordinator()) {
      Communicator coordinator = Communicator::alone();
      test.emplace(evaluate_on_ranks(coordinator, classifier, *test_rows, options.data.test.bad_rows, threads));
      timings.end_phase("test");
    }

    ranks.together([&] {
      if (!ranks.is_coordinator()) return;
      nlohmann::json report = fit_report(options, plan, classifier, test, timings, ranks.size(), threads);
      if (run.prototypes() != nullptr) report["prototypes"] = prototypes_json(*run.prototypes());
      if (!method_entry(stated.method).resolved_by.empty()) report["adaptive"] = adaptive_json(stated, options);
      if (ranks.silos() != nullptr) report["silos"] = silos_json(ranks, options.silos.noise);
      if (options.method.choose) report["choice"] = choice_json(options, plan, run.chosen_setting());
      if (plan.noise) report["ledger"] = ledger_json(releaser);
      if (log) report["checkpoint"] = {{"folder", options.output.checkpoint}, {"resumed_releases", taken}};
      if (outputs->report) {
        outputs->report->write(report.dump(2) + "\n");
        outputs->report->commit();
      }
      if (plan.noise) releaser.finish();
      print_fit(options, plan, report, timings);
    });
  });
}

}  // namespace dpreduce
