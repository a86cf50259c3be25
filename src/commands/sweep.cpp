// Many fits on the same rows, in one job: methods x budgets x imbalances x seeds.
//
//     arguments of a fit, each parsed and planned first  ->  rows opened once  ->  run, test, forget  ->  table
//
// An experiment: noise is seeded, so that none of its runs is private, and no ledger is kept.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/command_line/command_line.hpp"
#include "commands/command_line/row_options.hpp"
#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "commands/run_progress.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/option_checks.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/version.hpp"
#include "common/data/output_check.hpp"
#include "common/data/row_files.hpp"
#include "common/files/atomic_file.hpp"
#include "common/files/line_file.hpp"
#include "common/files/private_folder.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/files_once.hpp"
#include "fit/fit.hpp"
#include "fit/open_fit.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/release_figures.hpp"
#include "fit/resolved_fit.hpp"
#include "fit/validated_options.hpp"
#include "forecast/machine_memory.hpp"
#include "forecast/prediction_memory.hpp"
#include "forecast/run_cost.hpp"
#include "methods/method_terms.hpp"
#include "methods/options/fit_options.hpp"
#include "methods/options/method_options.hpp"
#include "methods/registry.hpp"
#include "report/explanation.hpp"
#include "report/page/page.hpp"
#include "report/run_metrics.hpp"
#include "report/sweep_results.hpp"

namespace dpreduce {
namespace {

struct SweepOptions {
  RowFiles train;
  RowFiles test;
  std::vector<std::string> public_x;
  std::size_t classes = 0;
  std::vector<std::string> methods;  // each as it follows --method of fit, with options of its own
  std::vector<double> epsilons;
  bool non_private = false;  // and every method without noise, to compare with
  double delta = 1e-5;
  std::vector<double> ratios{1.0};  // of imbalance
  std::uint64_t seeds = 5;          // 1, ..., seeds, of noise and of long tails
  Adjacency adjacency = Adjacency::kAddRemove;
  std::string out = "sweep";  // .csv and .json
  std::string html{};         // a page on what is in the JSON; empty: none
  std::string metrics{};      // JSON lines of all runs; empty: none
  bool overwrite = false;     // replace what is there already
  bool quiet = false;         // no progress and no table
  unsigned threads = 0;       // as of fit
  std::optional<std::size_t> memory_mib;
};

constexpr double kMostSeeds = 1e6;

SweepOptions validated(SweepOptions options) {
  options.classes = classes_of(options.classes, options.train.class_names);
  require_classes(options.classes);
  require_class_names(options.train.class_names, options.classes);
  options.test.class_names = options.train.class_names;
  require_option_between("--seeds", static_cast<double>(options.seeds), 1, kMostSeeds);
  const auto check_once = [](const char* option, const auto& values) {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) throw UsageError(fmt::format("{} {}: occurs twice", option, *twice));
  };
  check_once("--methods", options.methods);
  check_once("--epsilons", options.epsilons);
  check_once("--imbalance", options.ratios);
  for (const double epsilon : options.epsilons) require_option_positive("--epsilons", epsilon);
  for (const double ratio : options.ratios) require_option_between("--imbalance", ratio, 1, kLargestImbalance);
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  require_option_between("--threads", options.threads, 0, kMostThreads);
  if (options.memory_mib) {
    require_option_between("--memory", static_cast<double>(*options.memory_mib), 1,
                           static_cast<double>(kMostMemoryMib));
  }
  return options;
}

// One run, and what came of it.
struct SweptRun {
  std::string method;             // as in --methods
  std::optional<double> epsilon;  // none: without noise
  double ratio;
  std::uint64_t seed;
  FitOptions options;
  std::shared_ptr<const ResolvedFit> fit{};
  std::optional<ClassCounts> test{};
  double seconds = 0.0;
};

// The words of a method of --methods. Throws UsageError where options are among them that a sweep has of its own: there
// they would count for nothing.
std::vector<std::string> words_of(const std::string& entry) {
  std::istringstream text(entry);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty()) throw UsageError("--methods: one of them is empty; name a method");
  CommandEntry fit = fit_command();
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const Option* option = fit.options.find(word.substr(0, word.find('=')));
    if (option == nullptr || option->group == kMethodGroup || option->is_named("accountant")) continue;
    throw UsageError(fmt::format("--methods '{}': {} says nothing of how to train; only what does may follow a method",
                                 entry, word));
  }
  return words;
}

