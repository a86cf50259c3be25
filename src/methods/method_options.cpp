#include "methods/method_options.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/option_table.hpp"

namespace dpreduce {
namespace {

constexpr int kMostRounds = 100000;
constexpr double kSmallestBatch = 1e-9;  // the least that the accountants take
// Outside of these bounds one of the two Gram matrices would get next to nothing of the budget.
constexpr double kLargestAlpha = 1e6;
constexpr double kSmallestAlpha = 1e-6;
constexpr double kMostExpectedRows = 1e15;

void require_valid_rounds(const MethodOptions& method) {
  if (method.rounds) require_option_between("--rounds", static_cast<double>(*method.rounds), 1, kMostRounds);
  if (method.local_steps)
    require_option_between("--local-steps", static_cast<double>(*method.local_steps), 1, kMostRounds);
  if (method.batch && !(*method.batch >= kSmallestBatch && *method.batch <= 1.0)) {
    throw UsageError(fmt::format("--batch {}: the probability of a row to enter a round must be from {} to 1",
                                 *method.batch, kSmallestBatch));
  }
  if (method.learning_rate) require_option_positive("--learning-rate", *method.learning_rate);
  if (method.radius) require_option_positive("--radius", *method.radius);
  if (method.warm_start && method.loss.value_or(Loss::kSoftmax) != Loss::kSoftmax) {
    throw UsageError(fmt::format("--warm-start with --loss {}: the residual loss is one of probabilities; use softmax",
                                 to_string(*method.loss)));
  }
  if (method.warm_start_share && !method.warm_start) throw UsageError("--warm-start-share goes with --warm-start");
  require_option_share("--warm-start-share", method.warm_start_share);
}

void require_valid_grams(const MethodOptions& method) {
  require_option_share("--gram-share", method.gram_share);
  require_option_share("--isotropy-share", method.isotropy_share);
  if (method.alpha && !(*method.alpha >= 0.0 && *method.alpha <= kLargestAlpha)) {
    throw UsageError(
        fmt::format("--alpha {}: must be from 0 to {}; beyond, use --shared-gram", *method.alpha, kLargestAlpha));
  }
  if (method.alpha && *method.alpha > 0.0 && *method.alpha < kSmallestAlpha) {
    throw UsageError(fmt::format("--alpha {}: must be 0 or at least {}", *method.alpha, kSmallestAlpha));
  }
  if (method.lambda) require_option_positive("--lambda", *method.lambda);
}

void require_valid_prototypes(const MethodOptions& method) {
  if (method.top_k == 0) throw UsageError("--top-k 0: must be at least 1");
  if (method.d_min) require_option_between("--d-min", *method.d_min, 0.0, 2.0);
  if (method.d_max) require_option_between("--d-max", *method.d_max, 0.0, 2.0);
  if (method.expected_rows) require_option_between("--expected-rows", *method.expected_rows, 1, kMostExpectedRows);
}

void require_valid_objective(const MethodOptions& method) {
  if (method.objective == Objective::kAccuracy) return;
  if (method.loss.value_or(Loss::kSoftmax) != Loss::kSoftmax) {
    throw UsageError(fmt::format("--objective balanced with --loss {}: scores must be log probabilities; use softmax",
                                 to_string(*method.loss)));
  }
  if (method.warm_start || method.choose) {
    throw UsageError(
        fmt::format("--objective balanced with {}: scores of one head and one candidate are adjusted; leave it out",
                    method.warm_start ? "--warm-start" : "--choose"));
  }
}

void require_valid_choice(const MethodOptions& method) {
  require_option_share("--choose-share", method.choose_share);
  if (method.choose_share && !method.choose) {
    throw UsageError("--choose-share goes with --choose without --validation-x; public rows cost nothing");
  }
  if (!method.choose) return;
  if (method.iterate) throw UsageError("--iterate with --choose: the iterate is what is chosen; leave one out");
  if (method.lambda) throw UsageError("--lambda with --choose: the ridge is what is chosen; leave one out");
}

}  // namespace

void check(const MethodOptions& method) {
  require_valid_rounds(method);
  require_valid_grams(method);
  require_valid_prototypes(method);
  require_valid_objective(method);
  require_valid_choice(method);
}

}  // namespace dpreduce
