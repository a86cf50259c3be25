// dpreduce export: the model card of a model.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "common/base/output_file.hpp"
#include "common/model/classifier_file.hpp"
#include "report/model_card.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

struct ExportOptions {
  std::string model;
  std::string card;
  std::string report;      // of the fit that made the model; empty: none, as below
  std::string evaluation;  // private, of the model
  bool overwrite = false;
};

void run(const ExportOptions& options) {
  AtomicFile file(options.card, options.overwrite ? Existing::kReplace : Existing::kKeep);
  const Classifier classifier = load_classifier(options.model);
  std::optional<ReportedRun> report;
  if (!options.report.empty()) {
    report = read_report(options.report);
    require_of_model(classifier, *report, options.report);
  }
  std::optional<ReportedRun> evaluation;
  if (!options.evaluation.empty()) {
    evaluation = read_report(options.evaluation);
    require_evaluation_of(classifier, *evaluation, options.evaluation);
  }
  const std::string name = std::filesystem::path(options.model).filename().string();
  file.write(model_card(classifier, name, report, options.report, evaluation));
  file.commit();
  fmt::print("wrote {}\n", options.card);
}

}  // namespace

CommandEntry export_command() {
  const auto options = std::make_shared<ExportOptions>();
  CommandEntry command{.name = "export", .help = "write the model card of a model"};
  OptionTable& table = command.options;
  table.file("--model,model", options->model, "written by fit").required();
  table.file("--card", options->card, "the card: Markdown with YAML front matter").required().written();
  table.file("--report", options->report,
             "report of the fit of this model: the card then explains the guarantee, lists releases and how they add "
             "up, and has the test metrics");
  table.file("--evaluation", options->evaluation,
             "report of evaluate --private: its metrics with intervals replace exact ones");
  table.flag("--overwrite", options->overwrite, "replace an existing file");
  command.footer =
      "An ONNX graph of a model is written by python3 -m dpreduce onnx MODEL OUT.\n\n"
      "Examples:\n"
      "  dpreduce export model.safetensors --card card.md --report report.json\n"
      "  dpreduce export model.safetensors --card card.md --report report.json --evaluation evaluation.json";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, *options); };
  return command;
}

}  // namespace dpreduce
