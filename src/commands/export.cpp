// dpreduce export: the model card of a model, and the model with weights of its classes.
#include <filesystem>

#include "commands/commands.hpp"
#include "common/base/text.hpp"
#include "common/model/classifier.hpp"
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
  std::vector<std::string> class_weights;
  std::string out;  // the model with these
  bool overwrite = false;
  Existing existing() const { return overwrite ? Existing::kReplace : Existing::kKeep; }
};

// Takes the weight of one class, "CLASS=W"; the class by its name or number.
void take_weight(const ClassifierParts& parts, std::vector<std::optional<double>>& weights, const std::string& word) {
  constexpr const char* kOption = "--class-weights";
  const std::size_t at = std::min(word.rfind('='), word.size());
  const std::string name = word.substr(0, at);
  const auto named = std::ranges::find(parts.class_names, name);
  const std::size_t k = named != parts.class_names.end() ? static_cast<std::size_t>(named - parts.class_names.begin())
                        : parts.class_names.empty() && usual_integer(name) ? read_count(kOption, name, parts.classes)
                                                                           : parts.classes;
  if (at == word.size() || k >= parts.classes) {
    throw UsageError("{} {}: give CLASS=W, with one of the {} classes by its {}", kOption, word, parts.classes,
                     parts.class_names.empty() ? "number, from 0" : "name");
  }
  if (weights[k]) throw UsageError("{} {}: give each class once", kOption, word);
  weights[k] = read_number(kOption, word.substr(at + 1));
}

void write_weighed(const ExportOptions& options, const Classifier& classifier) {
  ClassifierParts parts = classifier.parts();
  std::vector<std::optional<double>> given(parts.classes);
  for (const std::string& word : options.class_weights) take_weight(parts, given, word);
  std::vector<double> weights;
  for (const std::optional<double>& weight : given) weights.push_back(weight.value_or(1.0));
  weigh_classes(parts, weights);
  AtomicFile(options.out, options.existing()).commit(to_bytes(Classifier(std::move(parts))));
  fmt::print("wrote {}\n", options.out);
}

void run(const ExportOptions& options) {
  if (options.card.empty() && options.out.empty()) {
    throw UsageError("nothing to write: give --card FILE, or --class-weights with --out FILE");
  }
  const Classifier classifier = load_classifier(options.model);
  std::optional<AtomicFile> card;  // refused before anything is written
  if (!options.card.empty()) card.emplace(options.card, options.existing());
  if (!options.out.empty()) write_weighed(options, classifier);
  if (!card) return;
  std::optional<ReportedRun> report;
  if (!options.report.empty()) {
    report = read_report(options.report);
    require_of_model(classifier, *report);
  }
  std::optional<ReportedRun> evaluation;
  if (!options.evaluation.empty()) {
    evaluation = read_report(options.evaluation);
    require_evaluation_of(classifier, *evaluation);
  }
  const std::string name = std::filesystem::path(options.model).filename().string();
  card->commit(model_card(classifier, name, report, evaluation));
  fmt::print("wrote {}\n", options.card);
}

void declare(OptionTable& table, ExportOptions& options) {
  table.file("--model,model", options.model, "written by fit").required();
  table.file("--card", options.card, "the card: Markdown with YAML front matter").written();
  table.file("--report", options.report,
             "report of the fit of this model: the card then explains the guarantee, lists releases and how they add "
             "up, and has the test metrics");
  table.file("--evaluation", options.evaluation,
             "report of evaluate --private: its metrics with intervals replace exact ones");
  table
      .files(
          "--class-weights", options.class_weights,
          "CLASS=W, ...: multiplies the odds of this class by W, a public number: the cost of missing a row of it over "
          "that of a false alarm; scores must be log probabilities; costs no privacy")
      .typed("LIST")
      .split_at(',');
  table.file("--out", options.out, "the model with these weights").written();
  table.together("--class-weights", "--out");
  for (const char* own : {"--report", "--evaluation"}) table.needs(own, "--card");
  table.flag("--overwrite", options.overwrite, "replace an existing file");
}

}  // namespace

CommandEntry export_command() {
  return command_reading<ExportOptions, kWithoutConfig>(
      "export", "write the model card of a model, or the model with class weights", declare,
      [](const auto& options, auto&) { return by_coordinator(run, options); },
      "  dpreduce export model.safetensors --card card.md --report report.json\n"
      "  dpreduce export model.safetensors --card card.md --report report.json --evaluation evaluation.json\n"
      "  dpreduce export model.safetensors --class-weights 1=30 --out weighed.safetensors",
      "An ONNX graph of a model is written by python3 -m dpreduce onnx MODEL OUT.\n\n");
}

}  // namespace dpreduce
