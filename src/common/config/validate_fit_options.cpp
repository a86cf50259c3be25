// What no options of a fit may be.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/option_checks.hpp"
#include "dpreduce/config/silo_options.hpp"
#include "dpreduce/config/validate_options.hpp"

namespace dpreduce {
namespace {

constexpr int kMostRounds = 100000;
constexpr double kSmallestBatch = 1e-9;  // of the accountants
// Beyond these the budget of one of the two Gram matrices vanishes beside the other's.
constexpr double kLargestAlpha = 1e6;
constexpr double kSmallestAlpha = 1e-6;
constexpr double kMostSeconds = 1e6;
constexpr double kMostExpectedRows = 1e15;
constexpr double kMostShareOfSmallest = 1.001;  // times K: 0.333 and 0.3334 are a third

constexpr const char* kMethodsOfRounds = "fc, gd, adam, newton, global-adapt or fedavg";

bool trains_in_rounds(Method method) {
  return method == Method::kAuto || method == Method::kFc || method == Method::kGd || method == Method::kAdam ||
         method == Method::kNewton || method == Method::kGlobalAdapt || method == Method::kFedavg;
}

// An option that the method would not look at is a misunderstanding.
void check_used(const char* option, bool is_given, bool is_used, const char* methods) {
  if (is_given && !is_used) throw UsageError(fmt::format("{} goes with --method {}", option, methods));
}

void check_local_steps(const FitOptions& options) {
  check_used("--local-steps", options.local_steps.has_value(), options.method == Method::kFedavg, "fedavg");
  if (options.method != Method::kFedavg) return;
  if (options.local_steps) check_range("--local-steps", static_cast<double>(*options.local_steps), 1, kMostRounds);
}

void check_training_rounds(const FitOptions& options) {
  const Method method = options.method;
  const bool in_rounds = trains_in_rounds(method);
  check_used("--rounds", options.rounds.has_value(), in_rounds || method == Method::kCoinPress,
             "fc, gd, adam, newton, global-adapt or coinpress");
  check_used("--loss", options.loss.has_value(), in_rounds, kMethodsOfRounds);
  check_used("--iterate", options.iterate.has_value(), in_rounds, kMethodsOfRounds);
  const bool has_rate = method == Method::kGd || method == Method::kAdam || method == Method::kFedavg;
  check_used("--learning-rate", options.learning_rate.has_value(), has_rate,
             "gd, adam and fedavg; others choose their steps");
  check_used("--radius", options.radius.has_value(), method == Method::kGd, "gd");
  const bool has_gram = method == Method::kAuto || method == Method::kLs || method == Method::kFc;
  check_used("--gram-share", options.gram_share.has_value(), has_gram, "ls or fc");
  check_share("--gram-share", options.gram_share);
  const bool has_heads = in_rounds && method != Method::kGlobalAdapt && method != Method::kFedavg;
  check_used("--warm-start", options.warm_start, has_heads, "fc, gd, adam or newton");
  check_local_steps(options);
  if (options.warm_start && options.loss.value_or(Loss::kSoftmax) != Loss::kSoftmax) {
    throw UsageError(fmt::format("--warm-start with --loss {}: the residual loss is one of probabilities; use softmax",
                                 to_string(*options.loss)));
  }
  if (options.warm_start_share) {
    if (!options.warm_start) throw UsageError("--warm-start-share goes with --warm-start");
    check_share("--warm-start-share", options.warm_start_share);
  }
  if (options.rounds) check_range("--rounds", static_cast<double>(*options.rounds), 1, double{kMostRounds});
  if (options.learning_rate) check_positive("--learning-rate", *options.learning_rate);
  if (options.radius) check_positive("--radius", *options.radius);
  if (method == Method::kNewton && options.loss == Loss::kSquare) {
    throw UsageError(
        "--method newton --loss square: its Hessian is the same for all classes and rounds; use --method ls or fc");
  }
}

void check_choice(const FitOptions& options) {
  check_both_or_none("--validation-x", !options.validation.x.empty(), "--validation-y", !options.validation.y.empty());
  if (options.choose && options.method == Method::kFedavg) {
    throw UsageError(
        "--choose with --method fedavg: each silo's gradients have noise of their own, and a choice would need exact "
        "counts of all silos' rows; leave it out");
  }
  check_used("--choose", options.choose, trains_in_rounds(options.method) || options.method == Method::kLs,
             "ls, fc, gd, adam or newton; others have nothing to choose");
  const bool has_validation_rows = !options.validation.x.empty();
  if (has_validation_rows && !options.choose) throw UsageError("--validation-x goes with --choose");
  if (options.choose_share && (!options.choose || has_validation_rows)) {
    throw UsageError("--choose-share goes with --choose without --validation-x; public rows cost nothing");
  }
  check_share("--choose-share", options.choose_share);
  if (!options.choose) return;
  if (options.batch && !has_validation_rows) {
    throw UsageError("--choose with --batch: rounds on samples leave no mu to share; choose by --validation-x");
  }
  if (options.iterate) throw UsageError("--iterate with --choose: the iterate is what is chosen; leave one out");
  if (options.lambda) throw UsageError("--lambda with --choose: the ridge is what is chosen; leave one out");
}

// A batch of all rows is none.
void check_batch(FitOptions& options) {
  if (!options.batch) return;
  const double rate = *options.batch;
  if (!(rate >= kSmallestBatch && rate <= 1.0)) {
    throw UsageError(fmt::format("--batch {}: the probability of a row to enter a round must be from {} to 1", rate,
                                 kSmallestBatch));
  }
  const bool samples = options.method == Method::kGd || options.method == Method::kAdam;
  check_used("--batch", true, samples,
             "gd and adam; others make few passes, and release Gram matrices or sums of all rows");
  if (rate == 1.0) {
    options.batch.reset();
    return;
  }
  if (options.adjacency == Adjacency::kReplaceOne) {
    throw UsageError(
        fmt::format("--batch {} with --adjacency replace-one: a sample holds none, one or both of two records that are "
                    "exchanged, which no accountant here covers; use add-remove",
                    rate));
  }
  const BudgetOptions& budget = options.budget;
  if (budget.non_private) return;
  if (budget.rho || budget.mu) {
    throw UsageError(fmt::format("--batch {}: rounds on samples have no {}; state the budget as --epsilon and --delta",
                                 rate, budget.rho ? "rho" : "mu"));
  }
  if (budget.accountant == Accountant::kGdp || budget.accountant == Accountant::kZcdp) {
    throw UsageError(
        fmt::format("--batch {}: --accountant {} knows no gain from sampling (the loss of a sampled Gaussian is not "
                    "Gaussian); use pld or rdp",
                    rate, to_string(budget.accountant)));
  }
}

// Beyond, the last class of any data set keeps no row.
void check_imbalance(const FitOptions& options) {
  const double ratio = options.imbalance_ratio;
  if (!(ratio >= 1.0 && ratio <= kLargestImbalance)) {
    throw UsageError(fmt::format("--imbalance-ratio {}: must be from 1 to {}", ratio, kLargestImbalance));
  }
  if (options.imbalance_seed && ratio == 1.0) {
    throw UsageError("--imbalance-seed goes with --imbalance-ratio above 1");
  }
  if (ratio > 1.0 && options.max_labels) {
    throw UsageError(
        fmt::format("--imbalance-ratio {} with --max-labels: shares are of rows of one class; leave one out", ratio));
  }
}

// What chooses one class a row has nothing to say of rows of several.
void check_label_sets(const FitOptions& options) {
  if (!options.max_labels) return;
  const std::size_t most = *options.max_labels;
  if (most < 1 || most > options.classes) {
    throw UsageError(
        fmt::format("--max-labels {}: must be from 1 to {}, the number of classes", most, options.classes));
  }
  if (most == 1) return;
  if (options.warm_start) {
    throw UsageError(fmt::format(
        "--warm-start with --max-labels {}: its loss is of the probability of one class a row; leave it out", most));
  }
  if (options.loss == Loss::kSoftmax) {
    throw UsageError(fmt::format(
        "--loss softmax with --max-labels {}: softmax chooses one class a row; use sigmoid or square", most));
  }
  if (options.method == Method::kCoinPress) {
    throw UsageError(fmt::format(
        "--method coinpress with --max-labels {}: a row is clipped about the centre of one class; use mean", most));
  }
  if (options.method == Method::kFisher) {
    throw UsageError(fmt::format(
        "--method fisher with --max-labels {}: variances within classes need rows of one class; use ls, mean or fc",
        most));
  }
}

void check_objective(const FitOptions& options) {
  if (options.objective == Objective::kAccuracy) return;
  check_used("--objective balanced", true, options.method == Method::kAuto, "auto; others are what they are named");
  if (options.most_labels() > 1) {
    throw UsageError(
        "--objective balanced with --max-labels above 1: scores are adjusted for one class a row; leave it out");
  }
  if (options.loss.value_or(Loss::kSoftmax) != Loss::kSoftmax) {
    throw UsageError(fmt::format("--objective balanced with --loss {}: scores must be log probabilities; use softmax",
                                 to_string(*options.loss)));
  }
  if (options.warm_start || options.choose) {
    throw UsageError(
        fmt::format("--objective balanced with {}: scores of one head and one candidate are adjusted; leave it out",
                    options.warm_start ? "--warm-start" : "--choose"));
  }
}

void check_prototypes(const FitOptions& options) {
  const bool is_used = options.method == Method::kPublic;
  check_used("--top-k", options.top_k.has_value(), is_used, "public");
  check_used("--d-min", options.d_min.has_value(), is_used, "public");
  check_used("--d-max", options.d_max.has_value(), is_used, "public");
  const bool is_adaptive = options.method == Method::kPrototypes;
  check_used("--auto", options.adaptive, is_adaptive, "prototypes");
  const bool is_balanced = options.objective == Objective::kBalanced;
  check_used("--expected-rows", options.expected_rows.has_value(), is_adaptive || is_balanced,
             "prototypes --auto, or --objective balanced");
  if (options.expected_rows) check_range("--expected-rows", *options.expected_rows, 1, kMostExpectedRows);
  check_used("--smallest-share", options.smallest_share.has_value(), is_adaptive || is_balanced,
             "prototypes --auto, or --objective balanced");
  if (options.smallest_share) {
    const double share = *options.smallest_share;
    if (!(share > 0.0 && share * static_cast<double>(options.classes) <= kMostShareOfSmallest)) {
      throw UsageError(
          fmt::format("--smallest-share {}: must be greater than 0, and at most 1 / {} for the smallest of {} "
                      "classes",
                      share, options.classes, options.classes));
    }
    if (options.imbalance_ratio != 1.0) {
      throw UsageError(
          "--smallest-share with --imbalance-ratio: the ratio says how small the smallest class is; leave one out");
    }
  }
  if (is_adaptive && !options.adaptive) {
    throw UsageError("--method prototypes: say --auto, or name --method mean or public");
  }
  if (!is_used && !is_adaptive) return;
  if (options.public_x.empty()) {
    throw UsageError(fmt::format("--method {}: prototypes are chosen among public rows; name them with --public-x",
                                 to_string(options.method)));
  }
  if (options.top_k == 0) throw UsageError("--top-k 0: must be at least 1");
  const double d_min = options.d_min.value_or(0.0);
  const double d_max = options.d_max.value_or(2.0);
  check_range("--d-min", d_min, 0.0, 2.0);
  check_range("--d-max", d_max, 0.0, 2.0);
  if (!(d_min < d_max)) {
    throw UsageError(fmt::format("--d-min {} and --d-max {}: the lower bound must be below the upper", d_min, d_max));
  }
  if (options.normalize != Normalize::kL2) {
    throw UsageError(fmt::format("--method {} with --normalize none: rows are compared by their cosine; use l2",
                                 to_string(options.method)));
  }
  if (options.center == Centering::kDp) {
    throw UsageError(
        fmt::format("--method {} with --center dp: a noised mean would end the pure guarantee; use --center public",
                    to_string(options.method)));
  }
  if (options.select > 0) {
    throw UsageError(fmt::format(
        "--method {} with --select: features are ranked by noised sums, which would end the pure guarantee; use "
        "--pca, which takes --public-x",
        to_string(options.method)));
  }
  if (options.most_labels() > 1) {
    throw UsageError(fmt::format(
        "--method {} with --max-labels {}: a row counts for the prototypes of one class; use mean, ls or fc",
        to_string(options.method), options.most_labels()));
  }
}

void check_class_grams(const FitOptions& options) {
  if (options.method == Method::kLs && options.shared_gram) {
    if (options.alpha) {
      throw UsageError(
          "--alpha with --shared-gram: alpha weighs the Gram matrix of all rows against those of classes, "
          "and --shared-gram has none of classes (it is the limit of large alpha)");
    }
    if (options.lambda) throw UsageError("--lambda with --shared-gram: its ridge is tied to the noise");
  }
  if (options.method != Method::kLs && options.alpha) throw UsageError("--alpha goes with --method ls");
  if (options.method != Method::kLs && options.lambda) throw UsageError("--lambda goes with --method ls");
  if (options.alpha && !(*options.alpha >= 0.0 && *options.alpha <= kLargestAlpha)) {
    throw UsageError(
        fmt::format("--alpha {}: must be from 0 to {}; beyond, use --shared-gram", *options.alpha, kLargestAlpha));
  }
  if (options.alpha && *options.alpha > 0.0 && *options.alpha < kSmallestAlpha) {
    throw UsageError(fmt::format("--alpha {}: must be 0 or at least {}", *options.alpha, kSmallestAlpha));
  }
  if (options.lambda) check_positive("--lambda", *options.lambda);
}

void check_checkpoint(const FitOptions& options) {
  check_range("--checkpoint-every", options.checkpoint_every, 0, kMostSeconds);
  if (options.checkpoint.empty()) {
    if (options.checkpoint_every > 0.0) throw UsageError("--checkpoint-every goes with --checkpoint");
    return;
  }
  if (options.budget.non_private) {
    throw UsageError("--checkpoint with --non-private: it keeps what was released, which without noise are exact sums");
  }
  if (options.method == Method::kPublic || options.method == Method::kPrototypes) {
    throw UsageError(
        "--checkpoint with --method public: it has no noised sums to keep; --resume alone repeats a choice");
  }
  if (options.method == Method::kFedavg) {
    throw UsageError(
        "--checkpoint with --method fedavg: it keeps what the coordinator gets, and noised gradients stay with their "
        "silos; use --resume alone");
  }
}

}  // namespace

FitOptions validated(FitOptions options) {
  check_classes(options.classes);
  check_both_or_none("--test-x", !options.test.x.empty(), "--test-y", !options.test.y.empty());
  if (options.center == Centering::kPublic && options.public_x.empty()) {
    throw UsageError("--center public: name the public rows with --public-x");
  }
  const bool uses_public_rows = options.center == Centering::kPublic || options.pca > 0 ||
                                options.method == Method::kPublic || options.method == Method::kPrototypes ||
                                options.objective == Objective::kBalanced;
  if (!options.public_x.empty() && !uses_public_rows) {
    throw UsageError(
        "--public-x: nothing uses public rows here; add --center public, --pca or --method public, or leave them out");
  }
  check_used("--center moments", options.center == Centering::kMoments, options.method == Method::kLs,
             "ls; rounds have an intercept anyway, and others no second moments");
  check_positive("--clip", options.clip_norm);
  check_share("--center-share", options.center_share);
  check_share("--pca-share", options.pca_share);
  check_share("--select-share", options.select_share);
  if (options.pca_share && (options.pca == 0 || !options.public_x.empty())) {
    throw UsageError("--pca-share goes with --pca on private rows (without --public-x)");
  }
  if (options.select_by && options.select == 0) throw UsageError("--select-by goes with --select");
  if (options.select_by == SelectBy::kT && options.method != Method::kFisher) {
    throw UsageError("--select-by t needs variances: it goes with --method fisher");
  }
  const bool selects_from_its_own_sums = options.method == Method::kMean || options.method == Method::kFisher;
  if (options.select_share && (options.select == 0 || selects_from_its_own_sums)) {
    throw UsageError("--select-share goes with --select and --method ls or fc; others select from what they release");
  }
  check_training_rounds(options);
  check_batch(options);
  if (options.metric != Metric::kCosine && options.method != Method::kMean) {
    throw UsageError("--metric goes with --method mean");
  }
  check_objective(options);
  check_prototypes(options);
  check_class_grams(options);
  check_choice(options);
  check_label_sets(options);
  check_imbalance(options);
  if (options.shared_gram && options.method != Method::kLs) throw UsageError("--shared-gram goes with --method ls");
  if (options.pool == 0) throw UsageError("--pool 0: must be at least 1");
  check_range("--threads", options.threads, 0, kMostThreads);
  if (options.memory_mib) {
    check_range("--memory", static_cast<double>(*options.memory_mib), 1, static_cast<double>(kMostMemoryMib));
  }
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  if (options.ledger.empty()) throw UsageError("--ledger: a file name is needed");
  const std::vector<std::pair<const char*, std::string>> outputs{{"--out", options.out},
                                                                 {"--report", options.report},
                                                                 {"--ledger", options.ledger},
                                                                 {"--checkpoint", options.checkpoint}};
  for (std::size_t first = 0; first < outputs.size(); ++first) {
    for (std::size_t second = first + 1; second < outputs.size(); ++second) {
      if (outputs[first].second.empty() || !is_same_file(outputs[first].second, outputs[second].second)) continue;
      throw UsageError(fmt::format("{} and {} are both {}: they must be different files", outputs[first].first,
                                   outputs[second].first, outputs[second].second));
    }
  }
  check_checkpoint(options);
  check_silos(options);
  options.test.bad_rows = options.train.bad_rows;
  return options;
}

}  // namespace dpreduce
