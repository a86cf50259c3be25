// A model that scores the rows of tests.
#pragma once

#include <vector>

#include "common/model/classifier.hpp"
#include "tests/testing.hpp"
#include "worker/statistic_inputs.hpp"

namespace dpreduce {

inline Classifier scoring_model(std::size_t dim, std::size_t classes) {
  ClassifierParts parts;
  parts.method = "mean";
  parts.preprocessing.input_dim = dim;
  parts.classes = classes;
  for (std::size_t e = 0; e < classes * dim; ++e) parts.weights.push_back(std::cos(1.7 * static_cast<double>(e)));
  parts.bias.assign(classes, 0.0);
  parts.link = Link::kSoftmax;
  return Classifier(std::move(parts));
}

/// The usual figures of a model of that many classes.
inline EvaluationTerms usual_terms(std::size_t classes) {
  EvaluationTerms terms;
  terms.classes = classes;
  terms.has_probabilities = true;
  return terms;
}

}  // namespace dpreduce
