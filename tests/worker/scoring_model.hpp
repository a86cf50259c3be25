// Models that score the rows of tests, and the points that statistics are taken at.
#pragma once

#include "common/model/classifier.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
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

/// Weights of three classes, so steep that residuals reach every length.
inline std::vector<double> steep_weights(std::size_t dim) {
  std::mt19937 engine(11);
  return normal_numbers(engine, 3 * dim, 4.0);
}

/// A point of each kind, for these rows of three classes.
class SteepPoints {
 public:
  SteepPoints(const RowTransform& transform, std::vector<Classifier> models, const EvaluationTerms& asked)
      : dim_(transform.output_dim()),
        weights_(steep_weights(dim_), {2.5, dim_}),
        prior_{weights_, transform.preprocessing().dim()},
        models_(std::move(models)),
        asked_(asked),
        curve_(straight_curve(asked.score_bins)) {}
  SteepPoints(const SteepPoints&) = delete;

  PublicPoint of(const StatisticEntry& entry, Loss loss = Loss::kSoftmax, bool has_prior = false) const {
    switch (entry.taken_at) {
      case TakenAt::kRows:
        return {};
      case TakenAt::kWeights:
        return GradientPoint{weights_, loss, has_prior ? prior_ : Prior{}};
      case TakenAt::kBalls:
        return balls(entry.name == "center_rest");
      case TakenAt::kModels:
        return ModelsPoint{models_, asked_, entry.name == "positives" ? std::span(curve_) : std::span<const double>()};
    }
    throw std::logic_error("a point of no kind");
  }

 private:
  // One ball within reach, one that every row is clipped to, one far away.
  ClassBalls balls(bool is_one) const {
    std::vector<double> centers = steep_weights(dim_);
    for (double& entry : centers) entry *= 0.01;
    if (!is_one) return {centers, {3.0, 1e-3, 0.5}};
    centers.resize(dim_);
    return {centers, {0.5}};
  }

  std::size_t dim_;
  LatticeWeights weights_;
  Prior prior_;
  std::vector<Classifier> models_;
  const EvaluationTerms& asked_;
  std::vector<double> curve_;
};

}  // namespace dpreduce
