// DPSGD-Global-Adapt: gradient descent whose bound on residuals follows what it cuts off (gradient_rounds.hpp).
#include "methods/gradient_rounds.hpp"

namespace dpreduce {
namespace {

std::unique_ptr<TrainingMethod> make_global_adapt(const FitOptions& options) {
  RoundSettings settings = round_settings(options, kDescentRounds);
  settings.release = "adaptive_gradient";
  settings.residual_norm = 1.0;
  settings.adapts = true;
  return std::make_unique<RoundsMethod>(options, settings, descent_rule);
}

}  // namespace

const MethodEntry global_adapt_method{
    .name = "global-adapt",
    .help = "gradient descent whose bound on residuals adapts",
    .takes = {{"--rounds", "300"}, {"--loss"}, {"--iterate"}, {"--choose"}, {"--choose-share"}},
    .make = make_global_adapt};

}  // namespace dpreduce
