// Weights of classes, for a model whose scores are log probabilities.
//
//     b_k <- b_k + log w_k      odds of class k times w_k
//
// The weight of a class is the cost of a missed row of it, in units of the cost of a false alarm. It is a public
// number, so the weighed model is post-processing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "common/model/classifier.hpp"

namespace dpreduce {

/// Throws UsageError unless scores of the method are log probabilities (link softmax, no second head), and there are
/// `classes` weights, above 0 and finite.
void require_weighable(std::string_view method, std::optional<Link> link, bool has_second_head,
                       std::span<const double> weights, std::size_t classes);

/// Weighs the classes of `parts`, as above. Throws as require_weighable.
void weigh_classes(ClassifierParts& parts, std::span<const double> weights);

}  // namespace dpreduce
