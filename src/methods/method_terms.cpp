#include "methods/method_terms.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/plan/metric.hpp"
#include "methods/options/fit_options.hpp"
#include "methods/options/method_options.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

using Table = OptionTable;
using Own = MethodOptions;

constexpr std::array kMethodOptions{
    MethodOption{"--objective",
                 [](Table& table, Own& own) -> Option& {
                   return table.choice(
                       "--objective", own.objective,
                       "accuracy over rows, or balanced over classes: scores adjusted by noised class "
                       "sizes, or prototypes of --public-x where noise would hide the smallest classes");
                 },
                 [](const Own& own) { return own.objective != Objective::kAccuracy; }},
    MethodOption{"--metric",
                 [](Table& table, Own& own) -> Option& {
                   return table.choice("--metric", own.metric, "nearest direction, or nearest center");
                 },
                 [](const Own& own) { return own.metric != Metric::kCosine; }},
    MethodOption{"--auto",
                 [](Table& table, Own& own) -> Option& {
                   return table.flag("--auto", own.adaptive, "the method's own choice, which it makes without it too");
                 },
                 [](const Own& own) { return own.adaptive; }},
    MethodOption{"--expected-rows",
                 [](Table& table, Own& own) -> Option& {
                   return table
                       .number("--expected-rows", own.expected_rows,
                               "about how many training rows there are, where that is public")
                       .typed("N");
                 },
                 [](const Own& own) { return own.expected_rows.has_value(); }},
    MethodOption{"--smallest-share",
                 [](Table& table, Own& own) -> Option& {
                   return table
                       .number("--smallest-share", own.smallest_share,
                               "about which share of the training rows the smallest class has, where that is public; "
                               "default: 1 / K")
                       .typed("S");
                 },
                 [](const Own& own) { return own.smallest_share.has_value(); }},
    MethodOption{"--top-k",
                 [](Table& table, Own& own) -> Option& {
                   return table.count("--top-k", own.top_k, "prototypes of a class, chosen among --public-x");
                 },
                 [](const Own& own) { return own.top_k.has_value(); }},
    MethodOption{"--d-min",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--d-min", own.d_min, "1 + cos of two rows is clipped from below here");
                 },
                 [](const Own& own) { return own.d_min.has_value(); }},
    MethodOption{
        "--d-max",
        [](Table& table, Own& own) -> Option& { return table.number("--d-max", own.d_max, "and from above here"); },
        [](const Own& own) { return own.d_max.has_value(); }},
    MethodOption{"--shared-gram",
                 [](Table& table, Own& own) -> Option& {
                   return table.flag("--shared-gram", own.shared_gram, "one Gram matrix for all classes");
                 },
                 [](const Own& own) { return own.shared_gram; }},
    MethodOption{"--alpha",
                 [](Table& table, Own& own) -> Option& {
                   return table.number_or_auto("--alpha", own.alpha, "weight of all rows beside a class's own rows");
                 },
                 [](const Own& own) { return own.alpha.has_value(); }},
    MethodOption{"--lambda",
                 [](Table& table, Own& own) -> Option& {
                   return table.number_or_auto("--lambda", own.lambda,
                                               "ridge in units of feature^2; auto: from the noise");
                 },
                 [](const Own& own) { return own.lambda.has_value(); }},
    MethodOption{"--gram-share",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--gram-share", own.gram_share, "share of mu^2 that the Gram matrix takes");
                 },
                 [](const Own& own) { return own.gram_share.has_value(); }},
    MethodOption{"--rounds",
                 [](Table& table, Own& own) -> Option& {
                   return table.count("--rounds", own.rounds,
                                      "steps, each of which releases a sum with a share of mu^2; on samples at most "
                                      "400 by default");
                 },
                 [](const Own& own) { return own.rounds.has_value(); }},
    MethodOption{"--local-steps",
                 [](Table& table, Own& own) -> Option& {
                   return table.count("--local-steps", own.local_steps,
                                      "gradient steps of each silo (rank) on its own rows in a round");
                 },
                 [](const Own& own) { return own.local_steps.has_value(); }},
    MethodOption{"--batch",
                 [](Table& table, Own& own) -> Option& {
                   return table
                       .number(
                           "--batch", own.batch,
                           "a row enters a round by a secret coin of this probability (Poisson sampling); accounted "
                           "by pld, or rdp; 1, the default: all rows")
                       .typed("Q");
                 },
                 [](const Own& own) { return own.batch.has_value(); }},
    MethodOption{"--loss",
                 [](Table& table, Own& own) -> Option& {
                   return table.choice("--loss", own.loss,
                                       "what is descended on; default: softmax, or sigmoid with --max-labels above 1");
                 },
                 [](const Own& own) { return own.loss.has_value(); }},
    MethodOption{"--iterate",
                 [](Table& table, Own& own) -> Option& {
                   return table.choice("--iterate", own.iterate,
                                       "the last weights, or the average of all rounds'; default: last");
                 },
                 [](const Own& own) { return own.iterate.has_value(); }},
    MethodOption{"--learning-rate",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--learning-rate", own.learning_rate,
                                       "W changes by so much of a summed gradient, or by so much an entry; default: "
                                       "chosen from noised values");
                 },
                 [](const Own& own) { return own.learning_rate.has_value(); }},
    MethodOption{"--radius",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--radius", own.radius, "W is kept within this Frobenius norm; default: not");
                 },
                 [](const Own& own) { return own.radius.has_value(); }},
    MethodOption{"--warm-start",
                 [](Table& table, Own& own) -> Option& {
                   return table.flag("--warm-start", own.warm_start,
                                     "release class means first; rounds then learn what their cosines leave open");
                 },
                 [](const Own& own) { return own.warm_start; }},
    MethodOption{"--warm-start-share",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--warm-start-share", own.warm_start_share,
                                       "share of mu^2 that those means take; default: 0.2");
                 },
                 [](const Own& own) { return own.warm_start_share.has_value(); }},
    MethodOption{"--choose",
                 [](Table& table, Own& own) -> Option& {
                   return table.flag("--choose", own.choose,
                                     "try several ridges, alphas or iterates of the one release; the best on "
                                     "--validation-x is kept, or one drawn by training rows, charged");
                 },
                 [](const Own& own) { return own.choose; }},
    MethodOption{"--choose-share",
                 [](Table& table, Own& own) -> Option& {
                   return table.number("--choose-share", own.choose_share,
                                       "share of mu^2 that a choice by training rows takes; default: 0.02");
                 },
                 [](const Own& own) { return own.choose_share.has_value(); }},
};

