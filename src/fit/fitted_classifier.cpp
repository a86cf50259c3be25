#include "fit/fitted_classifier.hpp"

#include <optional>
#include <string>
#include <utility>

namespace dpreduce {

Classifier fitted_classifier(const TrainingMethod& method, LinearScores scores, Preprocessing preprocessing,
                             const FitOptions& options, const FitPlan& plan) {
  preprocessing.intercept = 0.0;  // folded into the bias
  ClassifierParts parts{.method = std::string(method.name()),
                        .privacy = std::nullopt,
                        .preprocessing = std::move(preprocessing),
                        .classes = options.data.classes,
                        .weights = std::move(scores.weights),
                        .bias = std::move(scores.bias),
                        .cosine_head = std::move(scores.cosine_head),
                        .threshold = std::nullopt,
                        .class_names = options.data.train.class_names,
                        .link = method.link()};
  if (options.data.most_labels() > 1) parts.threshold = scores.threshold ? scores.threshold : method.threshold();
  if (plan.is_private) {
    const Guarantee& g = *plan.guarantee;
    parts.privacy =
        PrivacyStatement{g.epsilon, g.delta, g.mu, g.rho, std::string(to_string(options.privacy.adjacency))};
  }
  return Classifier(std::move(parts));
}

}  // namespace dpreduce
