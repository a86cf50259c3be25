#include "common/model/probabilities.hpp"

#include <algorithm>
#include <cmath>

namespace dpreduce {

void softmax(std::span<double> v) {
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0.0;
  for (double& entry : v) sum += entry = std::exp(entry - largest);
  for (double& entry : v) entry /= sum;
}

void to_probabilities(Link link, std::span<double> v) {
  if (link == Link::kSoftmax) return softmax(v);
  for (double& entry : v) entry = 1.0 / (1.0 + std::exp(-entry));
}

}  // namespace dpreduce
