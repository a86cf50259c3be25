// `dpreduce evaluate --private`, and what parties over a network evaluate: the run, and what it prints.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/charged_steps.hpp"
#include "commands/commands.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_format.hpp"
#include "common/data/output_check.hpp"
#include "common/files/atomic_file.hpp"
#include "evaluate/private_evaluation.hpp"
#include "fit/files_once.hpp"
#include "fit/fit_account.hpp"
#include "fit/open_fit.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/validated_options.hpp"
#include "report/plan_report.hpp"

namespace dpreduce {
namespace {

std::string figure_text(const nlohmann::json& figure) {
  if (figure["value"].is_null()) return "too little data for this budget";
  return fmt::format("{:.3f}  from {:.3f} to {:.3f}, noise {:.2g}", figure["value"].get<double>(),
                     figure["low"].get<double>(), figure["high"].get<double>(), figure["noise"].get<double>());
}

void print_private(const nlohmann::json& report, const ResolvedFit& run) {
  const PrivacyOptions& privacy = run.options().privacy;
  fmt::print("privacy    {}, {}, of each {}\n", guarantee_text(*run.plan().guarantee, privacy.budget),
             to_string(privacy.adjacency), run.options().data.has_units() ? "person" : "test row");
  fmt::print("ledger     {}\n", privacy.ledger);
  fmt::print("intervals  hold noise and sampling with probability {:g} each\n", run.options().evaluation.level);
  const nlohmann::json& metrics = report["metrics"];
  for (const auto& [name, key] :
       {std::pair{"accuracy", "accuracy"}, std::pair{"accuracy of second", "accuracy_b"},
        std::pair{"second less first", "difference"}, std::pair{"largest gap of groups", "largest_gap"},
        std::pair{"balanced accuracy", "balanced_accuracy"}, std::pair{"top k", "top_k"}, std::pair{"AUC", "auc"},
        std::pair{"micro F1", "micro_f1"}, std::pair{"log loss", "log_loss"},
        std::pair{"calibration error", "calibration_error"}, std::pair{"Brier score", "brier"}, std::pair{"R^2", "r2"},
        std::pair{"RMSE", "rmse"}}) {
    if (metrics.contains(key)) fmt::print("{:<22} {}\n", name, figure_text(metrics[key]));
  }
  if (metrics.contains("difference")) {
    fmt::print("the second model is the better one with probability {:.3g}\n",
               metrics["difference"]["b_is_better"].get<double>());
  }
  constexpr std::size_t kMostToList = 20;
  for (const auto& [key, of, names] :
       {std::tuple{"by_group", "group", "group_names"}, std::tuple{"recall", "class", "class_names"},
        std::tuple{"precision", "class", "class_names"}, std::tuple{"f1", "class", "class_names"}}) {
    if (!metrics.contains(key)) continue;
    if (metrics[key].size() > kMostToList) {
      fmt::print("{} of {} is in the JSON report\n", key, metrics[key].size());
      continue;
    }
    for (const nlohmann::json& figure : metrics[key]) {
      const std::string name =
          name_of_class(report.value(names, std::vector<std::string>{}), figure[of].get<std::size_t>());
      fmt::print("{:<22} {}\n", fmt::format("{} of {}", of == std::string_view("group") ? "accuracy" : key, name),
                 figure_text(figure));
    }
  }
  if (metrics.contains("confusion") || metrics.contains("calibration") || metrics.contains("roc")) {
    fmt::print("tables are in the JSON report\n");
  }
}

// The run, step by step, on all ranks or all parties among silos. Each step is collective.
class PrivateEvaluation {
 public:
  PrivateEvaluation(const FitOptions& asked, Communicator& ranks)
      : ranks_(ranks), options_(opened(asked)), open_(open_fit(options_, ranks)) {}

  void run() {
    ranks_.together([&] { require_on_roster(options_, open_.training.dim()); });
    tell_of_rows(open_.training, ranks_);
    require_own_data_set();
    std::optional<FitAccount> account = open_account(*open_.fit, ranks_);
    open_report(*account);
    EvaluationObserver observer(open_.fit->options());
    FittedRun run = train(open_.fit, open_.training, {}, ranks_, std::move(account),
                          {.threads = open_.threads,
                           .timings = Timings(phases_to_log(ranks_)),
                           .observer = observer.watcher(),
                           .warn = warn_on_error_stream});
    with_way_to_resume(*run.releaser, warn_on_error_stream, [&] { finish(run, observer); });
  }

 private:
  FitOptions opened(const FitOptions& asked) {
    FitOptions options;
    ranks_.together([&] {
      require_silos(asked, ranks_);
      options = validated(evaluation_of(asked));
    });
    require_consent(options, ranks_);
    return options;
  }

  // Rows that training has read are no other data set than training's.
  void require_own_data_set() {
    const std::vector<std::string>& files = options_.evaluation.train_x;
    if (files.empty()) return;
    WorkerRows trained_on = open_ranked_rows({files, {}, options_.data.train.bad_rows}, ranks_);
    const std::string found = training_rows_among({"test", &open_.training}, trained_on, {}, ranks_);
    ranks_.together([&] {
      if (found.empty() || options_.privacy.data_set.empty()) return;
      throw BadInput(fmt::format(
          "{}: --data-set {} would say that test rows are other records; leave it out for both runs, so that "
          "they add up",
          found, options_.privacy.data_set));
    });
  }

  // Its name is held from here on: what is paid for is not lost to another run with that name.
  void open_report(FitAccount& account) {
    ranks_.together([&] {
      const OutputOptions& output = options_.output;
      if (!open_.training.is_none()) require_not_read(std::array{NamedPath{"--report", output.report}}, open_.training);
      if (!ranks_.is_coordinator() || output.report.empty()) return;
      try {
        if (account.goes_on() && !output.overwrite) require_report_of(account.journal, output.report);
        report_.emplace(output.report, output.overwrite || account.goes_on() ? Existing::kReplace : Existing::kKeep);
      } catch (const Error&) {
        if (account.journal.is_new()) account.journal.destroy();
        throw;
      }
    });
  }

  // The report is kept before the run ends on the ledger.
  void finish(FittedRun& run, const EvaluationObserver& observer) {
    nlohmann::json report;
    ranks_.together([&] {
      if (!ranks_.is_coordinator()) return;
      report = private_report(run, observer.figures(), ranks_.size());
      if (!report_) return;
      report_->write(json_text(report, 2) + "\n");
      report_->commit();
    });
    run.finish();
    if (!ranks_.is_coordinator()) return;
    if (options_.output.format == OutputFormat::kJson) {
      fmt::print("{}\n", json_text(report, 2));
    } else {
      print_private(report, *run.fit);
    }
  }

  Communicator& ranks_;
  FitOptions options_;
  OpenFit open_;
  std::optional<AtomicFile> report_;  // at the coordinator
};

}  // namespace

void evaluate_and_write(const FitOptions& options, Communicator& ranks) {
  PrivateEvaluation(options, ranks).run();
}

}  // namespace dpreduce
