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
                        .link = method.link(),
                        .forfeits = beside_seed(plan.forfeits)};
  if (options.data.most_labels() > 1) parts.threshold = scores.threshold ? scores.threshold : method.threshold();
  if (plan.is_private) {
    const Guarantee& g = *plan.guarantee;
    parts.privacy = PrivacyStatement{.epsilon = g.epsilon,
                                     .delta = g.delta,
                                     .mu = g.mu,
                                     .rho = g.rho,
                                     .adjacency = std::string(to_string(options.privacy.adjacency))};
    if (options.data.has_persons()) {
      parts.privacy->person = PersonStatement{.rows = options.data.bounded_rows(),
                                              .bound = options.data.person_bound.value_or(PersonBound::kWeight),
                                              .silos = options.silos.silos_per_person};
    }
  }
  return Classifier(std::move(parts));
}

}  // namespace dpreduce
