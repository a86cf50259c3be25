// dpreduce export: the model card of a model, and what reviewers ask of it.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/files/atomic_file.hpp"
#include "common/files/mapped_file.hpp"
#include "common/model/classifier_file.hpp"
#include "report/dossier.hpp"
#include "report/model_card.hpp"
#include "report/registry_entry.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

struct ExportOptions {
  std::string file;        // the model; or the report, where nothing is asked for that a model is needed for
  std::string card;        // empty: none, as below
  std::string report;      // of the fit that made the model
  std::string evaluation;  // private, of the model
  std::string registry;
  std::string about;  // what the report does not know of a deployment
  std::string dossier;
  std::vector<std::string> audits;
  bool overwrite = false;

  bool wants_promise() const { return !registry.empty() || !dossier.empty(); }
  bool wants_model() const { return !card.empty() || !report.empty(); }
};

ExportOptions validated(ExportOptions options) {
  if (options.card.empty() && !options.wants_promise()) {
    throw UsageError("export: give --card FILE, --dossier FILE or --registry FILE, or several of them");
  }
  if (options.card.empty() && !options.evaluation.empty()) throw UsageError("--evaluation goes with --card");
  if (options.wants_promise() && options.wants_model() && options.report.empty()) {
    throw UsageError("--dossier and --registry are made of the fit's report: give --report FILE beside the model");
  }
  if (options.registry.empty() != options.about.empty()) {
    throw UsageError(
        "--registry goes with --about, a TOML file of what the report does not know: name, use, region, ...");
  }
  if (options.dossier.empty() && !options.audits.empty()) throw UsageError("--audit goes with --dossier");
  return options;
}

std::string text_of(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string dossier_of(const ExportOptions& options, const ReportedRun& run, const std::string& report_path) {
  std::vector<ReportedAudit> audits;
  for (const std::string& path : options.audits) audits.push_back(read_audit(path));
  return dossier(run, report_path, audits);
}

void run(const ExportOptions& options) {
  std::vector<std::pair<std::string, std::unique_ptr<AtomicFile>>> files;
  for (const std::string& path : {options.card, options.dossier, options.registry}) {
    if (path.empty()) continue;
    const Existing existing = options.overwrite ? Existing::kReplace : Existing::kKeep;
    files.emplace_back(path, std::make_unique<AtomicFile>(path, existing));
  }

  const std::string& report_path = options.wants_model() ? options.report : options.file;
  std::optional<Classifier> classifier;
  if (options.wants_model()) classifier = load_classifier(options.file);
  std::optional<ReportedRun> report;
  if (!report_path.empty()) report = read_report(report_path);
  if (classifier && report) require_of_model(*classifier, *report, report_path);
  std::optional<ReportedRun> evaluation;
  if (!options.evaluation.empty()) {
    evaluation = read_report(options.evaluation);
    require_evaluation_of(*classifier, *evaluation, options.evaluation);
  }

  auto file = files.begin();
  const auto write = [&](const std::string& text) { (file++)->second->write(text); };
  const std::string name = std::filesystem::path(options.file).filename().string();
  if (!options.card.empty()) write(model_card(*classifier, name, report, report_path, evaluation));
  if (!options.dossier.empty()) write(dossier_of(options, *report, report_path));
  if (!options.registry.empty()) write(registry_entry(*report, report_path, text_of(options.about), options.about));
  for (const auto& [path, written] : files) written->commit();
  for (const auto& [path, written] : files) fmt::print("wrote {}\n", path);
}

}  // namespace

CommandEntry export_command() {
  const auto options = std::make_shared<ExportOptions>();
  CommandEntry command{.name = "export", .help = "what readers and reviewers ask of a model"};
  OptionTable& table = command.options;
  table.file("--model,model", options->file, "written by fit; for --dossier and --registry alone its report")
      .required();
  table.file("--card", options->card, "a model card: Markdown with YAML front matter").written();
  table.file("--report", options->report,
             "of the fit that made the model: the card then says what is promised in words, what was released, and the "
             "test figures");
  table.file("--evaluation", options->evaluation,
             "a report of evaluate --private, for the card: its figures, with intervals, in the place of exact ones");
  table.file("--dossier", options->dossier, "what reviewers ask, with answers: Markdown, made of the report").written();
  table.files("--audit", options->audits, "printed by audit --format json under the same claim, for the dossier");
  table.file("--registry", options->registry, "an entry of the public registry of deployments of DP: YAML").written();
  table.file("--about", options->about,
             "what the entry says and the report does not know: TOML, under the registry's names");
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  command.footer =
      "Examples:\n"
      "  dpreduce export model.safetensors --card card.md --report report.json\n"
      "  dpreduce export model.safetensors --card card.md --report report.json --evaluation evaluation.json\n"
      "  dpreduce export report.json --dossier dossier.md --audit audit.json\n"
      "  dpreduce export report.json --registry entry.yaml --about about.toml";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, validated(*options)); };
  return command;
}

}  // namespace dpreduce
