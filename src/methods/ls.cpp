// Least squares in closed form: a ridge regression for each class (class_least_squares.cpp), or one whose Gram matrix
// all classes share (shared_least_squares.cpp).
#include "common/base/error.hpp"
#include "methods/least_squares.hpp"
#include "methods/options/row_options.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

const MethodEntry& ls_method();

namespace {

// The Gram matrix has d^2 / 2 noised entries, the class sums have K d: the more classes there are, the larger the share
// of the budget that the sums need.
constexpr double kLsGramShare = 0.5;
constexpr double kGramShareManyClasses = 0.3;
// Two classes need an intercept, since the threshold between them is not at the mean of all rows where one is rarer:
// without it up to 5 points are lost, by class 18. With more classes it acts as a prior, which favors large ones: it
// cost 0.2 points with 10 classes and 1.4 with 51 (measured).
constexpr double kIntercept = 0.02;
// The noise of a released center is the same vector in every row. An intercept can make up for it, and least squares
// have none: so the center gets more of the budget here, and has less noise.
constexpr double kCenterShareOfLeastSquares = 0.05;

void check_least_squares(const FitOptions& options) {
  if (!options.method.shared_gram) return;
  if (options.method.alpha) {
    throw UsageError(
        "--alpha with --shared-gram: alpha weighs the Gram matrix of all rows against those of classes, "
        "and --shared-gram has none of classes (it is the limit of large alpha)");
  }
  if (options.method.lambda) throw UsageError("--lambda with --shared-gram: its ridge is tied to the noise");
}

std::unique_ptr<TrainingMethod> make_least_squares(const FitOptions& options) {
  return options.method.shared_gram ? make_shared_least_squares(ls_method().name, options)
                                    : make_class_least_squares(ls_method().name, options);
}

}  // namespace

double least_squares_gram_share(const FitOptions& options) {
  return options.method.gram_share.value_or(options.data.classes < kManyClasses ? kLsGramShare : kGramShareManyClasses);
}

double least_squares_intercept(const FitOptions& options) {
  return options.data.classes == 2 || options.rows.center == Centering::kMoments ? kIntercept : 0.0;
}

const MethodEntry& ls_method() {
  static const MethodEntry entry{.name = "ls",
                                 .help = "ridge regression in closed form, by class or with one Gram matrix for all",
                                 .takes = {{"--shared-gram"},
                                           {"--alpha"},
                                           {"--lambda"},
                                           {"--gram-share", "0.5"},
                                           {"--choose"},
                                           {"--choose-share"},
                                           {"--center moments"}},
                                 .check = check_least_squares,
                                 .make = make_least_squares,
                                 .reads_rows_once = [](const MethodOptions& method) { return method.shared_gram; },
                                 .center_share = kCenterShareOfLeastSquares};
  return entry;
}

}  // namespace dpreduce
