// NoisyGD: full-batch gradient descent on noised sums, by the step of gradient_rounds.hpp. T = 1 is the one-step form.
// Source: [wang2024], eq. (2.1) and (3.2), whose noise stands outside the step and whose bound on |g| is assumed; ours
// is inside, and enforced.
#include "methods/gradient_rounds.hpp"

namespace dpreduce {

const MethodEntry gd_method{
    .name = "gd",
    .help = "full-batch gradient descent on noised gradients",
    .takes = with_options_of_rounds({{"--rounds", "300"}, {"--batch"}, {"--learning-rate"}, {"--radius"}}),
    .make = make_rounds<kDescentRounds, descent_rule>};

}  // namespace dpreduce
