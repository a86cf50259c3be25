#include "dpreduce/config/validate_options.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/option_checks.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestConfidence = 1.0 - 1e-12;
constexpr double kFewestTrials = 100;
constexpr double kMostTrials = 1e9;
constexpr double kFewestCanaries = 100;
constexpr double kMostCanaries = 1e6;
constexpr std::size_t kMostSilos = std::size_t{1} << 20;
constexpr double kHalfTurn = 180.0;  // degrees
constexpr double kMostSeeds = 1e6;

void check_label_set_terms(const std::optional<std::size_t>& top_k, const std::optional<double>& threshold) {
  if (top_k == 0) throw UsageError("--top-k 0: must be at least 1");
  if (threshold && !std::isfinite(*threshold)) {
    throw UsageError(fmt::format("--threshold {}: must be a finite number", *threshold));
  }
}

}  // namespace

SweepOptions validated(SweepOptions options) {
  check_classes(options.classes);
  check_range("--seeds", static_cast<double>(options.seeds), 1, kMostSeeds);
  const auto check_once = [](const char* option, const auto& values) {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) throw UsageError(fmt::format("{} {}: occurs twice", option, *twice));
  };
  check_once("--methods", options.methods);
  check_once("--epsilons", options.epsilons);
  check_once("--imbalance", options.ratios);
  for (const double epsilon : options.epsilons) check_positive("--epsilons", epsilon);
  for (const double ratio : options.ratios) check_range("--imbalance", ratio, 1, kLargestImbalance);
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  check_range("--threads", options.threads, 0, kMostThreads);
  if (options.memory_mib) {
    check_range("--memory", static_cast<double>(*options.memory_mib), 1, static_cast<double>(kMostMemoryMib));
  }
  return options;
}

PredictOptions validated(PredictOptions options) {
  if (options.scores && options.out.empty()) throw UsageError("--scores needs --out");
  if (options.sets && options.out.empty()) throw UsageError("--sets needs --out");
  if (int{options.scores} + int{options.sets} + int{options.top_k.has_value()} > 1) {
    throw UsageError("--scores, --sets and --top-k exclude each other; give one");
  }
  if (options.threshold && !options.sets) throw UsageError("--threshold goes with --sets");
  check_label_set_terms(options.top_k, options.threshold);
  return options;
}

EvaluateOptions validated(EvaluateOptions options) {
  check_label_set_terms(options.top_k, options.threshold);
  return options;
}

CalibrateOptions validated(CalibrateOptions options) {
  check_positive("--sensitivity", options.sensitivity);
  if (options.steps == 0) throw UsageError("--steps 0: must be at least 1");
  if (!(options.sampling_rate > 0.0 && options.sampling_rate <= 1.0)) {
    throw UsageError(fmt::format("--sampling-rate {}: must be above 0 and at most 1", options.sampling_rate));
  }
  if (options.sampling_rate == 1.0) return options;
  const BudgetOptions& budget = options.budget;
  if (budget.rho || budget.mu) {
    throw UsageError(
        fmt::format("--sampling-rate {}: steps on samples have no {}; state the budget as --epsilon and --delta",
                    options.sampling_rate, budget.rho ? "rho" : "mu"));
  }
  if (budget.accountant == Accountant::kGdp || budget.accountant == Accountant::kZcdp) {
    throw UsageError(fmt::format(
        "--sampling-rate {}: --accountant {} knows no gain from sampling (the loss of a sampled Gaussian is not "
        "Gaussian); use pld or rdp",
        options.sampling_rate, to_string(budget.accountant)));
  }
  return options;
}

ConvertOptions validated(ConvertOptions options) {
  check_positive("--sensitivity", options.sensitivity);
  const StatedBudget& budget = options.budget;
  if (!options.sigma) {
    if (!budget.epsilon && !budget.rho && !budget.mu && !budget.delta) {
      throw UsageError("nothing to convert: give --epsilon and --delta, or --rho, or --mu, or --sigma");
    }
    return options;
  }
  check_positive("--sigma", *options.sigma);
  if (budget.epsilon || budget.rho || budget.mu) {
    throw UsageError("--sigma goes without --epsilon, --rho and --mu; give exactly one");
  }
  return options;
}

ComposeOptions validated(ComposeOptions options) {
  if (options.run.empty()) {
    throw UsageError(
        "nothing to compose: give at least one --gaussian, --subsampled, --exponential, --laplace or --pure");
  }
  if (options.group == 0) throw UsageError("--group 0: must be at least 1");
  return options;
}

SplitOptions validated(SplitOptions options) {
  std::set<std::string> names;
  for (const BlockSpec& block : options.blocks) {
    if (!names.insert(block.name).second)
      throw UsageError(fmt::format("--block {}: the name occurs twice", block.name));
  }
  return options;
}

