#include "dpreduce/methods/training_method.hpp"

#include "dpreduce/aggregator/mean_classifier.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

// Chunks that are summed and forgotten need little; class Gram matrices keep as many rows as they may, in passes.
constexpr std::size_t kMemoryMib = 64;
constexpr std::size_t kMemoryMibClassGrams = 2048;

}  // namespace

FitOptions resolved(FitOptions options) {
  const bool is_auto = options.method == Method::kAuto;
  if (is_auto) options.method = Method::kFc;
  if (!options.center) options.center = is_auto ? Centering::kDp : Centering::kNone;
  if (!options.memory_mib) options.memory_mib = makes_class_grams(options) ? kMemoryMibClassGrams : kMemoryMib;
  return options;
}

bool makes_class_grams(const FitOptions& options) {
  return options.method == Method::kLs && !options.shared_gram;
}

std::unique_ptr<TrainingMethod> make_method(const FitOptions& options) {
  switch (options.method) {
    case Method::kMean:
      return make_mean_method(options);
    case Method::kLs:
      return options.shared_gram ? make_least_squares_method(options) : make_class_least_squares_method(options);
    case Method::kFc:
      return make_preconditioned_descent_method(options);
    case Method::kAuto:
      break;
  }
  DPREDUCE_ASSERT(false);
  return nullptr;
}

void release_center(TrainingRun& run) {
  const Release release = run.release("center");
  const Lattice lattice = run.lattice();
  std::vector<double> center(lattice.dim);
  if (run.ranks().is_coordinator()) center = solve_center(release, lattice);
  run.ranks().broadcast(center);
  run.set_center(std::move(center));
}

LinearScores shared_scores(LinearScores scores, TrainingRun& run) {
  scores.weights.resize(run.classes() * run.preprocessing().dim());
  scores.bias.resize(run.classes());
  run.ranks().broadcast(scores.weights);
  run.ranks().broadcast(scores.bias);
  return scores;
}

}  // namespace dpreduce
