// dpreduce privacy explain: the guarantee of a report, a model or a ledger in words.
#include "commands/commands.hpp"
#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "report/explanation.hpp"
#include "report/page.hpp"

namespace dpreduce {
namespace {

struct ExplainOptions {
  std::string report;
  OutputFormat format = OutputFormat::kText;
};

ReportedRun run_in(const std::string& path) {
  if (path.ends_with(".safetensors")) return run_of_model(load_classifier(path), path);
  return is_ledger_file(path) ? run_of_ledger(Ledger::read(path), path) : read_report(path);
}

void run(const ExplainOptions& options) {
  const ReportedRun run = run_in(options.report);
  print_result(options.format, explanation_of(run), [&] { return text_of(facts_of(words_of(run))); });
}

void declare(OptionTable& table, ExplainOptions& options) {
  table
      .file(
          "--report,report", options.report,
          "report of fit or evaluate --private; or a model, which records less; or a ledger, for all its runs together")
      .required();
}

}  // namespace

CommandEntry explain_command() {
  return command_reading<ExplainOptions, kWithoutConfig>(
      "explain",
      "explain the guarantee of a report, model or ledger: against whom it holds, and what it does not cover", declare,
      [](const auto& options, auto&) { return by_coordinator(run, options); },
      "  dpreduce privacy explain report.json\n"
      "  dpreduce privacy explain model.safetensors\n"
      "  dpreduce privacy explain ledger.jsonl\n"
      "  dpreduce privacy explain report.json --format json");
}

}  // namespace dpreduce
