#include "dpreduce/methods/training_method.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/methods/prototype_choice.hpp"

namespace dpreduce {
namespace {

// Chunks that are summed and forgotten need little. Rounds keep their rows where they fit, class Gram matrices as many
// as they may, in passes.
constexpr std::size_t kMemoryMib = 64;
constexpr std::size_t kMostMemoryMibOfKeptRows = 4096;

bool passes_once(const FitOptions& options) {
  const bool has_sums_only = options.method == Method::kPublic && !options.d_min && !options.d_max;
  return options.method == Method::kMean || options.method == Method::kFisher || has_sums_only ||
         (options.method == Method::kLs && options.shared_gram);
}

// Enough to save most messages; with many more, silos of few classes drift apart.
constexpr std::uint64_t kLocalSteps = 5;

constexpr std::size_t kMostFeaturesOfGram = 4096;

// A balanced objective has public rows to choose prototypes among. Their mean costs nothing, and lies between classes
// where the training rows' mean lies among the large ones.
Centering default_centering(const FitOptions& options, bool is_auto, std::uint64_t public_rows) {
  if (!is_auto) return Centering::kNone;
  return options.objective == Objective::kBalanced && public_rows > 0 ? Centering::kPublic : Centering::kDp;
}

std::size_t kept_features(const FitOptions& options, std::size_t input_dim) {
  if (options.select > 0) return options.select;
  if (options.pca > 0) return options.pca;
  return input_dim / options.pool;
}

}  // namespace

FitOptions resolved(FitOptions options, std::size_t input_dim, std::uint64_t public_rows,
                    std::uint64_t bytes_for_rank) {
  const bool drowns = options.method == Method::kAuto && options.objective == Objective::kBalanced &&
                      prefers_prototypes(options, public_rows);
  if (drowns) options.method = Method::kPrototypes;
  const bool is_auto = options.method == Method::kAuto;
  if (is_auto) options.method = kept_features(options, input_dim) <= kMostFeaturesOfGram ? Method::kFc : Method::kAdam;
  if (is_auto && options.method == Method::kAdam && options.gram_share) {
    throw UsageError(
        fmt::format("--gram-share: --method auto is adam for rows of {} features, without a Gram matrix; "
                    "name the method",
                    input_dim));
  }
  if (options.method == Method::kPrototypes) {
    options.method =
        prefers_means(options, kept_features(options, input_dim), public_rows) ? Method::kMean : Method::kPublic;
    if (!options.center) options.center = Centering::kPublic;
  }
  const bool in_rounds = options.method == Method::kFc || options.method == Method::kGd ||
                         options.method == Method::kAdam || options.method == Method::kNewton ||
                         options.method == Method::kGlobalAdapt || options.method == Method::kFedavg;
  if (in_rounds && !options.loss && options.most_labels() > 1) options.loss = Loss::kSigmoid;
  if (options.method == Method::kFedavg && !options.local_steps) options.local_steps = kLocalSteps;
  if (!options.center) options.center = default_centering(options, is_auto, public_rows);
  if (!options.memory_mib) {
    const std::size_t most = std::clamp<std::uint64_t>(bytes_for_rank >> 21, kMemoryMib, kMostMemoryMibOfKeptRows);
    options.memory_mib = passes_once(options) ? kMemoryMib : most;
  }
  return options;
}

bool makes_class_grams(const FitOptions& options) {
  return options.method == Method::kLs && !options.shared_gram;
}

std::unique_ptr<TrainingMethod> make_method(const FitOptions& options) {
  switch (options.method) {
    case Method::kMean:
      return make_mean_method(options);
    case Method::kPublic:
      return make_public_prototypes_method(options);
    case Method::kCoinPress:
      return make_coinpress_method(options);
    case Method::kLs:
      return options.shared_gram ? make_least_squares_method(options) : make_class_least_squares_method(options);
    case Method::kFc:
      return make_whitened_descent_method(options);
    case Method::kFisher:
      return make_fisher_method(options);
    case Method::kGd:
      return make_gradient_descent_method(options);
    case Method::kGlobalAdapt:
      return make_global_adapt_method(options);
    case Method::kAdam:
      return make_adam_method(options);
    case Method::kNewton:
      return make_newton_method(options);
    case Method::kFedavg:
      return make_federated_averaging_method(options);
    case Method::kAuto:
    case Method::kPrototypes:
      break;
  }
  DPREDUCE_ASSERT(false);
  return nullptr;
}

LinearScores shared_scores(LinearScores scores, TrainingRun& run) {
  scores.weights.resize(run.classes() * run.preprocessing().dim());
  scores.bias.resize(run.classes());
  run.ranks().broadcast(scores.weights);
  run.ranks().broadcast(scores.bias);
  return scores;
}

}  // namespace dpreduce
