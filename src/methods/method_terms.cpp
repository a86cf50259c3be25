#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "methods/fit_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kMostRounds = 100000;
constexpr double kSmallestBatch = 1e-9;  // the least that the accountants take
// Outside of these bounds one of the two Gram matrices would get next to nothing of the budget.
constexpr double kLargestAlpha = 1e6;
constexpr double kSmallestAlpha = 1e-6;

// Notes, for the options from the `first` on, which methods take them.
void name_takers(OptionTable& table, std::size_t first) {
  for (std::size_t own = first; own < table.options().size(); ++own) {
    Option& option = table.options()[own].in_group(kMethodGroup);
    option.help += fmt::format(" ({})", takers_with_defaults(option.names));
  }
}

void declare_prototypes(OptionTable& table, MethodOptions& options) {
  table.number("--expected-rows", options.expected_rows, "approximate number of training rows, if it is public")
      .from(1, kMostExpectedRows)
      .typed("N");
  table
      .number("--smallest-share", options.smallest_share,
              "approximate share of the smallest class among training rows, if it is public; default: 1 / K")
      .typed("S");
  table.count("--top-k", options.top_k, "prototypes of a class, chosen among --public-x").at_least(1);
  table.number("--d-min", options.d_min, "lower bound, to which 1 + cos of two rows is clipped").from(0, 2);
  table.number("--d-max", options.d_max, "upper bound, to which 1 + cos of two rows is clipped").from(0, 2);
}

void declare_grams(OptionTable& table, MethodOptions& options) {
  table.flag("--shared-gram", options.shared_gram, "one Gram matrix for all classes");
  table.number_or_auto("--alpha", options.alpha, "weight of all rows relative to a class's own rows");
  table.number_or_auto("--lambda", options.lambda, "ridge in units of feature^2; auto: from the noise").positive();
  table
      .number("--gram-share", options.gram_share,
              "share of mu^2 for the Gram matrix; default with --targets 0.4, with rows whitened about --public-x 0.05")
      .share();
  table
      .number("--isotropy-share", options.isotropy_share,
              "share of mu^2 for a measure of how evenly rows spread over directions: if evenly, class means replace "
              "the rounds; default: not released")
      .share();
}

void declare_rounds(OptionTable& table, MethodOptions& options) {
  table
      .count("--rounds", options.rounds,
             "number of steps, each of which releases a sum with a share of mu^2; default on samples at most 400, with "
             "--targets 6")
      .from(1, kMostRounds);
  table.count("--local-steps", options.local_steps, "gradient steps of each silo (rank) on its own rows in a round")
      .from(1, kMostRounds);
  table
      .number("--batch", options.batch,
              "a row enters a round by a secret coin of this probability (Poisson sampling); accounted by pld, or rdp; "
              "1, the default: all rows")
      .from(kSmallestBatch, 1, "the probability of a row to enter a round ")
      .typed("Q");
  table.choice("--loss", options.loss,
               "loss that training minimizes; default: softmax, or sigmoid with --max-labels above 1");
  table.choice("--iterate", options.iterate,
               "returned weights: those of the last round, or the average of all rounds; default: last");
  table
      .number(
          "--learning-rate", options.learning_rate,
          "step length: factor of a summed gradient, or change of each entry of W; default: chosen from noised values")
      .positive();
  table.number("--radius", options.radius, "largest Frobenius norm of W; default: unbounded").positive();
  table.flag("--warm-start", options.warm_start,
             "release class means first; the rounds then fit the residuals of their predictions");
  table.number("--warm-start-share", options.warm_start_share, "share of mu^2 for those means; default: 0.2").share();
}

// Checks what is neither a range nor about two options alone.
void check_values(const FitOptions& options) {
  const MethodOptions& method = options.method;
  if (method.alpha && !(*method.alpha >= 0.0 && *method.alpha <= kLargestAlpha)) {
    throw UsageError("--alpha {}: must be from 0 to {}; beyond, use --shared-gram", *method.alpha, kLargestAlpha);
  }
  if (method.alpha && *method.alpha > 0.0 && *method.alpha < kSmallestAlpha) {
    throw UsageError("--alpha {}: must be 0 or at least {}", *method.alpha, kSmallestAlpha);
  }
  const double d_min = method.d_min.value_or(0.0);
  const double d_max = method.d_max.value_or(2.0);
  if (!(d_min < d_max)) {
    throw UsageError("--d-min {} and --d-max {}: the lower bound must be below the upper", d_min, d_max);
  }
  if (options.statistics.empty()) return;
  if (options.data.most_labels() > 1 &&
      std::ranges::find(options.statistics, StatisticKind::kClassSizes) != options.statistics.end()) {
    throw UsageError("--statistics class_sizes with --max-labels above 1: sizes are of classes of one class a row");
  }
  if (options.privacy.budget.non_private) {
    throw UsageError("--non-private: statistics without noise are exact sums of private rows, and are not kept");
  }
}

}  // namespace

void check_method(const FitOptions& options, const OptionTable& table) {
  const MethodEntry& method = method_entry(options.method);
  if (!method.trains && options.evaluation.models.empty() && options.statistics.empty()) {
    refuse_choice("--method", options.method.name, all_method_names());
  }
  for (const RefusedOption& refused : method.refuses) {
    if (!table.holds(refused.option)) continue;
    throw UsageError("--method {} with {}: {}", method.name, refused.option, refused.reason);
  }
  for (const MethodEntry* other : all_methods()) {
    for (const TakenOption& taken : other->takes) {
      if (method.takes_option(taken.option) || !table.holds(taken.option)) continue;
      throw UsageError("{} goes with --method {}", taken.option, methods_that_take(taken.option));
    }
  }
  check_values(options);
}

std::string takers_with_defaults(std::string_view option) {
  std::vector<std::string> takers;
  for (const MethodEntry* entry : all_methods()) {
    for (const TakenOption& taken : entry->takes) {
      if (taken.option != option) continue;
      takers.push_back(fmt::format("{}{}{}", entry->name, taken.usual.empty() ? "" : " ", taken.usual));
    }
  }
  return fmt::format("{}", fmt::join(takers, ", "));
}

void declare_method(OptionTable& table, MethodOptions& options) {
  table
      .add({.names = "--method",
            .help = "training method",
            .type = all_method_names(),
            .usual = options.name,
            .read =
                [&options](const std::vector<std::string>& arguments) {
                  options.name = arguments.back();
                  method_entry(options);  // throws if there is none
                }})
      .shown_as([&options] { return options.name; })
      .in_group(kMethodGroup);
  const std::size_t first = table.options().size();
  table.choice("--objective", options.objective,
               "accuracy over rows, or balanced over classes: scores adjusted by noised class sizes, or prototypes of "
               "--public-x where noise would hide the smallest classes");
  table.choice("--metric", options.metric, "nearest direction, or nearest center");
  table.flag("--auto", options.adaptive, "the method makes this choice itself");
  declare_prototypes(table, options);
  declare_grams(table, options);
  declare_rounds(table, options);
  name_takers(table, first);
}

void declare_choice(OptionTable& table, MethodOptions& options) {
  const std::size_t first = table.options().size();
  table.flag("--choose", options.choose,
             "try several ridges, alphas or iterates of one release; keep the best on --validation-x, or a private "
             "choice by training rows, which is charged");
  table.number("--choose-share", options.choose_share, "share of mu^2 for a choice by training rows; default: 0.02")
      .share();
  name_takers(table, first);
}

}  // namespace dpreduce
