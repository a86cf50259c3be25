// Run of dpreduce fit: trains a classifier, and writes model and report.
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "commands/job.hpp"
#include "commands/run_progress.hpp"
#include "commands/silo_preview.hpp"
#include "common/base/paths.hpp"
#include "common/base/standard_output.hpp"
#include "common/model/classifier_file.hpp"
#include "common/ranks/silo_job.hpp"
#include "fit/files_once.hpp"
#include "fit/fit.hpp"
#include "fit/machine_memory.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/release_figures.hpp"
#include "fit/run_cost.hpp"
#include "methods/timings.hpp"
#include "methods/training_run.hpp"
#include "refit/kept_statistics.hpp"
#include "refit/refit.hpp"
#include "report/fit_report.hpp"
#include "report/page.hpp"
#include "report/plan_report.hpp"
#include "report/private_evaluation.hpp"
#include "report/run_facts.hpp"
#include "report/run_metrics.hpp"

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

// About how large kept statistics become, and not less.
std::size_t statistics_bytes(const FitPlan& plan) {
  std::size_t numbers = plan.projection_elements + 2 * plan.preprocessing.dim();
  for (const ReleaseRequest& request : plan.requests) {
    for (const BlockRequest& block : request.blocks) numbers += block.elements;
  }
  return kModelHeader + sizeof(std::int64_t) * numbers;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files that a run leaves, opened before anything is spent. On the coordinator.
struct Outputs {
  // Throws BadInput if an existing model is of another run: a resumed run makes its own again, byte for byte.
  void write_model(const FitOptions& options, std::span<const std::byte> bytes, bool goes_on) {
    if (!model) return;  // of a private evaluation
    const bool is_foreign =
        goes_on && !options.output.overwrite && is_file(options.output.out) &&
        !std::ranges::equal(std::as_bytes(std::span<const char>(content_of(options.output.out))), bytes);
    if (is_foreign) {
      throw BadInput("{}: already exists, and is the model of another run; give another name, or --overwrite",
                     options.output.out);
    }
    model->commit(bytes);
  }

  Outputs(const FitOptions& options, const FitPlan& plan, Existing existing) {
    if (options.is_of_training_rows()) {
      model.emplace(options.output.out, existing);
      model->reserve(options.statistics.empty() ? model_bytes(options, plan) : statistics_bytes(plan));
    }
    if (!options.output.report.empty()) report.emplace(options.output.report, existing);
    if (!options.output.html.empty()) html.emplace(options.output.html, existing);
    if (!options.output.timings.empty()) timings.emplace(options.output.timings, existing, Readers::kOwnerOnly);
    if (!options.output.metrics.empty()) {
      metrics_file.emplace(options.output.metrics, existing);
      metrics.emplace(*metrics_file, plan, options.data.unit(), options.privacy.budget.delta.value_or(kReportedDelta));
    }
  }
  std::optional<AtomicFile> model;  // or, of `dpreduce release`, statistics
  std::optional<AtomicFile> report;
  std::optional<AtomicFile> html;
  std::optional<AtomicFile> timings;
  std::optional<LineFile> metrics_file;
  std::optional<RunMetrics> metrics;
};

// Throws where an output is a file that this rank reads rows from.
void require_outputs_apart(const FitOptions& options, const OpenFit& open, const std::optional<WorkerRows>& test,
                           int rank) {
  const std::array outputs{NamedPath{"--out", options.is_of_training_rows() ? options.output.out : ""},
                           NamedPath{"--report", options.output.report}, NamedPath{"--html", options.output.html},
                           NamedPath{"--metrics", options.output.metrics},
                           NamedPath{"--timings", options.output.timings}};
  require_not_read(outputs, open.training);
  if (!open.training.is_none()) {  // the coordinator of silos has none
    for (const auto* files : {&options.data.train.person, &options.data.train.weight, &options.data.test.person}) {
      for (const std::string& path : expand_paths(*files, static_cast<std::size_t>(rank))) {
        require_not_read(outputs, split_array_path(path).file);
      }
    }
  }
  for (const std::optional<WorkerRows>* rows :
       {&open.public_sums, &open.validation, &open.candidates, &open.evaluated, &test}) {
    if (*rows) require_not_read(outputs, **rows);
  }
}

// Returns whether somebody reads what releases show of themselves.
bool has_readers(const OutputOptions& output) {
  return !output.report.empty() || !output.html.empty() || output.format == OutputFormat::kJson;
}

// Log that a party of a run among silos writes for its owner; null elsewhere.
PartyLog* log_of(const Communicator& ranks) {
  return ranks.silos() == nullptr ? nullptr : ranks.silos()->entry().log;
}

// Reports to the party's owner, and to nobody else, whether it has rows: this is a silo's own.
void log_rows(const WorkerRows& rows, const Communicator& ranks) {
  PartyLog* const log = log_of(ranks);
  if (log == nullptr) return;
  const bool is_empty = rows.range().count == 0;
  log->line(rows.is_none() ? "no rows here"
            : is_empty     ? "files opened, there is NO ROW in them"
                           : "rows opened, they fit");
}

Timings::OnPhase phases_to_log(const Communicator& ranks) {
  PartyLog* log = log_of(ranks);
  if (log == nullptr) return nullptr;
  return [log](const std::string& phase, double seconds) { log->end_phase(phase, seconds); };
}

void warn_on_error_stream(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

// Throws BadInput where a file is at this path of a report that is no report of a run that the file is of.
void require_report_of(const RunFile& file, const std::string& path) {
  if (path.empty() || !is_file(path)) return;
  const nlohmann::json report = parse_json(content_of(path));
  if (report.is_object() && file.has_run(JsonFields(report, path).object("ledger").text("run"))) return;
  throw BadInput("{}: already exists, and is not a report of the resumed run; give another name, or --overwrite", path);
}

// A page on the report and, where the run has noise, the ledger as the run has left it.
std::string page_of_run(const nlohmann::json& report, const FitOptions& options, bool has_noise) {
  const std::string name = options.output.report.empty() ? "report" : options.output.report;
  std::vector<PageDocument> documents{fit_document(reported_run(report, name))};
  if (has_noise) documents.push_back(ledger_document(options.privacy.ledger));
  return page_of(documents);
}

// The command, step by step. Each step is collective.
class FitSteps {
 public:
  FitSteps(const FitOptions& asked, Communicator& ranks)
      : requested_(asked), ranks_(ranks), timings_(phases_to_log(ranks)), open_(opened()) {}

  void run() {
    log_rows(open_.training, ranks_);
    const std::string weakness = weakness_of(plan(), options().data.unit());
    if (ranks_.is_coordinator() && !weakness.empty()) warn_on_error_stream("dpreduce: warning: " + weakness);
    report_columns();
    if (options().output.dry_run) return report_cost();
    open_test_rows();
    std::optional<FitAccount> account = open_account(*open_.fit, ranks_);
    open_outputs(account);
    FittedRun run = train_on_rows(std::move(account));
    with_way_to_resume(*run.releaser, warn_on_error_stream, [&] { finish(run); });
  }

 private:
  const FitOptions& options() const { return open_.fit->options(); }
  const FitPlan& plan() const { return open_.fit->plan(); }

  Existing existing_outputs() const { return options().output.overwrite ? Existing::kReplace : Existing::kKeep; }
  bool keeps_statistics() const { return !options().statistics.empty(); }
  bool keeps_gram() const { return keeps_statistics() || options().data.has_targets(); }

  OpenFit opened() {
    ranks_.together([&] { require_silos(requested_, ranks_); });
    require_consent(requested_, ranks_);
    OpenFit open = open_fit(requested_, ranks_);
    ranks_.together([&] { require_on_roster(open.fit->options(), ranks_); });
    return open;
  }

  // Before anything is spent, to whoever sits at a terminal; scripts have it from --dry-run.
  void report_columns() const {
    if (!ranks_.is_coordinator() || options().output.quiet || options().output.dry_run) return;
    if (isatty(STDERR_FILENO) == 0 || options().rows.finds_some()) return;
    if (const std::string note = note_on_columns(options(), plan()); !note.empty()) {
      warn_on_error_stream("dpreduce: " + note);
    }
  }

  void report_cost() const {
    if (!ranks_.is_coordinator()) return;
    const WorkerRows& rows = open_.training;
    nlohmann::json dry_run = dry_run_json(options(), plan());
    dry_run["cost"] =
        cost_json(ranks_.size(), open_.threads,
                  memory_of_rank(options(), plan(), rows.range().count, ranks_.size()) + rows.held_bytes(),
                  available_memory(), words_of_rank(options(), plan(), ranks_.size()));
    print_result(options().output.format, dry_run,
                 [&] { return "dry run: no rows were read, nothing was spent\n" + dry_run_text(dry_run); });
  }

  // Outputs are opened before anything is spent, but for those of a run that may go on: it replaces what its first
  // start may have left, and whether there was one is known with its account.
  void open_test_rows() {
    ranks_.together([&] {
      if (!options().data.test.x.empty() && !open_.evaluated) {
        test_rows_.emplace(open_rows_of_rank(options().data.test, open_.training, ranks_));
        if (options().data.has_targets() && !test_rows_->is_none()) {
          require_targets_of_model(*test_rows_, options().data.classes);
        }
        look_at_rows(*test_rows_, options().data.classes, options().data.test.bad_rows, ranks_);
      }
      require_outputs_apart(options(), open_, test_rows_, ranks_.rank());
      if (ranks_.is_coordinator() && !options().privacy.resume) {
        outputs_.emplace(options(), plan(), existing_outputs());
      }
    });
    if (test_rows_) agree_on_columns(*test_rows_, ranks_);
    require_room_to_test();
    if (WorkerRows* test = rows_to_test()) {
      trained_and_tested_ = training_rows_among({"test", *test}, open_.training, nullptr, ranks_);
    }
    if (ranks_.is_coordinator()) warn_of_training_rows(trained_and_tested_, open_.evaluated.has_value());
  }

  // Test rows, whether figures of them are exact or private; null where there are none here.
  WorkerRows* rows_to_test() {
    if (open_.evaluated) return &*open_.evaluated;
    return test_rows_ ? &*test_rows_ : nullptr;
  }

  // Throws, before anything is spent, where test rows do not fit into memory while training rows stay open. Collective:
  // among silos the coordinator alone has some.
  void require_room_to_test() {
    const MachineShare machine = machine_share(ranks_);
    ranks_.together([&] {
      if (rows_to_test() == nullptr) return;
      const WorkerRows& test = *rows_to_test();
      const std::uint64_t labels =
          test.has_label_sets() ? test.range().count * options().data.most_labels() : std::uint64_t{0};
      machine.require(memory_of_test(options(), plan()) + labels * kBytesOfTestLabel + test.held_bytes() +
                          open_.training.held_bytes(),
                      open_.training.mapped_bytes() + test.mapped_bytes());
    });
  }

  // A run that goes on replaces the outputs of the run before, if they are of that run. An account that cannot be used
  // removes its new file.
  void open_outputs(std::optional<FitAccount>& account) {
    ranks_.at_coordinator([&] {
      if (account) {
        for (const std::string& note : account->notes) warn_on_error_stream("dpreduce: " + note);
      }
      if (outputs_) return;
      goes_on_ = account && account->goes_on;
      try {
        if (goes_on_ && !options().output.overwrite) require_report_of(account->file, options().output.report);
        outputs_.emplace(options(), plan(), goes_on_ ? Existing::kReplace : existing_outputs());
      } catch (const Error&) {
        if (account && account->file.is_new()) account->file.remove();
        throw;
      }
    });
  }

  FittedRun train_on_rows(std::optional<FitAccount> account) {
    if (plan().noise && options().is_of_training_rows()) figures_.emplace(*plan().noise, has_readers(options().output));
    const bool shows = ranks_.is_coordinator() && !options().output.quiet;
    RunProgress::RoundsOfPhases rounds;
    for (const ReleaseRequest& request : plan().requests) rounds[request.name] = request.rounds;
    progress_.emplace(shows ? RunProgress::form_of_standard_error() : RunProgress::Form::kNone, std::move(rounds));
    return train(open_.fit, open_.training, open_.public_rows(), ranks_, std::move(account),
                 {.threads = open_.threads,
                  .timings = std::move(timings_),
                  .progress = progress_->of_passes(),
                  .observer = observer(),
                  .warn = warn_on_error_stream,
                  .evaluated = open_.evaluated ? &*open_.evaluated : nullptr});
  }

  // Whoever is shown the run's releases; null where a run without noise has none to show.
  ReleaseWatcher observer() {
    if (!options().is_of_training_rows()) {
      return [this](const WatchedRelease& watched) { told_.push_back(watched.release); };
    }
    if (!figures_) return nullptr;
    return [this](const WatchedRelease& watched) {
      if (watched.name == "evaluation") {
        told_.push_back(watched.release);
      } else if (keeps_gram()) {
        keeper_.add(watched);
      }
      if (watched.name == kWholeClassGrams) return;  // its figures are those of the release
      const std::span<const BlockFigures> added = figures_->add(watched);
      if (outputs_->metrics) outputs_->metrics->add(watched.name, added);
    };
  }

  void finish(FittedRun& run) {
    // Results that have been paid for are kept, whatever becomes of the test.
    ranks_.at_coordinator([&] {
      outputs_->write_model(
          options(), keeps_statistics() ? to_bytes(keeper_.taken(*run.fit)) : to_bytes(run.classifier), goes_on_);
    });
    if (PartyLog* const log = log_of(ranks_);
        log != nullptr && options().is_of_training_rows() && !keeps_statistics()) {
      log->line(fmt::format("model: SHA-256 {}", to_hex(sha256(to_bytes(run.classifier)))));
    }
    run.timings.end_phase("write");
    const std::optional<TestFigures> test = tested(run);
    const nlohmann::json report = write_report(run, test);
    run.finish();
    progress_->end();
    ranks_.at_coordinator([&] {
      if (outputs_->metrics) outputs_->metrics->end();
      if (outputs_->html) {
        outputs_->html->write(page_of_run(report, options(), plan().noise.has_value()));
        outputs_->html->commit();
      }
      if (options().output.quiet) return;
      print_result(options().output.format, report, [&] { return run_text(run, report); });
    });
  }

  // Among silos the coordinator alone has test rows.
  std::optional<TestFigures> tested(FittedRun& run) {
    const bool is_shared = ranks_.silos() == nullptr;
    if (!test_rows_ || !(is_shared || ranks_.is_coordinator())) return std::nullopt;
    progress_->begin("test");
    Communicator coordinator = Communicator::alone();
    TestFigures figures = evaluate_on_ranks(is_shared ? ranks_ : coordinator, run.classifier, *test_rows_,
                                            options().data.test.bad_rows, open_.threads);
    run.timings.end_phase("test");
    return figures;
  }

  // Writes report and timings. Returns the report, at the coordinator.
  nlohmann::json write_report(const FittedRun& run, const std::optional<TestFigures>& test) {
    const bool is_shared = ranks_.size() > 1 && ranks_.silos() == nullptr;
    const std::vector<RankTimings> of_ranks =
        is_shared ? gather_timings(run.timings, ranks_) : std::vector<RankTimings>{};
    nlohmann::json report;
    ranks_.at_coordinator([&] {
      report = report_of(run, test);
      if (outputs_->report) outputs_->report->commit(json_text(report, 2) + "\n");
      if (outputs_->timings) {
        nlohmann::json seconds = timings_json(run.timings.phases(), of_ranks);
        if (ranks_.silos() != nullptr) seconds["waits"] = waits_json(ranks_);
        outputs_->timings->commit(json_text(seconds, 2) + "\n");
      }
    });
    return report;
  }

  nlohmann::json report_of(const FittedRun& run, const std::optional<TestFigures>& test) {
    if (!options().is_of_training_rows()) return private_report(run, told_, ranks_.size());
    nlohmann::json report = fit_report(run, test, figures_ ? &*figures_ : nullptr, ranks_.size(), open_.threads);
    if (open_.evaluated) report["test"] = evaluation_json(run, told_);
    if (test && !trained_and_tested_.empty()) report["test"].update(training_rows_note());
    if (ranks_.silos() != nullptr) report["silos"] = silos_json(ranks_, options().silos.noise);
    if (keeps_gram() && !keeps_statistics()) report["coefficients"] = coefficients_json(run, keeper_);
    return report;
  }

  const FitOptions& requested_;
  Communicator& ranks_;
  Timings timings_;
  OpenFit open_;
  std::optional<WorkerRows> test_rows_;
  std::vector<Release> told_;              // of figures of test rows; at the coordinator
  std::string trained_and_tested_;         // which test rows are training rows; empty: none
  std::optional<Outputs> outputs_;         // at the coordinator
  bool goes_on_ = false;                   // a run that charged something before; at the coordinator
  StatisticsKeeper keeper_;                // at the coordinator
  std::optional<ReleaseFigures> figures_;  // empty without noise: there would be nothing but exact figures
  std::optional<RunProgress> progress_;
};

}  // namespace

void fit_and_write(const FitOptions& asked, Communicator& ranks) {
  if (asked.evaluation.files.empty()) return FitSteps(asked, ranks).run();
  FitOptions evaluation;
  ranks.together([&] {
    require_silos(asked, ranks);
    evaluation = validated(evaluation_of(asked));
  });
  FitSteps(evaluation, ranks).run();
}

}  // namespace dpreduce
