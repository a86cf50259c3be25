// dpreduce privacy explain: a report's guarantee in words.
#include <memory>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/base/json_text.hpp"
#include "common/base/standard_output.hpp"
#include "common/model/classifier_file.hpp"
#include "report/explanation.hpp"

namespace dpreduce {
namespace {

void print_sentences(const std::vector<ExplainedSection>& sections) {
  for (const auto& [heading, sentences] : sections) {
    std::string label = heading;
    for (char& c : label) c = c == '_' ? ' ' : c;
    for (const std::string& sentence : sentences) {
      fmt::print("{:<12} {}\n", label, sentence);
      label.clear();
    }
  }
}

struct ExplainOptions {
  std::string report;
  OutputFormat format = OutputFormat::kText;
};

ReportedRun run_in(const std::string& path) {
  return path.ends_with(".safetensors") ? run_of_model(load_classifier(path), path) : read_report(path);
}

void run(const ExplainOptions& options) {
  const ReportedRun run = run_in(options.report);
  if (options.format == OutputFormat::kText) return print_sentences(words_of(run));
  fmt::print("{}\n", json_text(explanation_of(run), 2));
}

}  // namespace

CommandEntry explain_command() {
  const auto options = std::make_shared<ExplainOptions>();
  CommandEntry command{.name = "explain", .help = "what a report promises, to whom, and what it does not"};
  command.options
      .file("--report,report", options->report,
            "written by fit or evaluate --private with --report; or a model, which says less")
      .required();
  declare_format(command.options, options->format);
  command.footer =
      "Examples:\n"
      "  dpreduce privacy explain report.json\n"
      "  dpreduce privacy explain model.safetensors\n"
      "  dpreduce privacy explain report.json --format json";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, *options); };
  return command;
}

}  // namespace dpreduce
