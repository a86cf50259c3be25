#include "fit/fit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/budget_warning.hpp"
#include "commands/commands.hpp"
#include "commands/cost_report.hpp"
#include "commands/evaluation.hpp"
#include "commands/fit_report.hpp"
#include "commands/page_documents.hpp"
#include "commands/run_metrics.hpp"
#include "commands/run_progress.hpp"
#include "commands/silo_report.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/base/json_text.hpp"
#include "common/data/atomic_file.hpp"
#include "common/data/output_check.hpp"
#include "common/data/paths.hpp"
#include "common/model/classifier_file.hpp"
#include "common/page/page.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/party_log.hpp"
#include "fit/files_once.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/release_figures.hpp"
#include "forecast/machine_memory.hpp"
#include "methods/registry.hpp"
#include "run/timings.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kModelHeader = 4096;

// About how large the model becomes, and not less.
std::size_t model_bytes(const FitOptions& options, const FitPlan& plan) {
  const std::size_t heads = options.method.warm_start ? 2 : 1;
  const std::size_t numbers =
      options.data.classes * (heads * plan.dim + 1) + 2 * plan.preprocessing.dim() + options.rows.select;
  std::size_t names = 0;
  for (const std::string& name : options.data.train.class_names) names += 4 * (name.size() + 2);  // quotes in quotes
  return kModelHeader + names + sizeof(double) * numbers + sizeof(std::int16_t) * plan.projection_elements;
}

bool holds_bytes(const std::string& path, std::span<const std::byte> bytes) {
  std::ifstream file(path, std::ios::binary);
  const std::string held{std::istreambuf_iterator<char>(file), {}};
  return std::ranges::equal(std::as_bytes(std::span(held)), bytes);
}

// Throws BadInput where there is a file in the place of the report, and it is no report of a run of that journal.
void require_report_of(const RunJournal& journal, const std::string& path) {
  if (path.empty() || !is_file(path)) return;
  std::ifstream file(path, std::ios::binary);
  const nlohmann::json report = parse_json(std::string{std::istreambuf_iterator<char>(file), {}});
  const nlohmann::json::json_pointer place("/ledger/run");
  const bool names_run = report.is_structured() && report.contains(place) && report[place].is_string();
  if (names_run && journal.has_run(report[place].get<std::string>())) return;
  throw BadInput(fmt::format(
      "{}: is there already, and is no report of the run that goes on; give another name, or --overwrite", path));
}

// The files that a run leaves, opened before anything is spent. On the coordinator.
struct Outputs {
  // Throws BadInput where a model that is to be kept has come of another run: one that goes on makes its own again,
  // byte for byte.
  void write_model(const FitOptions& options, std::span<const std::byte> bytes, bool goes_on) {
    const bool is_foreign =
        goes_on && !options.output.overwrite && is_file(options.output.out) && !holds_bytes(options.output.out, bytes);
    if (is_foreign) {
      throw BadInput(
          fmt::format("{}: is there already, and is the model of another run; give another name, or --overwrite",
                      options.output.out));
    }
    model.write(bytes);
    model.commit();
  }

  Outputs(const FitOptions& options, const FitPlan& plan, Existing existing) : model(options.output.out, existing) {
    model.reserve(model_bytes(options, plan));
    if (!options.output.report.empty()) report.emplace(options.output.report, existing);
    if (!options.output.html.empty()) html.emplace(options.output.html, existing);
    if (!options.output.timings.empty()) timings.emplace(options.output.timings, existing, Readers::kOwnerOnly);
    if (!options.output.metrics.empty()) {
      metrics_file.emplace(options.output.metrics, existing);
      metrics.emplace(*metrics_file, plan, options.data.unit(), options.privacy.budget.delta.value_or(kDeltaToTell),
                      nullptr);
    }
  }
  AtomicFile model;
  std::optional<AtomicFile> report;
  std::optional<AtomicFile> html;
  std::optional<AtomicFile> timings;
  std::optional<LineFile> metrics_file;
  std::optional<RunMetrics> metrics;
};