bool uses_public_rows(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    const MethodEntry* method = find_method(word);
    return (method != nullptr && method->chooses_public_rows) || word == to_string(Centering::kPublic) ||
           word == to_string(Objective::kBalanced) || word == "--pca";
  });
}

// The arguments after `dpreduce` that would make the run.
std::vector<std::string> arguments_of(const SweepOptions& sweep, const SweptRun& run) {
  const std::vector<std::string> method = words_of(run.method);
  std::vector<std::string> arguments{"fit"};
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    arguments.emplace_back(option);
    arguments.insert(arguments.end(), values.begin(), values.end());
  };
  const auto add_value = [&](const char* option, const auto& value) { add(option, {fmt::format("{}", value)}); };
  add("--train-x", sweep.train.x);
  add("--train-y", sweep.train.y);
  if (!sweep.public_x.empty() && uses_public_rows(method)) add("--public-x", sweep.public_x);
  add("--method", method);
  add_value("--classes", sweep.classes);
  add_value("--adjacency", to_string(sweep.adjacency));
  add_value("--seed", run.seed);
  if (run.epsilon) {
    add_value("--epsilon", *run.epsilon);
    add_value("--delta", sweep.delta);
  } else {
    add("--non-private", {});
  }
  if (run.ratio > 1.0) {
    add_value("--imbalance-ratio", run.ratio);
    add_value("--imbalance-seed", run.seed);
  }
  return arguments;
}

FitOptions options_of(const SweepOptions& sweep, const SweptRun& run) {
  CommandEntry root{.name = "dpreduce", .help = {}, .commands = {fit_command()}, .needs_command = true};
  const RunnableCommand command = parse_command_line(std::move(root), arguments_of(sweep, run));
  const FitCommand* fit = command.target<FitCommand>();
  if (fit == nullptr) throw UsageError(fmt::format("--methods '{}': is not how a fit would train", run.method));
  FitOptions used = fit->options;
  used.data.train.bad_rows = sweep.train.bad_rows;
  used.data.train.class_names = sweep.train.class_names;
  return used;
}

// All runs, in the order in which they are made: those on the same rows follow one another.
std::vector<SweptRun> runs_of(const SweepOptions& sweep) {
  std::vector<SweptRun> runs;
  for (const double ratio : sweep.ratios) {
    for (std::uint64_t seed = 1; seed <= sweep.seeds; ++seed) {
      for (const std::string& method : sweep.methods) {
        const auto add = [&](std::optional<double> epsilon) {
          runs.push_back({.method = method, .epsilon = epsilon, .ratio = ratio, .seed = seed, .options = {}});
          runs.back().options = options_of(sweep, runs.back());
        };
        for (const double epsilon : sweep.epsilons) add(epsilon);
        // On all rows a seed decides nothing but noise.
        if (sweep.non_private && (seed == 1 || ratio > 1.0)) add(std::nullopt);
      }
    }
  }
  return runs;
}