SynthOptions validated(SynthOptions options) {
  if (options.out_dir.empty()) throw UsageError("synth: --out is required, a folder for the files");
  return options;
}

SanitizeOptions validated(SanitizeOptions options) {
  check_positive("--clip", options.clip_norm);
  if (options.out_dir.empty()) throw UsageError("--out: a folder is needed");
  return options;
}

PartitionOptions validated(PartitionOptions options) {
  check_classes(options.classes);
  if (options.out_dir.empty()) throw UsageError("--out: a folder is needed");
  check_range("--silos", static_cast<double>(options.silos), 1, static_cast<double>(kMostSilos));
  check_range("--first-silo", static_cast<double>(options.first_silo), 0, static_cast<double>(kMostSilos));
  const Partition scheme = options.scheme;
  const auto check_scheme = [](const char* option, bool is_given, bool is_used, const char* schemes) {
    if (is_given && !is_used) throw UsageError(fmt::format("{} goes with --scheme {}", option, schemes));
  };
  const bool has_shares = scheme == Partition::kDirichlet || scheme == Partition::kQuantity;
  check_scheme("--alpha", options.alpha.has_value(), has_shares, "dirichlet or quantity");
  if (has_shares && !options.alpha) {
    throw UsageError(fmt::format("--scheme {}: say with --alpha how uneven shares are", to_string(scheme)));
  }
  if (options.alpha) check_positive("--alpha", *options.alpha);
  const bool deals_classes = scheme == Partition::kClasses;
  check_scheme("--classes-per-silo", options.classes_per_silo.has_value(), deals_classes, "classes");
  if (deals_classes) {
    if (!options.classes_per_silo) throw UsageError("--scheme classes: say with --classes-per-silo how many");
    const std::size_t held = *options.classes_per_silo;
    if (held < 1 || held > options.classes) {
      throw UsageError(
          fmt::format("--classes-per-silo {}: must be from 1 to {}, the number of classes", held, options.classes));
    }
    if (options.silos < (options.classes + held - 1) / held) {
      throw UsageError(
          fmt::format("--classes-per-silo {}: {} silos hold {} of {} classes at most, and every row needs a "
                      "silo; give more silos or classes",
                      held, options.silos, options.silos * held, options.classes));
    }
  }
  const bool shifts = scheme == Partition::kFeatureShift;
  check_scheme("--rotation", options.rotation.has_value(), shifts, "feature-shift");
  check_scheme("--offset", options.offset.has_value(), shifts, "feature-shift");
  if (shifts && !options.rotation && !options.offset) {
    throw UsageError("--scheme feature-shift: say with --rotation or --offset how large the shift is");
  }
  if (options.rotation) check_range("--rotation", *options.rotation, 0, kHalfTurn);
  if (options.offset) check_positive("--offset", *options.offset);
  return options;
}

InspectOptions validated(InspectOptions options) {
  if (!options.rows.y.empty()) check_classes(options.classes);
  check_positive("--clip", options.clip_norm);
  return options;
}

AuditOptions validated(AuditOptions options) {
  if (options.fit.method == Method::kPublic || options.fit.method == Method::kPrototypes) {
    if (options.kind == AuditKind::kOneRun) {
      throw UsageError(fmt::format(
          "audit --one-run --method {}: a choice among public rows releases no class sums; leave --one-run out",
          to_string(options.fit.method)));
    }
    options.fit.public_x = {"public rows of the audit"};
    options.fit.normalize = Normalize::kL2;  // what rows are compared by
  }
  if (options.fit.method == Method::kAuto || options.fit.method == Method::kFc) {
    options.fit.normalize = Normalize::kL2;  // whitened rows are short where they are only clipped, and hide a canary
  }
  check_both_or_none("--train-x", !options.fit.train.x.empty(), "--train-y", !options.fit.train.y.empty());
  if (!options.fit.train.x.empty() && options.kind != AuditKind::kOneRun) {
    throw UsageError("--train-x: only an audit by one run takes rows; add --one-run");
  }
  check_range("--confidence", options.confidence, 0.5, kLargestConfidence);
  if (options.trials) check_range("--trials", static_cast<double>(*options.trials), kFewestTrials, kMostTrials);
  check_range("--canaries", static_cast<double>(options.canaries), kFewestCanaries, kMostCanaries);
  options.fit = validated(std::move(options.fit));
  return options;
}

BenchOptions validated(BenchOptions options) {
  if (options.rows == 0 || options.dim == 0 || options.count == 0 || options.elements == 0 || options.repeats == 0) {
    throw UsageError("bench: sizes and repeats must be at least 1");
  }
  if (options.kind == BenchKind::kRound) check_classes(options.classes);
  check_range("--threads", options.threads, 1, kMostThreads);
  check_positive("--sigma", options.sigma);
  return options;
}

}  // namespace dpreduce