// No output is a file that this rank reads rows from.
void require_outputs_apart(const FitOptions& options, const OpenFit& open, const std::optional<WorkerRows>& test,
                           int rank) {
  const std::array outputs{NamedPath{"--out", options.output.out}, NamedPath{"--report", options.output.report},
                           NamedPath{"--html", options.output.html}, NamedPath{"--metrics", options.output.metrics},
                           NamedPath{"--timings", options.output.timings}};
  require_not_read(outputs, open.training);
  if (!open.training.is_none()) {  // the coordinator of silos has no identifiers
    for (const std::string& path : expand_paths(options.data.train.person, static_cast<std::size_t>(rank))) {
      require_not_read(outputs, split_array_path(path).file);
    }
  }
  for (const std::optional<WorkerRows>* rows : {&open.public_sums, &open.validation, &open.candidates, &test}) {
    if (*rows) require_not_read(outputs, **rows);
  }
}

// What the run will cost, at the coordinator. Collective.
RunEstimate estimate(const FitOptions& options, const FitPlan& plan, const WorkerRows& rows, unsigned threads,
                     Communicator& ranks) {
  const JobShape job = shape_of_job(rows.range().count, threads, ranks);
  return {.job = job,
          .memory_bytes = memory_of_rank(options, plan, job.rows_here, ranks.size()),
          .available_bytes = available_memory(),
          .phases = phases_of(options, plan, job)};
}

// What the coordinator shows of the run. Collective.
RunProgress progress_of(const OpenFit& open, const std::optional<WorkerRows>& test_rows, Communicator& ranks) {
  const FitOptions& options = open.fit->options();
  const FitPlan& plan = open.fit->plan();
  const JobShape job = shape_of_job(open.training.range().count, open.threads, ranks);
  ShownRun run{.label = "", .phases = phases_of(options, plan, job)};
  if (test_rows) run.phases.push_back(test_work(test_rows->range().count, options.data.classes, plan.dim));
  const bool shows = ranks.is_coordinator() && !options.output.quiet;
  return {shows ? ProgressLine::form_of_standard_error() : ProgressLine::Form::kNone, {run}};
}

// What a party of a run among silos writes down for its owner; null elsewhere.
PartyLog* log_of(const Communicator& ranks) {
  return ranks.silos() == nullptr ? nullptr : ranks.silos()->log();
}

// What releases show of themselves, for the report; none without noise, where there would be nothing but exact figures.
std::optional<ReleaseFigures> figures_for(const FitOptions& options, const FitPlan& plan) {
  if (!plan.noise) return std::nullopt;
  const OutputOptions& output = options.output;
  const bool has_readers = !output.report.empty() || !output.html.empty() || output.format == OutputFormat::kJson;
  return ReleaseFigures(*plan.noise, has_readers);
}

ReleaseWatcher shown_to(std::optional<ReleaseFigures>& figures, std::optional<Outputs>& outputs) {
  if (!figures) return nullptr;
  return [&figures, &outputs](const WatchedRelease& watched) {
    const std::span<const BlockFigures> added = figures->add(watched);
    if (outputs->metrics) outputs->metrics->add(watched.name, added);
  };
}

// A page on the report and, where there is one, the ledger as the run has left it.
std::string page_of_fit(const nlohmann::json& report, const FitOptions& options, const FitPlan& plan) {
  const std::string name = options.output.report.empty() ? "report" : options.output.report;
  std::vector<PageDocument> documents{fit_document(std::filesystem::path(name).filename().string(), report)};
  if (plan.noise) documents.push_back(ledger_document(options.privacy.ledger));
  return page_of(documents);
}

Timings::OnPhase phases_to_log(const Communicator& ranks) {
  PartyLog* log = log_of(ranks);
  if (log == nullptr) return nullptr;
  return [log](const std::string& phase, double seconds) { log->end_phase(phase, seconds); };
}

}  // namespace