class Sweep {
 public:
  Sweep(const SweepOptions& options, Communicator& ranks)
      : options_(options),
        ranks_(ranks),
        threads_(options.threads == 0 ? default_threads() : options.threads),
        train_(open_ranked_rows(options.train, ranks)) {
    ranks.together([&] {
      if (train_.has_label_sets()) throw UsageError("sweep: rows of one class each are needed; use fit");
      test_.emplace(open_rows_for(train_.dim(), options.test, ranks.rank(), ranks.size()));
      if (test_->has_label_sets()) throw UsageError("sweep: test rows of one class each are needed; use fit");
      label_counts(test_->labels(), test_->range(), options.classes, ranks);
      runs_ = runs_of(options);
    });
    FitOptions any_public;
    for (const SweptRun& run : runs_) {
      const bool chooses = may_choose_public_rows(run.options);
      const bool is_first = any_public.data.public_x.empty();
      if (chooses && (is_first || run.options.method.top_k > any_public.method.top_k)) any_public = run.options;
    }
    if (!any_public.data.public_x.empty()) candidates_ = open_candidates(any_public, train_.dim(), ranks);
    if (!options.public_x.empty()) {
      FitOptions sums = any_public;
      sums.data.public_x = options.public_x;
      sums.rows.center = Centering::kPublic;
      public_rows_ = open_public_rows(sums, train_.dim(), ranks);
    }
    for (std::optional<WorkerRows>* const rows : {&candidates_, &public_rows_}) {
      if (*rows) require_public({"public", &**rows}, train_, {}, ranks);
    }
    trained_and_tested_ = training_rows_among({"test", &*test_}, train_, {}, ranks);
    if (ranks.is_coordinator()) warn_of_training_rows(trained_and_tested_);
    const std::uint64_t count = candidates_ ? candidates_->range().count : 0;
    const MachineShare machine = machine_share(ranks);
    for (SweptRun& run : runs_) {
      if (options_.memory_mib) run.options.machine.memory_mib = options_.memory_mib;
      run.fit = resolved_for_job(run.options, train_.dim(), count, machine.bytes_for_rank(), ranks);
    }
    ranks.together([&] {
      for (const SweptRun& run : runs_) {
        const FitOptions& of_run = run.fit->options();
        machine.require(std::max(memory_of_rank(of_run, run.fit->plan(), train_.range().count, ranks.size()),
                                 memory_of_test(of_run, run.fit->plan())) +
                            train_.held_bytes() + test_->held_bytes(),
                        train_.mapped_bytes() + test_->mapped_bytes());
      }
    });
  }

  /// `metrics` is the coordinator's, where lines are asked for; null elsewhere.
  void make_runs(LineFile* metrics) {
    RunProgress progress = shown_runs();
    const SweptRun* last = nullptr;
    for (SweptRun& run : runs_) {
      progress.begin_run();
      if (last == nullptr || std::tie(last->ratio, last->seed) != std::tie(run.ratio, run.seed)) take_rows(run);
      std::optional<RunMetrics> metrics_of_run;
      if (metrics != nullptr)
        metrics_of_run.emplace(*metrics, run.fit->plan(), run.options.data.unit(), options_.delta, name_of(run));
      make_run(run, progress, metrics_of_run);
      last = &run;
    }
  }

  const std::vector<SweptRun>& runs() const { return runs_; }
  bool tests_training_rows() const { return !trained_and_tested_.empty(); }
  /// The rows that are read.
  std::vector<const WorkerRows*> all_rows() const {
    std::vector<const WorkerRows*> all{&train_};
    for (const std::optional<WorkerRows>* rows : {&test_, &public_rows_, &candidates_}) {
      if (*rows) all.push_back(&**rows);
    }
    return all;
  }

 private:
  void take_rows(const SweptRun& run) {
    ranks_.together([&] {
      train_.keep_all();
      if (const auto tail = long_tail_of(run.options.data)) keep_long_tail(train_, options_.classes, *tail);
    });
  }

  // The runs as the coordinator shows them. Collective.
  RunProgress shown_runs() {
    const JobShape job = shape_of_job(train_.range().count, threads_, ranks_);
    std::vector<ShownRun> shown;
    for (const SweptRun& run : runs_) {
      const FitOptions& options = run.fit->options();
      shown.push_back({.label = fmt::format("run {} of {}, {} {}", shown.size() + 1, runs_.size(), run.method,
                                            run.epsilon ? fmt::format("at epsilon {}", *run.epsilon) : "without noise"),
                       .phases = phases_of(options, run.fit->plan(), job)});
      shown.back().phases.push_back(test_work(test_->range().count, options.data.classes, run.fit->plan().dim));
    }
    const bool shows = ranks_.is_coordinator() && !options_.quiet;
    return {shows ? ProgressLine::form_of_standard_error() : ProgressLine::Form::kNone, shown};
  }

  // The run's name, as lines of metrics have it.
  nlohmann::json name_of(const SweptRun& run) const {
    return {{"number", &run - runs_.data() + 1}, {"runs", runs_.size()},         {"method", run.method},
            {"epsilon", or_null(run.epsilon)},   {"imbalance_ratio", run.ratio}, {"seed", run.seed}};
  }

