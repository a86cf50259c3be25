// An evaluation with noise: a model on rows that are private, which trains nothing.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

class EvaluateMethod : public TrainingMethod {
 public:
  explicit EvaluateMethod(const FitOptions& options)
      : asked_(options.evaluation), group_names_(options.data.train.group_names) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    if (terms.dim != asked_.input_dim) {
      throw BadInput(fmt::format("test rows have {} features, but the model is for {}; give rows as it was trained on",
                                 terms.dim, asked_.input_dim));
    }
    terms.evaluation = asked_.terms;
    return {registered_statistic("evaluation").request(terms, 1.0)};
  }

  nlohmann::json settings() const override {
    nlohmann::json settings{{"metrics", nlohmann::json::array()}, {"models", nlohmann::json::array()}};
    for (const EvaluationMetric metric : asked_.terms.metrics) settings["metrics"].push_back(to_string(metric));
    for (const std::string& model : asked_.models) settings["models"].push_back(to_hex(sha256(model)));
    if (asked_.terms.has(EvaluationMetric::kTopK)) settings["top_k"] = asked_.terms.top_k;
    if (asked_.terms.groups > 0) settings["groups"] = asked_.terms.groups;
    if (!group_names_.empty()) settings["group_names"] = group_names_;
    return settings;
  }

  /// What it makes of rows is its release, which the run's observer is shown.
  LinearScores train(TrainingRun& run) const override {
    std::vector<Classifier> models;
    run.ranks().together([&] {
      for (const std::string& model : asked_.models) {
        models.push_back(classifier_from_bytes(std::as_bytes(std::span(model)), "--model"));
      }
    });
    run.release("evaluation", ModelsPoint{models, asked_.terms});
    return {};
  }

 private:
  EvaluationOptions asked_;
  std::vector<std::string> group_names_;
};

}  // namespace

const MethodEntry& evaluate_method() {
  static const MethodEntry entry{
      .name = "evaluate",
      .help = "a model on private rows",
      .takes = {},
      .make = make_of<EvaluateMethod>,
      .reads_rows_once = [](const MethodOptions&) { return true; },
      .trains = false,
  };
  return entry;
}

}  // namespace dpreduce
