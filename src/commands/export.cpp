// dpreduce export: a model as an ONNX graph, and its model card.
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "commands/commands.hpp"
#include "common/data/atomic_file.hpp"
#include "common/data/output_check.hpp"
#include "common/model/classifier_file.hpp"
#include "common/onnx/onnx_classifier.hpp"
#include "report/model_card.hpp"

namespace dpreduce {

void run_command(const ExportOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const std::vector<NamedPath> outputs = exported_files(options);
    require_not_read(outputs, options.model);
    if (!options.report.empty()) require_not_read(outputs, options.report);
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
    for (const NamedPath& output : outputs) fmt::print("wrote {}\n", output.path);
  });
}

}  // namespace dpreduce