  void make_run(SweptRun& run, RunProgress& progress, std::optional<RunMetrics>& metrics) {
    const auto started = std::chrono::steady_clock::now();
    const std::string ledger = folder_ / "ledger";
    const PublicRows public_rows{.features = public_rows_ ? &*public_rows_ : nullptr,
                                 .validation = nullptr,
                                 .candidates = candidates_ ? &*candidates_ : nullptr};
    {
      std::optional<FitAccount> account;
      std::optional<ReleaseFigures> figures;  // without noise they would be exact
      ReleaseWatcher observer;
      if (run.epsilon) {
        account.emplace(FitAccount{.charging = {.ledger_path = ledger}, .journal = NoiseKey::from_seed(run.seed)});
        figures.emplace(*run.fit->plan().noise, false);
        observer = [&figures, &metrics](const WatchedRelease& watched) {
          if (metrics) metrics->add(watched.name, figures->add(watched));
        };
      }
      FittedRun fitted =
          train(run.fit, train_, public_rows, ranks_, std::move(account),
                {.threads = threads_, .progress = progress.of_passes(), .observer = std::move(observer)});
      progress.begin("test");
      const TestFigures tested =
          evaluate_on_ranks(ranks_, fitted.classifier, *test_, run.fit->options().data.train.bad_rows, threads_);
      run.test = std::get<ClassCounts>(tested);
      run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      fitted.finish();
    }
    ranks_.together([&] {
      if (metrics) metrics->end();
    });
    std::filesystem::remove(ledger);
  }

  const SweepOptions& options_;
  Communicator& ranks_;
  unsigned threads_;
  PrivateFolder folder_;
  WorkerRows train_;
  std::optional<WorkerRows> test_;
  std::optional<WorkerRows> public_rows_;
  std::optional<WorkerRows> candidates_;
  std::string trained_and_tested_;  // which test rows are training rows
  std::vector<SweptRun> runs_;
};

// Training shares of the classes of a long tail; empty where all rows are trained on, since then no public word says
// which classes are small.
std::vector<double> shares_of(const SweptRun& run) {
  if (run.ratio == 1.0) return {};
  return long_tail_shares(run.options.data.classes, run.ratio);
}

nlohmann::json json_of(const SweepOptions& sweep, const std::vector<SweptRun>& runs, int ranks) {
  nlohmann::json json{{"version", version()},
                      {"private", false},
                      {"note",
                       "an experiment: seeded noise can be computed by anyone, none of these runs is private; figures "
                       "are about the test rows"},
                      {"methods", sweep.methods},
                      {"epsilons", sweep.epsilons},
                      {"delta", sweep.delta},
                      {"adjacency", to_string(sweep.adjacency)},
                      {"imbalance_ratios", sweep.ratios},
                      {"seeds", sweep.seeds},
                      {"classes", sweep.classes},
                      {"ranks", ranks},
                      {"runs", nlohmann::json::array()}};
  const double largest = *std::max_element(sweep.epsilons.begin(), sweep.epsilons.end());
  if (const std::string weakness = weakness_of(largest, sweep.delta); !weakness.empty()) json["warning"] = weakness;
  for (const SweptRun& run : runs) {
    json["runs"].push_back({{"method", run.method},
                            {"trained_by", run.fit->options().method.name},
                            {"settings", run.fit->method().settings()},
                            {"epsilon", or_null(run.epsilon)},
                            {"imbalance_ratio", run.ratio},
                            {"seed", run.seed},
                            {"seconds", run.seconds},
                            {"test", to_json(*run.test, shares_of(run))}});
  }
  return json;
}

