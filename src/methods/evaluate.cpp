// Evaluation with noise: a model on rows that are private, which trains nothing.
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "methods/registry.hpp"
#include "worker/metrics/score_curve.hpp"

namespace dpreduce {
namespace {

// Part of mu^2 that the blocks of a release use, sum_b D_b sqrt(W_b), where mu^2 is divided for the least loss.
double part_of(const ReleaseRequest& request) {
  double part = 0.0;
  for (std::size_t block = 0; block < request.blocks.size(); ++block) {
    part +=
        std::sqrt(static_cast<double>(request.profiles.front().squared_l2[block]) * request.blocks[block].loss_weight);
  }
  return part;
}

// Returns whether the model's own promise has a bound for the unit that the evaluation protects. A promise for records
// has no bound for a person with any number of them. A promise for persons in few silos has none for persons in more.
// All other promises convert: a record's change is that of two persons at most, an exchange is a removal and an
// addition, and noise for exchanges hides these, too. A person's bound in rows is no part of it: a person has any
// number of rows, whatever they count for.
bool protects_unit_of(const FitOptions& evaluation, const PrivacyStatement& of_model) {
  if (!evaluation.data.has_units()) return true;
  if (!of_model.person) return false;
  const std::optional<std::uint64_t>& most = of_model.person->silos;
  return !most || (evaluation.silos.silos_per_person && *evaluation.silos.silos_per_person <= *most);
}

class EvaluateMethod : public TrainingMethod {
 public:
  explicit EvaluateMethod(const FitOptions& options)
      : TrainingMethod(options), reports_models_(forfeits_of_models(options).empty()) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    if (terms.dim != requested_.input_dim) {
      throw BadInput("test rows have {} features, but the model is for {}; give rows like its training rows", terms.dim,
                     requested_.input_dim);
    }
    if (requested_.terms.has_targets && terms.classes != requested_.terms.classes) {
      throw BadInput("test rows have {} targets, but the model predicts {}; give as many", terms.classes,
                     requested_.terms.classes);
    }
    terms.evaluation = requested_.terms;
    if (!requested_.terms.has(EvaluationMetric::kAuc)) return {registered_statistic("evaluation").request(terms, 1.0)};
    // Shares are as if all blocks were of one release: three quarters for positives where only the AUC is requested.
    ReleaseRequest all = registered_statistic("evaluation").request(terms, 1.0);
    ReleaseRequest positives = registered_statistic("positives").request(terms, 1.0);
    all.share = part_of(all);
    positives.share = part_of(positives);
    return {std::move(all), std::move(positives)};
  }

  nlohmann::json settings() const override {
    nlohmann::json settings{{"metrics", nlohmann::json::array()}, {"models", nlohmann::json::array()}};
    if (reports_models_) settings["models"] = digests_of_models(requested_);
    for (const EvaluationMetric metric : requested_.terms.metrics) settings["metrics"].push_back(to_string(metric));
    if (requested_.terms.has(EvaluationMetric::kTopK)) settings["top_k"] = requested_.terms.top_k;
    if (requested_.terms.is_about_one_class()) {
      settings["positive"] = requested_.terms.positive_class();
      settings["score_bins"] = requested_.terms.score_bins;
    }
    if (!requested_.terms.class_groups.empty()) settings["class_groups"] = requested_.terms.class_groups;
    if (requested_.terms.most_labels > 0) {
      settings["most_predicted"] = requested_.terms.most_predicted;
      if (reports_models_) settings["threshold"] = *requested_.terms.threshold;  // may be the model's
    }
    if (requested_.terms.groups > 0) settings["groups"] = requested_.terms.groups;
    const std::vector<std::string>& group_names = options_.data.train.group_names;
    if (!group_names.empty()) settings["group_names"] = group_names;
    return settings;
  }

  /// Makes the release of the rows, which the run's observer is shown.
  LinearScores train(TrainingRun& run) const override {
    std::vector<Classifier> models;
    run.ranks().together([&] { models = evaluated_models(requested_); });
    const Release release = run.release("evaluation", ModelsPoint{models, requested_.terms});
    if (!requested_.terms.has(EvaluationMetric::kAuc)) return {};
    std::vector<double> curve(requested_.terms.score_bins, 0.0);
    run.ranks().at_coordinator([&] { curve = curve_of_negatives(negatives_of(release, requested_.terms)); });
    run.ranks().broadcast(curve);
    run.release("positives", ModelsPoint{models, requested_.terms, curve});
    return {};
  }

 private:
  const EvaluationOptions& requested_ = options_.evaluation;
  bool reports_models_;  // else their digests are of rows that nobody promises anything of
};

}  // namespace

std::vector<Classifier> evaluated_models(const EvaluationOptions& evaluation) {
  std::vector<Classifier> models;
  for (const std::string& model : evaluation.models) {
    models.push_back(classifier_from_bytes(std::as_bytes(std::span(model)), "--model"));
  }
  return models;
}

Forfeits forfeits_of_models(const FitOptions& options) {
  Forfeits forfeits;
  if (options.evaluation.models_are_public) return forfeits;
  for (const Classifier& model : evaluated_models(options.evaluation)) {
    if (model.parts().privacy && protects_unit_of(options, *model.parts().privacy)) continue;
    add(forfeits, model.parts().forfeits);
    add(forfeits, {Forfeit::kModel});
  }
  return forfeits;
}

std::vector<std::string> digests_of_models(const EvaluationOptions& evaluation) {
  std::vector<std::string> digests;
  for (const std::string& model : evaluation.models) digests.push_back(to_hex(sha256(model)));
  return digests;
}

const MethodEntry evaluate_method{.name = "evaluate",
                                  .help = "a model on private rows",
                                  .takes = {{"--targets"}},
                                  .make = make_of<EvaluateMethod>,
                                  .reads_rows_once = [](const FitOptions&) { return true; },
                                  .trains = false};

}  // namespace dpreduce
