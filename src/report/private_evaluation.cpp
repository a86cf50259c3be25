#include "report/private_evaluation.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/version.hpp"
#include "common/model/classifier_file.hpp"
#include "common/model/released_file.hpp"
#include "methods/registry.hpp"
#include "report/fit_report.hpp"
#include "report/plan_report.hpp"
#include "worker/metrics/score_curve.hpp"

namespace dpreduce {

namespace {

// One model, or two for the same rows: in memory, or in files.
std::vector<Classifier> models_of(const EvaluationOptions& asked) {
  std::vector<Classifier> models = evaluated_models(asked);
  if (models.empty()) {
    for (const std::string& file : asked.files) models.push_back(load_classifier(file));
  }
  if (models.size() > 2) throw UsageError("--model: {} models; name one, or two to compare", models.size());
  const Classifier& first = models.front();
  const Classifier& last = models.back();
  if (first.input_dim() != last.input_dim() || first.classes() != last.classes() ||
      first.parts().class_names != last.parts().class_names) {
    throw BadInput(
        "--model {}: for {} features and {} classes, but {} is for {} and {}; compare models with the same "
        "features and the same class names",
        asked.files.empty() ? "2" : asked.files.back(), last.input_dim(), last.classes(),
        asked.files.empty() ? "1" : asked.files.front(), first.input_dim(), first.classes());
  }
  return models;
}

// Sets and checks the number of groups. Groups are a public list: nothing is reported of the column alone, which is
// private. The coordinator of silos has no rows, and so no column; rows in memory have none.
void take_groups(RowFiles& rows, bool is_of_silos) {
  if (rows.groups == 0) rows.groups = rows.group_names.size();
  const bool has_rows = !is_of_silos || !rows.x.empty();
  const bool lacks_column = rows.group.empty() && has_rows && rows.groups > 0;
  if (lacks_column || (!rows.group.empty() && rows.groups == 0)) {
    throw UsageError("--group goes with --groups G or --group-names FILE, which list the groups");
  }
  if (!rows.group_names.empty() && rows.group_names.size() != rows.groups) {
    throw UsageError("--group-names: {} for {} groups", rows.group_names.size(), rows.groups);
  }
  if (rows.groups > kMostGroups) {
    throw UsageError("--groups {}: must be from 1 to {}", rows.groups, kMostGroups);
  }
}

// Sets the score from which on classes of a set count: the requested one, else the model's.
void take_threshold(EvaluationTerms& terms, const Classifier& model, std::string_view metrics) {
  if (terms.most_labels == 0) return;
  if (!terms.threshold) terms.threshold = model.parts().threshold;
  if (!terms.threshold) {
    throw UsageError("{} f1: the model has no threshold for its scores; give one with --score-threshold", metrics);
  }
}

// Promises of each model about its own rows: public constants, with its unit in any case.
nlohmann::json statements_of_models(const EvaluationOptions& asked) {
  nlohmann::json statements = nlohmann::json::array();
  for (const Classifier& model : evaluated_models(asked)) {
    nlohmann::json statement = statement_json(model.parts().privacy, model.parts().forfeits);
    if (model.parts().privacy) statement.emplace("unit", to_string(PrivacyUnit::kRecord));
    statements.push_back(std::move(statement));
  }
  return statements;
}

}  // namespace

std::string text_of(const Classifier& model) {
  const std::vector<std::byte> bytes = to_bytes(model);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_kind_of_model(const Classifier& classifier, const RowFiles& test) {
  if (classifier.predicts_numbers() == test.has_targets) return;
  throw UsageError(classifier.predicts_numbers()
                       ? "--test-y: the model predicts numbers; give them as --test-targets FILE"
                       : "--test-targets: the model predicts classes; give them as --test-y FILE");
}

FitOptions evaluation_of(FitOptions options) {
  EvaluationOptions& asked = options.evaluation;
  // Over a network a fit's --metrics is a file.
  const std::string_view metrics = options.silos.over_network ? "--evaluate-metrics" : "--metrics";
  const std::vector<Classifier> models = models_of(asked);
  const Classifier& model = models.front();
  if (asked.models.empty()) {
    for (const Classifier& each : models) asked.models.push_back(text_of(each));
  }
  asked.terms.has_pair = models.size() == 2;
  if (!options.data.train.y.empty()) require_kind_of_model(model, options.data.train);
  options.data.train.has_targets = model.predicts_numbers();
  asked.terms.has_targets = model.predicts_numbers();
  take_groups(options.data.train, options.silos.secure_aggregation);
  asked.terms.groups = options.data.train.groups;
  asked.input_dim = model.input_dim();
  asked.terms.classes = model.classes();
  asked.terms.has_probabilities = model.parts().link.has_value();
  asked.terms.has_odds = model.parts().link == Link::kSoftmax && model.parts().cosine_head.empty();
  asked.terms.top_k = options.method.top_k.value_or(std::min(asked.terms.top_k, asked.terms.classes));
  asked.terms.most_labels = options.data.max_labels.value_or(0);
  if (asked.terms.metrics.empty()) asked.terms.metrics = usual_metrics(asked.terms);
  if (asked.terms.most_predicted == 0) asked.terms.most_predicted = asked.terms.most_labels;
  take_threshold(asked.terms, model, metrics);
  asked.terms.score_bins = score_bins_for(options.method.expected_rows.value_or(0.0));
  require_valid(asked.terms, metrics);
  options.method = MethodOptions{.name = std::string(evaluate_method.name)};
  options.rows.normalize = Normalize::kNone;  // the model prepares rows
  options.rows.center = Centering::kNone;
  options.data.classes = model.predicts_numbers() ? 0 : model.classes();
  options.data.train.role = "test";
  options.data.train.class_names = model.parts().class_names;
  options.data.train.unlisted_labels = UnlistedLabels::kTaken;
  return options;
}

nlohmann::json evaluation_json(const FittedRun& run, const std::vector<Release>& releases) {
  const FitOptions& options = run.fit->options();
  const EvaluationOptions& asked = options.evaluation;
  std::vector<double> scales;  // of the targets that the model predicts
  if (asked.terms.has_targets) scales = evaluated_models(asked).front().parts().preprocessing.targets.scale;
  const bool is_private = run.fit->plan().is_private;
  const char* const without = options.privacy.seed ? "seeded" : "forfeited";
  return {{"figures", is_private ? "private" : without},
          {"metrics", private_figures(releases, asked.terms, asked.level,
                                      static_cast<double>(options.data.bounded_rows()), scales)},
          {"level", asked.level},
          {"note", is_private
                       ? fmt::format("metrics with noise: the guarantee is for each {} of the {}test rows",
                                     options.data.has_units() ? "person" : "record", asked.share ? "training and " : "")
                       : note_of(run.fit->plan().forfeits)}};
}

nlohmann::json private_report(const FittedRun& run, const std::vector<Release>& releases, int ranks) {
  const FitOptions& options = run.fit->options();
  const FitPlan& plan = run.fit->plan();
  nlohmann::json report{{"method", options.method.name},
                        {"private", plan.is_private},
                        {"models", run.fit->method().settings().at("models")},
                        {"privacy", privacy_json(plan, options)},
                        {"ranks", ranks},
                        {"version", version()}};
  report["privacy"].erase("selections");
  report.update(evaluation_json(run, releases));
  if (!run.folder) report["ledger"] = ledger_json(*run.releaser, options.privacy);
  if (!options.data.train.group_names.empty()) report["group_names"] = options.data.train.group_names;
  for (const std::string& file : options.evaluation.files) {
    report["model_names"].push_back(std::filesystem::path(file).stem().string());
  }
  report["models_privacy"] = statements_of_models(options.evaluation);
  if (forfeits_of_models(options).empty() && !options.data.train.class_names.empty()) {
    report["class_names"] = options.data.train.class_names;
  }
  add_words(report, options);
  return report;
}

}  // namespace dpreduce
