// A model that scores the rows of tests.
#pragma once

#include <vector>

#include "common/model/classifier.hpp"
#include "tests/testing.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

/// Sure of most rows. Models of other steps differ.
inline Classifier scoring_model(std::size_t dim, std::size_t classes, double step = 1.7) {
  ClassifierParts parts;
  parts.method = "mean";
  parts.preprocessing.input_dim = dim;
  parts.classes = classes;
  for (std::size_t e = 0; e < classes * dim; ++e)
    parts.weights.push_back(40.0 * std::cos(step * static_cast<double>(e)));
  parts.bias.assign(classes, 0.0);
  parts.link = Link::kSoftmax;
  return Classifier(std::move(parts));
}

/// All figures of a model of that many classes and of a second one.
inline EvaluationTerms all_terms(std::size_t classes) {
  EvaluationTerms terms{
      .metrics = {}, .classes = classes, .top_k = 1, .has_probabilities = true, .positive = 1, .has_pair = true};
  for (const auto& [spelling, metric] : spellings<EvaluationMetric>) {
    const bool is_of_one_class = metric != EvaluationMetric::kF1 && metric != EvaluationMetric::kR2;
    if (is_of_one_class && metric != EvaluationMetric::kRmse) terms.metrics.push_back(metric);
  }
  return terms;
}

/// Each of them by itself, and accuracy by two groups.
inline std::vector<EvaluationTerms> each_term(std::size_t classes) {
  std::vector<EvaluationTerms> each;
  for (const EvaluationMetric metric : all_terms(classes).metrics) {
    each.push_back(all_terms(classes));
    each.back().metrics = {metric};
    each.back().has_pair = false;
  }
  for (const bool has_pair : {true, false}) {
    each.push_back(each.front());
    each.back().has_pair = has_pair;
    each.back().groups = has_pair ? 0 : 2;
  }
  return each;
}

/// F1 of sets of at most k labels, and as many predicted ones less one.
inline EvaluationTerms terms_of_sets(std::size_t classes, std::size_t most_labels) {
  return {.metrics = {EvaluationMetric::kF1},
          .classes = classes,
          .most_labels = most_labels,
          .threshold = 0.0,
          .most_predicted = most_labels - 1};
}

/// A curve for the release "positives", from 0 to 1.
inline std::vector<double> straight_curve(std::size_t bins) {
  std::vector<double> curve;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    curve.push_back(static_cast<double>(bin) / static_cast<double>(bins - 1));
  }
  return curve;
}

}  // namespace dpreduce
