// dpreduce export: a model as an ONNX graph, and its model card.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/files/atomic_file.hpp"
#include "common/model/classifier_file.hpp"
#include "common/onnx/onnx_classifier.hpp"
#include "report/model_card.hpp"

namespace dpreduce {
namespace {

struct ExportOptions {
  std::string model;
  std::string onnx;  // empty: none
  FloatWidth onnx_width = FloatWidth::kFloat32;
  std::string card;    // empty: none
  std::string report;  // of the fit that made the model, for the card; empty: none
  bool overwrite = false;
};

ExportOptions validated(ExportOptions options) {
  if (options.onnx.empty() && options.card.empty()) throw UsageError("export: give --onnx FILE, --card FILE or both");
  if (options.onnx.empty() && options.onnx_width != FloatWidth::kFloat32) {
    throw UsageError("--onnx-width goes with --onnx");
  }
  if (options.card.empty() && !options.report.empty()) throw UsageError("--report goes with --card");
  return options;
}

void run(const ExportOptions& options) {
  const Existing existing = options.overwrite ? Existing::kReplace : Existing::kKeep;
  std::optional<AtomicFile> onnx;
  std::optional<AtomicFile> card;
  if (!options.onnx.empty()) onnx.emplace(options.onnx, existing);
  if (!options.card.empty()) card.emplace(options.card, existing);

  const Classifier classifier = load_classifier(options.model);
  if (onnx) onnx->write(onnx_bytes(classifier, options.onnx_width));
  if (card) {
    std::optional<ReportedRun> report;
    if (!options.report.empty()) report = read_report(options.report);
    const std::string name = std::filesystem::path(options.model).filename().string();
    card->write(model_card(classifier, name, report, options.report));
  }
  if (onnx) onnx->commit();
  if (card) card->commit();
  for (const std::string& path : {options.onnx, options.card}) {
    if (!path.empty()) fmt::print("wrote {}\n", path);
  }
}

}  // namespace

CommandEntry export_command() {
  const auto options = std::make_shared<ExportOptions>();
  CommandEntry command{.name = "export", .help = "a model as an ONNX graph, or its model card"};
  OptionTable& table = command.options;
  table.file("--model,model", options->model, "written by fit").required();
  table.file("--onnx", options->onnx, "an ONNX graph: from raw features to labels, scores and probabilities").written();
  table.choice("--onnx-width", options->onnx_width, "what the graph computes with; float64 has the program's labels");
  table.file("--card", options->card, "a model card: Markdown with YAML front matter").written();
  table.file("--report", options->report,
             "of the fit that made the model: the card then says what is promised in words, what was released, and the "
             "test figures");
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  command.footer =
      "Examples:\n"
      "  dpreduce export model.safetensors --onnx model.onnx\n"
      "  dpreduce export model.safetensors --card card.md --report report.json";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, validated(*options)); };
  return command;
}

}  // namespace dpreduce
