#include "methods/method_terms.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/plan/metric.hpp"
#include "methods/fit_options.hpp"
#include "methods/method_options.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// Adds the option by the type of its member: a flag, a number, a count or a choice.
template <auto member>
Option& declare_member(const MethodOption& own, OptionTable& table, MethodOptions& options) {
  auto& value = options.*member;
  using Value = std::remove_reference_t<decltype(value)>;
  const std::string name(own.name);
  const std::string help(own.help);
  if constexpr (std::is_same_v<Value, bool>) {
    return table.flag(name, value, help);
  } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
    return table.number(name, value, help);
  } else if constexpr (std::is_same_v<Value, std::optional<std::size_t>> ||
                       std::is_same_v<Value, std::optional<std::uint64_t>>) {
    return table.count(name, value, help);
  } else {
    return table.choice(name, value, help);
  }
}

// An option is given where its member is not what it is without words.
template <auto member>
constexpr MethodOption own(std::string_view name, std::string_view help, std::string_view type = {}) {
  return {name, help, type, declare_member<member>,
          [](const MethodOptions& options) { return options.*member != MethodOptions{}.*member; }};
}

// A number, or the word auto.
template <auto member>
constexpr MethodOption own_or_auto(std::string_view name, std::string_view help) {
  MethodOption option = own<member>(name, help);
  option.declare = [](const MethodOption& own, OptionTable& table, MethodOptions& options) -> Option& {
    return table.number_or_auto(std::string(own.name), options.*member, std::string(own.help));
  };
  return option;
}

constexpr std::array kMethodOptions{
    own<&MethodOptions::objective>("--objective",
                                   "accuracy over rows, or balanced over classes: scores adjusted by noised class "
                                   "sizes, or prototypes of --public-x where noise would hide the smallest classes"),
    own<&MethodOptions::metric>("--metric", "nearest direction, or nearest center"),
    own<&MethodOptions::adaptive>("--auto", "the method's own choice, which it makes without it too"),
    own<&MethodOptions::expected_rows>("--expected-rows",
                                       "about how many training rows there are, where that is public", "N"),
    own<&MethodOptions::smallest_share>("--smallest-share",
                                        "about which share of the training rows the smallest class has, where that is "
                                        "public; default: 1 / K",
                                        "S"),
    own<&MethodOptions::top_k>("--top-k", "prototypes of a class, chosen among --public-x"),
    own<&MethodOptions::d_min>("--d-min", "1 + cos of two rows is clipped from below here"),
    own<&MethodOptions::d_max>("--d-max", "and from above here"),
    own<&MethodOptions::shared_gram>("--shared-gram", "one Gram matrix for all classes"),
    own_or_auto<&MethodOptions::alpha>("--alpha", "weight of all rows beside a class's own rows"),
    own_or_auto<&MethodOptions::lambda>("--lambda", "ridge in units of feature^2; auto: from the noise"),
    own<&MethodOptions::gram_share>(
        "--gram-share",
        "share of mu^2 that the Gram matrix takes; by default with --targets 0.4, where rows "
        "are whitened about --public-x 0.05"),
    own<&MethodOptions::isotropy_share>(
        "--isotropy-share",
        "share of mu^2 for how evenly rows spread over directions: class means take the "
        "place of rounds where that is even; default: not released"),
    own<&MethodOptions::rounds>("--rounds",
                                "steps, each of which releases a sum with a share of mu^2; on samples at most 400 by "
                                "default, with --targets 6"),
    own<&MethodOptions::local_steps>("--local-steps", "gradient steps of each silo (rank) on its own rows in a round"),
    own<&MethodOptions::batch>("--batch",
                               "a row enters a round by a secret coin of this probability (Poisson sampling); "
                               "accounted by pld, or rdp; 1, the default: all rows",
                               "Q"),
    own<&MethodOptions::loss>("--loss", "what is descended on; default: softmax, or sigmoid with --max-labels above 1"),
    own<&MethodOptions::iterate>("--iterate", "the last weights, or the average of all rounds'; default: last"),
    own<&MethodOptions::learning_rate>(
        "--learning-rate",
        "W changes by so much of a summed gradient, or by so much an entry; default: chosen "
        "from noised values"),
    own<&MethodOptions::radius>("--radius", "W is kept within this Frobenius norm; default: not"),
    own<&MethodOptions::warm_start>("--warm-start",
                                    "release class means first; rounds then learn what their cosines leave open"),
    own<&MethodOptions::warm_start_share>("--warm-start-share", "share of mu^2 that those means take; default: 0.2"),
    own<&MethodOptions::choose>("--choose",
                                "try several ridges, alphas or iterates of the one release; the best on "
                                "--validation-x is kept, or one drawn by training rows, charged"),
    own<&MethodOptions::choose_share>("--choose-share",
                                      "share of mu^2 that a choice by training rows takes; default: 0.02"),
};

constexpr std::array kFitTerms{
    FitTerm{"--max-labels above 1", [](const FitOptions& fit) { return fit.data.most_labels() > 1; }},
    FitTerm{"--normalize none", [](const FitOptions& fit) { return fit.rows.normalize == Normalize::kNone; }},
    FitTerm{"--feature-range private", [](const FitOptions& fit) { return fit.rows.finds_some(); }},
    FitTerm{"--center dp", [](const FitOptions& fit) { return fit.rows.center == Centering::kDp; }},
    FitTerm{"--center moments", [](const FitOptions& fit) { return fit.rows.center == Centering::kMoments; }},
    FitTerm{"--select", [](const FitOptions& fit) { return fit.rows.select > 0; }},
    FitTerm{"--select-by t", [](const FitOptions& fit) { return fit.rows.select_by == SelectBy::kT; }},
    FitTerm{"--select-share", [](const FitOptions& fit) { return fit.rows.select_share.has_value(); }},
    FitTerm{"--resume", [](const FitOptions& fit) { return fit.privacy.resume; }},
    FitTerm{"--targets", [](const FitOptions& fit) { return fit.data.has_targets(); }},
    FitTerm{"--secure-aggregation", [](const FitOptions& fit) { return fit.silos.secure_aggregation; }},
};

// The terms that a method accepts only if it names them in `takes`. Any other term is accepted by every method that
// does not name it in `refuses`.
constexpr std::array<std::string_view, 3> kTermsOfFew{"--center moments", "--select-by t", "--targets"};

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
  if (!method.trains && options.evaluation.models.empty() && options.statistics.empty()) {
    refuse_choice("--method", options.method.name, all_method_names());
  }
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
  Option& option = own.declare(own, table, options).in_group(kMethodGroup);
  if (!own.type.empty()) option.typed(std::string(own.type));
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
