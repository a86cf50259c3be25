// `dpreduce evaluate --private`, and what parties over a network evaluate: the run, and what it prints.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/charged_steps.hpp"
#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/base/standard_output.hpp"
#include "common/data/worker_rows.hpp"
#include "evaluate/private_evaluation.hpp"
#include "fit/fit_account.hpp"
#include "fit/open_fit.hpp"
#include "fit/validated_options.hpp"
#include "report/fit_report.hpp"
#include "report/plan_report.hpp"
#include "report/told_figures.hpp"

namespace dpreduce {
namespace {

void print_private(const nlohmann::json& report, const FittedRun& fitted) {
  const ResolvedFit& run = *fitted.fit;
  const PrivacyOptions& privacy = run.options().privacy;
  fmt::print("privacy    {}, {}, of each {}{}\n", guarantee_text(*run.plan().guarantee, privacy.budget),
             to_string(privacy.adjacency), run.options().data.has_units() ? "person" : "test row",
             run.plan().is_private ? "" : fmt::format("; {}, so NOT private", words_of(run.plan().forfeits)));
  fmt::print("ledger     {}: {}\n", privacy.ledger, heads_text(fitted));
  fmt::print("intervals  hold noise and sampling with probability {:g} each\n", run.options().evaluation.level);
  const ToldFigures told = *told_figures(JsonFields(report, "report"));
  for (const auto& [name, text] : told_lines(told)) fmt::print("{:<22} {}\n", name, text);
  const nlohmann::json& metrics = report["metrics"];
  if (metrics.contains("difference")) {
    fmt::print("the second model is the better one with probability {:.3g}\n",
               metrics["difference"]["b_is_better"].get<double>());
  }
  if (metrics.contains("confusion") || metrics.contains("calibration") || metrics.contains("roc")) {
    fmt::print("tables are in the JSON report\n");
  }
  for (const auto& [name, file] :
       {std::pair{"report", &run.options().output.report}, std::pair{"page", &run.options().output.html}}) {
    if (!file->empty()) fmt::print("{:<10} {}\n", name, *file);
  }
}

// The run, step by step, on all ranks or all parties among silos. Each step is collective.
class PrivateEvaluation {
 public:
  PrivateEvaluation(const FitOptions& asked, Communicator& ranks)
      : ranks_(ranks), options_(opened(asked)), open_(open_fit(options_, ranks)) {}

  void run() {
    ranks_.together([&] { require_on_roster(open_.fit->options()); });
    tell_of_rows(open_.training, ranks_);
    std::optional<FitAccount> account = open_account(*open_.fit, ranks_);
    open_outputs(*account);
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

  // Names are held from here on: what is paid for is not lost to another run with one of them.
  void open_outputs(FitAccount& account) {
    ranks_.together([&] {
      const OutputOptions& output = options_.output;
      if (!open_.training.is_none()) {
        require_not_read(std::array{NamedPath{"--report", output.report}, NamedPath{"--html", output.html}},
                         open_.training);
      }
      if (!ranks_.is_coordinator()) return;
      tell_of_earlier_runs(account);
      open_outputs_of(account, output, [&](Existing existing) {
        if (!output.report.empty()) report_.emplace(output.report, existing);
        if (!output.html.empty()) page_.emplace(output.html, existing);
      });
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
    ranks_.together([&] {
      if (!ranks_.is_coordinator()) return;
      if (page_) {
        page_->write(page_of_run(report, options_, true));
        page_->commit();
      }
      if (options_.output.format == OutputFormat::kJson) {
        fmt::print("{}\n", json_text(report, 2));
      } else {
        print_private(report, run);
      }
    });
  }

  Communicator& ranks_;
  FitOptions options_;
  OpenFit open_;
  std::optional<AtomicFile> report_;  // at the coordinator
  std::optional<AtomicFile> page_;    // likewise
};

}  // namespace

void evaluate_and_write(const FitOptions& options, Communicator& ranks) {
  PrivateEvaluation(options, ranks).run();
}

}  // namespace dpreduce
