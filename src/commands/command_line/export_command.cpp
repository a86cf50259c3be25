#include "commands/command_line/export_command.hpp"

#include <memory>

#include <fmt/format.h>

#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

std::vector<NamedPath> exported_files(const ExportOptions& options) {
  std::vector<NamedPath> files;
  if (!options.onnx.empty()) files.push_back({"--onnx", options.onnx});
  if (!options.card.empty()) files.push_back({"--card", options.card});
  return files;
}

ExportOptions validated(ExportOptions options) {
  if (options.onnx.empty() && options.card.empty()) throw UsageError("export: give --onnx FILE, --card FILE or both");
  if (options.onnx.empty() && options.onnx_width != FloatWidth::kFloat32) {
    throw UsageError("--onnx-width goes with --onnx");
  }
  if (options.card.empty() && !options.report.empty()) throw UsageError("--report goes with --card");
  if (!options.onnx.empty() && !options.card.empty() && is_same_file(options.onnx, options.card)) {
    throw UsageError(fmt::format("--onnx and --card are both {}: they must be different files", options.card));
  }
  return options;
}

CommandEntry export_command() {
  const auto options = std::make_shared<ExportOptions>();
  CommandEntry command{.name = "export", .help = "a model as an ONNX graph, or its model card"};
  OptionTable& table = command.options;
  table.text("--model,model", options->model, "written by fit").required().typed("FILE");
  table.text("--onnx", options->onnx, "an ONNX graph: from raw features to labels, scores and probabilities")
      .typed("FILE")
      .written();
  table.choice("--onnx-width", options->onnx_width, "what the graph computes with; float64 has the program's labels");
  table.text("--card", options->card, "a model card: Markdown with YAML front matter").typed("FILE").written();
  table
      .text("--report", options->report,
            "of the fit that made the model: the card then says what is promised in words, what was released, and the "
            "test figures")
      .typed("FILE");
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  command.footer =
      "Examples:\n"
      "  dpreduce export model.safetensors --onnx model.onnx\n"
      "  dpreduce export model.safetensors --card card.md --report report.json";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
