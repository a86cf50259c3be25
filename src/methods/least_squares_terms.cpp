#include "methods/least_squares_terms.hpp"

#include <algorithm>

#include "methods/training_method.hpp"

namespace dpreduce {
namespace {

// The Gram matrix has d^2 / 2 noised entries, the class sums have K d: the more classes there are, the larger the share
// of the budget that the sums need.
constexpr double kLsGramShare = 0.5;
constexpr double kGramShareManyClasses = 0.3;
// Two classes need an intercept, since the threshold between them is not at the mean of all rows where one is rarer:
// without it up to 5 points are lost, by class 18. With more classes it acts as a prior, which favors large ones: it
// cost 0.2 points with 10 classes and 1.4 with 51 (measured).
constexpr double kIntercept = 0.02;

constexpr double kLeastAlpha = 1.0;
constexpr double kMostAlpha = 10.0;

}  // namespace

double least_squares_gram_share(const FitOptions& options) {
  return options.method.gram_share.value_or(options.data.classes < kManyClasses ? kLsGramShare : kGramShareManyClasses);
}

double least_squares_intercept(const FitOptions& options) {
  return options.data.classes == 2 || options.rows.center == Centering::kMoments ? kIntercept : 0.0;
}

double usual_alpha(const FitOptions& options) {
  if (options.privacy.budget.non_private) return kLeastAlpha;
  const double mu = mu_of(options.privacy.budget);
  return std::clamp(1.0 / mu, kLeastAlpha, kMostAlpha);
}

}  // namespace dpreduce