void run_command(const FitOptions& stated, Communicator& ranks) {
  Timings timings(phases_to_log(ranks));

  ranks.together([&] { require_silos(stated, ranks); });
  OpenFit open = open_fit(stated, ranks);
  const FitOptions& options = open.fit->options();
  const FitPlan& plan = open.fit->plan();
  const WorkerRows& rows = open.training;
  ranks.together([&] { check_against_roster(stated, rows.dim()); });
  if (PartyLog* log = log_of(ranks)) {
    // Told to nobody else: whether a silo has rows is its own.
    const bool is_empty = rows.range().count == 0;
    log->line(rows.is_none() ? "no rows here"
              : is_empty     ? "files opened, there is NO ROW in them"
                             : "rows opened, they fit");
  }
  if (ranks.is_coordinator()) warn_of_weakness(weakness_of(plan, options.data.unit()));
  if (options.output.dry_run) {
    const RunEstimate cost = estimate(options, plan, rows, open.threads, ranks);
    if (ranks.is_coordinator()) print_dry_run(options, plan, cost);
    return;
  }
  std::optional<WorkerRows> test_rows;
  std::optional<Outputs> outputs;
  ranks.together([&] {
    if (!options.data.test.x.empty()) test_rows.emplace(open_rows_of_rank(options.data.test, rows.dim(), ranks));
    require_outputs_apart(options, open, test_rows, ranks.rank());
    // A run that goes on replaces what its first start may have left; whether there is one is known with its account.
    if (ranks.is_coordinator() && !options.privacy.resume) {
      outputs.emplace(options, plan, options.output.overwrite ? Existing::kReplace : Existing::kKeep);
    }
  });
  const std::string trained_and_tested =
      test_rows ? training_rows_among({"test", &*test_rows}, open.training, nullptr, ranks) : "";
  if (ranks.is_coordinator()) warn_of_training_rows(trained_and_tested);
  std::optional<FitAccount> account = open_account(*open.fit, ranks);
  bool goes_on = false;  // a run that charged something before; at the coordinator
  ranks.together([&] {
    if (!ranks.is_coordinator() || outputs) return;
    goes_on = account && account->goes_on();
    const bool replaces = options.output.overwrite || goes_on;
    try {
      if (goes_on && !options.output.overwrite) require_report_of(account->journal, options.output.report);
      outputs.emplace(options, plan, replaces ? Existing::kReplace : Existing::kKeep);
    } catch (const Error&) {
      if (account && account->journal.is_new()) account->journal.destroy();
      throw;
    }
  });
  std::optional<ReleaseFigures> figures = figures_for(options, plan);
  const Warn warn = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  RunProgress progress = progress_of(open, test_rows, ranks);
  progress.begin_run();
  FittedRun run = train(open.fit, open.training, open.public_rows(), ranks, std::move(account),
                        {.threads = open.threads,
                         .timings = std::move(timings),
                         .progress = progress.of_passes(),
                         .observer = shown_to(figures, outputs),
                         .warn = warn});

  with_way_to_resume(*run.releaser, warn, [&] {
    // What has been paid for is kept, whatever becomes of the test.
    ranks.together([&] {
      if (!ranks.is_coordinator()) return;
      outputs->write_model(options, to_bytes(run.classifier), goes_on);
    });
    run.timings.end_phase("write");

    std::optional<TestFigures> test;
    if (test_rows && (ranks.silos() == nullptr || ranks.is_coordinator())) {
      progress.begin("test");
      Communicator coordinator = Communicator::alone();
      test.emplace(evaluate_on_ranks(ranks.silos() == nullptr ? ranks : coordinator, run.classifier, *test_rows,
                                     options.data.test.bad_rows, open.threads));
      run.timings.end_phase("test");
    }

    const bool is_shared = ranks.size() > 1 && ranks.silos() == nullptr;
    const std::vector<RankTimings> of_ranks =
        is_shared ? gather_timings(run.timings, ranks) : std::vector<RankTimings>{};
    nlohmann::json report;
    ranks.together([&] {
      if (!ranks.is_coordinator()) return;
      report = fit_report(run, test, ranks.size(), open.threads);
      if (test && !trained_and_tested.empty()) report["test"].update(training_rows_note());
      if (!method_entry(stated.method).resolved_by.empty()) report["adaptive"] = adaptive_json(stated, options);
      if (ranks.silos() != nullptr) report["silos"] = silos_json(ranks, options.silos.noise);
      if (figures) add_figures(report, *figures);
      if (outputs->report) {
        outputs->report->write(json_text(report, 2) + "\n");
        outputs->report->commit();
      }
      if (outputs->timings) {
        nlohmann::json seconds = timings_json(run.timings.phases(), of_ranks);
        if (ranks.silos() != nullptr) seconds["waits"] = waits_json(ranks);
        outputs->timings->write(json_text(seconds, 2) + "\n");
        outputs->timings->commit();
      }
    });
    run.finish();
    progress.end();
    ranks.together([&] {
      if (!ranks.is_coordinator()) return;
      if (outputs->metrics) outputs->metrics->end();
      if (outputs->html) {
        outputs->html->write(page_of_fit(report, options, plan));
        outputs->html->commit();
      }
      if (!options.output.quiet) print_fit(run, report);
    });
  });
}

}  // namespace dpreduce
