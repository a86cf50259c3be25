#include "common/model/class_weights.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"

namespace dpreduce {

void require_weighable(std::string_view method, std::optional<Link> link, bool has_second_head,
                       std::span<const double> weights, std::size_t classes) {
  if (link != Link::kSoftmax || has_second_head) {
    throw UsageError(
        "class weights: scores of method {}{} are no log probabilities, so that odds of classes cannot be weighed; "
        "train by auto, fc or adam",
        method, has_second_head ? " with a warm start" : "");
  }
  const auto is_weight = [](double weight) { return weight > 0.0 && std::isfinite(weight); };
  if (weights.size() != classes || !std::ranges::all_of(weights, is_weight)) {
    throw UsageError("class weights: a weight must be above 0 and finite, and each class has one");
  }
}

void weigh_classes(ClassifierParts& parts, std::span<const double> weights) {
  require_weighable(parts.method, parts.link, !parts.cosine_head.empty(), weights, parts.classes);
  for (std::size_t k = 0; k < parts.classes; ++k) parts.bias[k] += std::log(weights[k]);
}

}  // namespace dpreduce
