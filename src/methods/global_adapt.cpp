// DPSGD-Global-Adapt: gradient descent whose bound on residuals follows what it cuts off (gradient_rounds.hpp).
#include "methods/gradient_rounds.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

const MethodEntry& global_adapt_method() {
  static const MethodEntry entry{
      .name = "global-adapt",
      .help = "gradient descent whose bound on residuals adapts",
      .takes = {{"--rounds", "300"}, {"--loss"}, {"--iterate"}, {"--choose"}, {"--choose-share"}},
      .make = [](const FitOptions& options) { return make_gradient_descent(options, Bound::kAdaptive); }};
  return entry;
}

}  // namespace dpreduce
