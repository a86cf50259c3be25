#include "fit/validated_options.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/option_table.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/text.hpp"
#include "common/plan/loss.hpp"
#include "methods/fit_options.hpp"
#include "methods/method_options.hpp"
#include "methods/method_terms.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kMostShareOfSmallest = 1.001;  // times K: 0.333 and 0.3334 are a third

void require_valid_choice(const FitOptions& options) {
  const bool has_validation_rows = !options.data.validation.x.empty();
  if (has_validation_rows && !options.method.choose) throw UsageError("--validation-x goes with --choose");
  if (options.method.choose_share && has_validation_rows) {
    throw UsageError("--choose-share goes with --choose without --validation-x; public rows cost nothing");
  }
  if (options.method.choose && options.method.batch && !has_validation_rows) {
    throw UsageError("--choose with --batch: rounds on samples leave no mu to share; choose by --validation-x");
  }
}

// --batch 1 takes all rows into each round, which is the same as no --batch.
void require_valid_batch(FitOptions& options) {
  if (!options.method.batch) return;
  const double rate = *options.method.batch;
  if (rate == 1.0) {
    options.method.batch.reset();
    return;
  }
  const BudgetOptions& budget = options.privacy.budget;
  if (budget.non_private) return;
  if (options.privacy.adjacency == Adjacency::kReplaceOne && budget.accountant == Accountant::kRdp) {
    throw UsageError(fmt::format(
        "--batch {} with --adjacency replace-one: --accountant rdp has no useful bound of an exchange of two "
        "records on samples; use pld",
        rate));
  }
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

// Refuses, for rows of several classes, what chooses exactly one class for a row.
void require_valid_label_sets(const FitOptions& options) {
  if (!options.data.max_labels) return;
  const std::size_t most = *options.data.max_labels;
  if (most == 1) return;
  if (options.method.warm_start) {
    throw UsageError(fmt::format(
        "--warm-start with --max-labels {}: its loss is of the probability of one class a row; leave it out", most));
  }
  if (options.method.loss == Loss::kSoftmax) {
    throw UsageError(fmt::format(
        "--loss softmax with --max-labels {}: softmax chooses one class a row; use sigmoid or square", most));
  }
}

void require_valid_class_shares(const FitOptions& options) {
  if (options.method.objective == Objective::kBalanced && options.data.most_labels() > 1) {
    throw UsageError(
        "--objective balanced with --max-labels above 1: scores are adjusted for one class a row; leave it out");
  }
  if (!options.method.smallest_share) return;
  const double share = *options.method.smallest_share;
  const std::size_t classes = options.data.classes;
  if (!(share > 0.0 && share * static_cast<double>(classes) <= kMostShareOfSmallest)) {
    throw UsageError(
        fmt::format("--smallest-share {}: must be greater than 0, and at most 1 / {} for the smallest of {} classes",
                    share, classes, classes));
  }
  if (options.data.imbalance_ratio != 1.0) {
    throw UsageError(
        "--smallest-share with --imbalance-ratio: the ratio says how small the smallest class is; leave one out");
  }
}

// Refuses, among silos, what would show the coordinator rows of one silo, or the exact number of all rows.
void require_fit_for_silos(const FitOptions& options) {
  const SiloOptions& silos = options.silos;
  if (!silos.secure_aggregation) return;
  if (!silos.rows_are_own && (!has_rank(options.data.train.x) || !has_rank(options.data.train.y))) {
    throw UsageError(
        fmt::format("--secure-aggregation: each silo has files of its own; write {{rank}} in {} and {}, e.g. "
                    "'silo{{rank}}/x.npy', or name them in --silo-config",
                    options.data.train.option("x"), options.data.train.option("y")));
  }
  if (has_rank(options.data.test.x) || has_rank(options.data.validation.x) || has_rank(options.data.public_x)) {
    throw UsageError(
        "--secure-aggregation: the coordinator alone reads test, validation and public rows; name them without {rank}");
  }
  const auto refuse = [](bool is_given, const char* option, const char* reason) {
    if (is_given) throw UsageError(fmt::format("{} with --secure-aggregation: {}", option, reason));
  };
  require_both_or_none("--budget-epsilon", options.privacy.limit_epsilon.has_value(), "--budget-delta",
                       options.privacy.limit_delta.has_value());
  refuse(options.privacy.budget.non_private && options.privacy.limit_epsilon, "--non-private and --budget-epsilon",
         "sums without noise are within no budget");
  refuse(options.privacy.seed && options.privacy.limit_epsilon, "--seed and --budget-epsilon",
         "noise that anyone can compute is within no budget");
  refuse(silos.is_distributed() && may_choose_public_rows(options), "choosing public rows by --noise distributed",
         "the coordinator would see the utilities of all rows; use central noise, or a method that sums rows");
  refuse(options.method.batch.has_value(), "--batch", "the coins of a sample would have to be known to every party");
  refuse(options.privacy.resume, "--resume", "a run that has ended is begun anew, and charged anew");
  refuse(silos.is_distributed() && options.method.choose && options.data.validation.x.empty(),
         "--choose and --noise distributed",
         "the coordinator would see how many rows each candidate gets right; choose by --validation-x");
}

// Refuses what is not made for weights or persons: its guarantee would be of a row.
void require_unit_of_silos(const FitOptions& options) {
  if (options.silos.secure_aggregation && options.data.weight_bound) {
    throw UsageError(
        "--weight-bound with --secure-aggregation: silos have no weights of rows; leave it out, or train without "
        "silos");
  }
  if (!options.data.has_units()) return;
  if (options.silos.secure_aggregation && !options.data.rows_per_person) {
    throw UsageError(fmt::format(
        "{} with --secure-aggregation: all parties must say --rows-per-person B, e.g. 1, so that they agree "
        "on persons as the unit",
        options.data.train.option("person")));
  }
}

// s silos share a person's bound.
void require_valid_silos_per_person(const FitOptions& options) {
  if (!options.silos.silos_per_person) return;
  const std::uint32_t silos = *options.silos.silos_per_person;
  if (!options.data.has_units()) {
    throw UsageError(fmt::format("--silos-per-person {}: goes with {}, which says whose each row is", silos,
                                 options.data.train.option("person")));
  }
  const bool has_silos = options.silos.secure_aggregation || options.silos.under_engine ||
                         method_entry(options.method).each_rank_is_a_silo;
  if (!has_silos) {
    throw UsageError(fmt::format(
        "--silos-per-person {}: goes with silos, which are those of --secure-aggregation, of --method fedavg, or of a "
        "plan for another engine; ranks that trust each other count a person's rows over all of them",
        silos));
  }
  if (silos < 1) throw UsageError(fmt::format("--silos-per-person {}: must be at least 1", silos));
}

// The coordinator of silos has no rows, and so no identifiers; that persons are the unit all parties have said.
void take_unit_of_silos(FitOptions& options) {
  const bool is_coordinator =
      options.silos.secure_aggregation && options.silos.rows_are_own && options.data.train.x.empty();
  if (is_coordinator && options.data.rows_per_person) options.data.train.person = {"identifiers at the silos"};
}

void require_used_public_rows(const FitOptions& options) {
  if (options.rows.center == Centering::kPublic && options.data.public_x.empty()) {
    throw UsageError("--center public: name the public rows with --public-x");
  }
  const bool uses_public_rows = options.rows.center == Centering::kPublic || options.rows.pca > 0 ||
                                method_entry(options.method).chooses_public_rows || whitens_by_public_rows(options) ||
                                options.method.objective == Objective::kBalanced;
  if (!options.data.public_x.empty() && !uses_public_rows) {
    throw UsageError(
        fmt::format("--public-x: nothing uses public rows here; add --center public, --pca or --method {}, or leave "
                    "them out",
                    methods_where([](const MethodEntry& method) {
                      return method.chooses_public_rows || method.whitens_by_public_rows;
                    })));
  }
  if (options.rows.pca_share && !options.data.public_x.empty()) {
    throw UsageError("--pca-share goes with --pca on private rows (without --public-x)");
  }
}

// Figures of test rows that share the budget are of one release more, which is not made for every kind of fit.
void take_evaluation(FitOptions& options) {
  EvaluationOptions& evaluation = options.evaluation;
  const DataOptions& data = options.data;
  if (!evaluation.share) {
    if (!data.test.person.empty()) throw UsageError("--test-person goes with --evaluate-share");
    return;
  }
  const double share = *evaluation.share;
  if (!(share > 0.0 && share < 1.0))
    throw UsageError(fmt::format("--evaluate-share {}: must be above 0 and below 1", share));
  const auto refuse = [](bool is_given, const char* option, const char* reason) {
    if (is_given) throw UsageError(fmt::format("--evaluate-share {}: {}", option, reason));
  };
  constexpr const char* kAfterwards = "evaluate the model afterwards, by dpreduce evaluate --private";
  refuse(data.test.x.empty(), "without --test-x and --test-y", "they name the rows that figures are about");
  refuse(options.privacy.budget.non_private, "with --non-private", "there is no budget to share; leave one out");
  refuse(options.method.batch.has_value(), "with --batch", kAfterwards);
  refuse(options.silos.secure_aggregation, "with --secure-aggregation", kAfterwards);
  refuse(data.max_labels.has_value(), "with --max-labels", kAfterwards);
  refuse(data.has_targets(), "with --targets", kAfterwards);
  refuse(!data.train.weight.empty(), "with --train-weight", kAfterwards);
  refuse(data.has_units() && data.test.person.empty(), "with --train-person",
         "name whose test rows are with --test-person");
  refuse(!data.has_units() && !data.test.person.empty(), "with --test-person", "it goes with --train-person");
  evaluation.terms.metrics = usual_metrics(0);
  evaluation.terms.classes = data.classes;
}

void require_public_outputs(const FitOptions& options) {
  if (!options.privacy.budget.non_private) return;
  if (options.output.metrics.empty()) return;
  throw UsageError("--metrics with --non-private: it tells norms of what is released, which without noise are exact");
}

// The coordinator of silos has no rows; that they have targets all parties have said, by saying nothing of classes.
void take_targets(FitOptions& options) {
  DataOptions& data = options.data;
  const bool is_coordinator =
      options.silos.secure_aggregation && options.silos.rows_are_own && options.data.train.x.empty();
  if (is_coordinator && data.classes == 0) data.train.has_targets = true;
  if (!data.test.y.empty() && data.test.has_targets != data.train.has_targets) {
    throw UsageError(fmt::format("{} with {}: test rows have classes or numbers, as training rows have; give {}",
                                 data.train.has_targets ? "--test-y" : "--test-targets", data.train.option("y"),
                                 data.train.has_targets ? "--test-targets" : "--test-y"));
  }
  data.test.has_targets = data.train.has_targets;
  if (!data.has_targets()) return;
  if (data.classes != 0) {
    throw UsageError(fmt::format("--targets with {}: numbers have no classes; leave it out",
                                 data.train.class_names.empty() ? "--classes" : "--class-names"));
  }
  if (options.rows.select > 0) {
    throw UsageError("--targets with --select: features are told apart by classes; leave it out, or use --pca");
  }
}

}  // namespace

bool may_choose_public_rows(const FitOptions& options) {
  return method_entry(options.method).chooses_public_rows ||
         (options.method.objective == Objective::kBalanced && !options.data.public_x.empty());
}

FitOptions validated(FitOptions options) {
  if (options.data.classes == 0) options.data.classes = options.data.train.class_names.size();
  take_targets(options);
  take_unit_of_silos(options);
  check(options.data);
  check(options.rows);
  check_method(options);
  check(options.method);
  check(options.privacy);
  check(options.output);
  check(options.machine);
  check(options.silos);
  require_used_public_rows(options);
  require_valid_batch(options);
  require_valid_class_shares(options);
  require_valid_choice(options);
  require_valid_label_sets(options);
  require_public_outputs(options);
  require_fit_for_silos(options);
  require_unit_of_silos(options);
  require_valid_silos_per_person(options);
  take_evaluation(options);
  options.data.test.bad_rows = options.data.train.bad_rows;
  for (RowFiles* rows : {&options.data.test, &options.data.validation}) {
    rows->class_names = options.data.train.class_names;
  }
  return options;
}

}  // namespace dpreduce