constexpr std::array kFitTerms{
    FitTerm{"--max-labels above 1", [](const FitOptions& fit) { return fit.data.most_labels() > 1; }},
    FitTerm{"--normalize none", [](const FitOptions& fit) { return fit.rows.normalize == Normalize::kNone; }},
    FitTerm{"--center dp", [](const FitOptions& fit) { return fit.rows.center == Centering::kDp; }},
    FitTerm{"--center moments", [](const FitOptions& fit) { return fit.rows.center == Centering::kMoments; }},
    FitTerm{"--select", [](const FitOptions& fit) { return fit.rows.select > 0; }},
    FitTerm{"--select-by t", [](const FitOptions& fit) { return fit.rows.select_by == SelectBy::kT; }},
    FitTerm{"--select-share", [](const FitOptions& fit) { return fit.rows.select_share.has_value(); }},
    FitTerm{"--checkpoint", [](const FitOptions& fit) { return !fit.output.checkpoint.empty(); }},
    FitTerm{"--secure-aggregation", [](const FitOptions& fit) { return fit.silos.secure_aggregation; }},
};

// The terms that a method accepts only if it names them in `takes`. Any other term is accepted by every method that
// does not name it in `refuses`.
constexpr std::array<std::string_view, 2> kTermsOfFew{"--center moments", "--select-by t"};

bool is_given(std::string_view option, const FitOptions& options) {
  for (const MethodOption& own : kMethodOptions) {
    if (own.name == option) return own.is_given(options.method);
  }
  for (const FitTerm& term : kFitTerms) {
    if (term.name == option) return term.is_given(options);
  }
  throw std::logic_error(fmt::format("dpreduce: internal error: no option is named '{}'", option));
}

}  // namespace

std::span<const MethodOption> method_options() {
  return kMethodOptions;
}

std::span<const FitTerm> fit_terms() {
  return kFitTerms;
}

void check_method(const FitOptions& options) {
  const MethodEntry& method = method_entry(options.method);
  for (const RefusedOption& refused : method.refuses) {
    if (!is_given(refused.option, options)) continue;
    throw UsageError(fmt::format("--method {} with {}: {}", method.name, refused.option, refused.reason));
  }
  const auto check_taken = [&](std::string_view option) {
    if (!is_given(option, options) || method.takes_option(option)) return;
    throw UsageError(fmt::format("{} goes with --method {}", option, methods_that_take(option)));
  };
  for (const MethodOption& own : kMethodOptions) check_taken(own.name);
  for (const std::string_view term : kTermsOfFew) check_taken(term);
  if (method.check != nullptr) method.check(options);
}

std::string takers_with_defaults(std::string_view option) {
  std::string takers;
  for (const MethodEntry* entry : all_methods()) {
    for (const TakenOption& taken : entry->takes) {
      if (taken.option != option) continue;
      if (!takers.empty()) takers += ", ";
      takers += entry->name;
      if (!taken.usual.empty()) takers += fmt::format(" {}", taken.usual);
    }
  }
  return takers;
}

namespace {

bool is_of_choice(const MethodOption& own) {
  return own.name.starts_with("--choose");
}

void declare_own(const MethodOption& own, OptionTable& table, MethodOptions& options) {
  Option& option = own.declare(table, options).in_group(kMethodGroup);
  option.help += fmt::format(" ({})", takers_with_defaults(own.name));
}

}  // namespace

void declare_method(OptionTable& table, MethodOptions& options) {
  table
      .add({.names = "--method",
            .help = "how to train",
            .type = all_method_names(),
            .usual = options.name,
            .read =
                [&options](const std::vector<std::string>& arguments) {
                  if (find_method(arguments.back()) == nullptr) {
                    refuse_choice("--method", arguments.back(), all_method_names());
                  }
                  options.name = arguments.back();
                }})
      .in_group(kMethodGroup);
  for (const MethodOption& own : kMethodOptions) {
    if (!is_of_choice(own)) declare_own(own, table, options);
  }
}

void declare_choice(OptionTable& table, MethodOptions& options) {
  for (const MethodOption& own : kMethodOptions) {
    if (is_of_choice(own)) declare_own(own, table, options);
  }
}

}  // namespace dpreduce