// The results, as OUT.json has them, at the coordinator.
nlohmann::json swept(const SweepOptions& options, Communicator& ranks) {
  Sweep sweep(options, ranks);
  std::optional<AtomicFile> csv;
  std::optional<AtomicFile> json;
  std::optional<AtomicFile> html;
  std::optional<LineFile> metrics;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const Existing existing = options.overwrite ? Existing::kReplace : Existing::kKeep;
    const std::array outputs{NamedPath{"--out", options.out + ".csv"}, NamedPath{"--out", options.out + ".json"},
                             NamedPath{"--html", options.html}, NamedPath{"--metrics", options.metrics}};
    for (const WorkerRows* rows : sweep.all_rows()) require_not_read(outputs, *rows);
    csv.emplace(options.out + ".csv", existing);
    json.emplace(options.out + ".json", existing);
    if (!options.html.empty()) html.emplace(options.html, existing);
    if (!options.metrics.empty()) metrics.emplace(options.metrics, existing);
  });
  if (ranks.is_coordinator()) {
    warn_of_weakness(weakness_of(*std::max_element(options.epsilons.begin(), options.epsilons.end()), options.delta));
  }
  sweep.make_runs(metrics ? &*metrics : nullptr);
  nlohmann::json results;
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    results = json_of(options, sweep.runs(), ranks.size());
    csv->write(csv_of_sweep(results));
    if (sweep.tests_training_rows()) results["test_rows_are_training_rows"] = true;
    json->write(json_text(results, 2) + "\n");
    csv->commit();
    json->commit();
    if (html) {
      html->write(page_of(std::vector{document_of_json(results, options.out + ".json")}));
      html->commit();
    }
    if (options.quiet) return;
    print_sweep(results);
    fmt::print("wrote {0}.csv and {0}.json: {1} runs, none of them private\n", options.out, sweep.runs().size());
  });
  return results;
}

void run(const SweepOptions& options, Communicator& ranks) {
  swept(options, ranks);
}

}  // namespace

CommandEntry sweep_command() {
  const auto options = std::make_shared<SweepOptions>();
  CommandEntry command{.name = "sweep",
                       .help = "many fits on the same rows, into one table: an experiment, not private"};
  OptionTable& table = command.options;
  table.files("--train-x", options->train.x, "as in fit").required();
  table.files("--train-y", options->train.y, "one class index or name a row").required();
  table.files("--test-x", options->test.x, "features that every figure is about").required();
  table.files("--test-y", options->test.y, "their labels").required();
  table.files("--public-x", options->public_x, "as in fit, for the methods that take them");
  declare_classes(table, options->classes, options->train.class_names, "K").required();
  table.choice("--bad-rows", options->train.bad_rows, "as in fit");
  table.files("--methods", options->methods, "each what would follow --method of fit, with options of its own")
      .typed("TEXT,...")
      .split_at(',')
      .required();
  table.numbers("--epsilons", options->epsilons, "budgets, each with --delta").required();
  table.flag("--non-private", options->non_private, "every method without noise too, to compare with");
  table.number("--delta", options->delta, "of every budget; not spent by methods that are pure");
  table.numbers("--imbalance", options->ratios,
                "ratios of long tails to train on, as --imbalance-ratio of fit; 1: all rows");
  table.count("--seeds", options->seeds, "runs of every kind, with seeds 1, 2, ... for noise and long tail");
  table.choice("--adjacency", options->adjacency, "which data sets are neighbors");
  table.file("--out", options->out, "writes OUT.csv, one line a run, and OUT.json").written({".csv", ".json"});
  table.file("--html", options->html, "a page to look at: charts and tables of OUT.json").written();
  table
      .file("--metrics", options->metrics,
            "JSON lines that grow with the sweep: run, phase, round, norm of what is released beside its noise, budget "
            "spent; no test figures")
      .written();
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  table.flag("--quiet", options->quiet, "print no progress and no table; warnings and errors stay");
  table.count("--threads", options->threads, "a rank; default: all cores alone, 1 under mpirun").defaults_to("");
  table.count("--memory", options->memory_mib, "for the rows of a rank, as in fit").typed("MIB");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce sweep --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 10 --public-x p.npy "
      "\\\n"
      "    --methods 'mean --center public,public --center public,auto' --epsilons 0.1,1,8 --imbalance 1,10,100 "
      "--seeds 3\n"
      "  mpirun -n 4 dpreduce sweep ... --methods 'ls --shared-gram --center dp,fc --center dp' --epsilons 1 --out "
      "flagships";
  command.chosen = [options](const ParsedCommand&) { return by_all_ranks(run, validated(*options)); };
  command.result = [options](const ParsedCommand&) {
    require_single_process();
    options->quiet = true;
    Communicator alone = Communicator::alone();
    return json_text(swept(validated(*options), alone));
  };
  return command;
}

}  // namespace dpreduce
