// From scores to probabilities.
//
// Legend: s the K scores of a row.
//
//     softmax       p_k = exp(s_k) / sum_j exp(s_j)       the row is of one class
//     sigmoid       p_k = 1 / (1 + exp(-s_k))             of each class or not, whatever the others
//
// These are what the losses of the same names take the probability of a class to be: a model's own word, made of noised
// sums, and no calibrated frequency.
#pragma once

#include <span>

#include "common/base/link.hpp"

namespace dpreduce {

/// v <- softmax(v). Precondition: not empty, finite entries.
void softmax(std::span<double> v);

/// v <- the probabilities of scores v. Precondition: not empty, finite entries.
void to_probabilities(Link link, std::span<double> v);

}  // namespace dpreduce
