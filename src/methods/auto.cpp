// The method for who does not choose one.
//
//     most features      DP-FC, which was best on every data set tried
//     above 4096         DP-Adam: the Gram matrix of so many takes the coordinator minutes (9 d^3 flops)
//     small classes      with --objective balanced, chosen public rows where rounds would lose them in their noise
//                        (prefers_prototypes)
#include <fmt/format.h>

#include "common/base/error.hpp"
#include "methods/options/fit_options.hpp"
#include "methods/options/method_options.hpp"
#include "methods/prototype_choice.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

const MethodEntry& fc_method();
const MethodEntry& adam_method();
const MethodEntry& prototypes_method();

namespace {

constexpr std::size_t kMostFeaturesOfGram = 4096;

void require_valid_auto(const FitOptions& options) {
  const MethodOptions& method = options.method;
  const bool is_balanced = method.objective == Objective::kBalanced;
  for (const auto& [option, is_given] : {std::pair{"--expected-rows", method.expected_rows.has_value()},
                                         std::pair{"--smallest-share", method.smallest_share.has_value()}}) {
    if (is_given && !is_balanced) {
      throw UsageError(fmt::format("{} with --method auto goes with --objective balanced", option));
    }
  }
}

FitOptions resolve_auto(FitOptions options, const RowsAhead& rows) {
  const bool is_balanced = options.method.objective == Objective::kBalanced;
  if (is_balanced && prefers_prototypes(options, rows.public_rows)) {
    options.method.name = prototypes_method().name;
    return options;
  }
  const MethodEntry& chosen = rows.kept_features <= kMostFeaturesOfGram ? fc_method() : adam_method();
  if (options.method.gram_share && !chosen.takes_option("--gram-share")) {
    throw UsageError(
        fmt::format("--gram-share: --method auto is {} for rows of {} features, without a Gram matrix; name the method",
                    chosen.name, rows.input_dim));
  }
  options.method.name = chosen.name;
  // With --objective balanced there may be public rows. Their mean costs no budget. It also treats classes alike, where
  // the mean of the training rows is near the large ones.
  if (!options.rows.center) {
    options.rows.center = is_balanced && rows.public_rows > 0 ? Centering::kPublic : Centering::kDp;
  }
  return options;
}

}  // namespace

const MethodEntry& auto_method() {
  static const MethodEntry entry{.name = "auto",
                                 .help = "what is usually best, centered by a released mean",
                                 .takes = {{"--objective"},
                                           {"--expected-rows"},
                                           {"--smallest-share"},
                                           {"--gram-share"},
                                           {"--rounds"},
                                           {"--loss"},
                                           {"--iterate"},
                                           {"--warm-start"},
                                           {"--warm-start-share"},
                                           {"--choose"},
                                           {"--choose-share"}},
                                 .check = require_valid_auto,
                                 .resolve = resolve_auto,
                                 .whitens_rows = true};
  return entry;
}

}  // namespace dpreduce
