#include "common/plan/declared_releases.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/plan/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kSquaredNorm = std::uint64_t{kLatticeNorm} * std::uint64_t{kLatticeNorm};
constexpr std::uint64_t kFourthNorm = kSquaredNorm * kSquaredNorm;  // 16 of these fit into 64 bits

constexpr double kSeparation = 2.0;  // of two classes, in standard deviations: hard enough to matter
// A loss weight that gives a block the `share` of its release's mu^2: with one profile that is D_b sqrt(W_b) / sum.
double weight_of_share(double share, double sensitivity) {
  const double root = share / sensitivity;
  return root * root;
}

// sqrt(k): the sensitivity of what a row adds to each of its classes, over that of a row of one class.
double root_of(std::size_t most_labels) {
  return std::sqrt(static_cast<double>(most_labels));
}

// (m, t) of the corners that class_means_release speaks of: m classes that both rows have, t that one of them has.
struct Exchange {
  std::string change;
  std::uint64_t common;
  std::uint64_t others;
};

std::vector<Exchange> exchanges(std::uint64_t classes, std::uint64_t most_labels) {
  if (most_labels == 1) return {{"another row of the same class", 1, 0}, {"another class", 0, 2}};
  std::vector<Exchange> corners{{"another row of the same classes", most_labels, 0},
                                {"other classes", 0, std::min(2 * most_labels, classes)}};
  if (2 * most_labels > classes && most_labels < classes) {
    corners.push_back({"some other classes", 2 * most_labels - classes, 2 * (classes - most_labels)});
  }
  return corners;
}

BlockRequest gram_block(std::size_t dim, double loss_weight) {
  return {"gram", triangle_elements(dim), loss_weight, BlockNoise::kSymmetric};
}

}  // namespace

ReleaseRequest center_release(std::size_t dim, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(dim >= 1 && share > 0.0);
  std::vector<SensitivityProfile> profiles{{"one row more or less", {kSquaredNorm, 1}}};
  if (adjacency == Adjacency::kReplaceOne) profiles.push_back({"another row", {4 * kSquaredNorm, 0}});
  return {.name = "center",
          .share = share,
          .blocks = {{"row_sum", dim, static_cast<double>(dim)}, {"row_count", 1, static_cast<double>(kSquaredNorm)}},
          .profiles = std::move(profiles)};
}

ReleaseRequest class_means_release(std::size_t classes, std::size_t dim, Metric metric, Adjacency adjacency,
                                   double share, std::size_t most_labels) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && share > 0.0 && most_labels >= 1 && most_labels <= classes);
  const double class_count = static_cast<double>(classes);
  ReleaseRequest request{.name = "class_means",
                         .share = share,
                         .blocks = {{"class_sums", classes * dim, class_count * static_cast<double>(dim)}},
                         .profiles = {}};
  const bool has_counts = metric == Metric::kEuclidean;
  if (has_counts) request.blocks.push_back({"class_counts", classes, class_count * static_cast<double>(kSquaredNorm)});
  if (adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {most_labels * kSquaredNorm}}};
    if (has_counts) request.profiles[0].squared_l2.push_back(most_labels);
    return request;
  }
  for (const Exchange& exchange : exchanges(classes, most_labels)) {
    request.profiles.push_back({exchange.change, {(4 * exchange.common + exchange.others) * kSquaredNorm}});
    if (has_counts) request.profiles.back().squared_l2.push_back(exchange.others);
  }
  return request;
}

ReleaseRequest class_sizes_release(std::size_t classes, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(classes >= 2 && share > 0.0);
  const bool is_add_remove = adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile =
      is_add_remove ? SensitivityProfile{"one row more or less", {1}} : SensitivityProfile{"another class", {2}};
  return {.name = "class_sizes", .share = share, .blocks = {{"class_counts", classes, 1.0}}, .profiles = {profile}};
}

ReleaseRequest centred_sums_release(std::size_t classes, std::size_t dim, std::uint64_t rounds, Adjacency adjacency,
                                    double share) {
  DPREDUCE_ASSERT(rounds >= 1);
  ReleaseRequest request = class_means_release(classes, dim, Metric::kEuclidean, adjacency, share);
  request.name = "centred_sums";
  request.rounds = rounds;
  request.blocks.front().name = "centred_sums";
  return request;
}

ReleaseRequest gram_release(std::size_t dim, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(dim >= 1 && share > 0.0);
  const bool is_add_remove = adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm}}
                                                   : SensitivityProfile{"another row", {2 * kFourthNorm}};
  return {.name = "gram", .share = share, .blocks = {gram_block(dim, 1.0)}, .profiles = {profile}};
}

ReleaseRequest least_squares_release(std::size_t classes, std::size_t dim, double gram_share, Adjacency adjacency,
                                     double share, std::size_t most_labels) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && share > 0.0 && gram_share > 0.0 && gram_share < 1.0);
  DPREDUCE_ASSERT(most_labels >= 1 && most_labels <= classes);
  const double sums_sensitivity = root_of(most_labels) * double{kLatticeNorm};
  ReleaseRequest request{.name = "least_squares",
                         .share = share,
                         .blocks = {gram_block(dim, weight_of_share(gram_share, static_cast<double>(kSquaredNorm))),
                                    {"class_sums", classes * dim, weight_of_share(1.0 - gram_share, sums_sensitivity)}},
                         .profiles = {}};
  const std::uint64_t sums = most_labels * kSquaredNorm;
  if (adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {kFourthNorm, sums}}};
  } else {
    request.profiles = {{"another row", {2 * kFourthNorm, 3 * sums}}, {"the opposite row", {0, 4 * sums}}};
  }
  return request;
}

ReleaseRequest pca_release(std::size_t dim, Adjacency adjacency, double share) {
  ReleaseRequest request = gram_release(dim, adjacency, share);
  request.name = "pca";
  return request;
}

ReleaseRequest feature_sums_release(std::size_t classes, std::size_t dim, Adjacency adjacency, double share,
                                    std::size_t most_labels) {
  ReleaseRequest request = class_means_release(classes, dim, Metric::kCosine, adjacency, share, most_labels);
  request.name = "feature_sums";
  return request;
}

ReleaseRequest fisher_release(std::size_t classes, std::size_t dim, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && share > 0.0);
  // With one profile a block gets D_b sqrt(W_b) / sum of mu^2.
  const double sums_weight = 1.0 / static_cast<double>(kLatticeNorm);
  const double moments_weight = kSeparation / (static_cast<double>(classes) * static_cast<double>(kSquaredNorm));
  const double counts_weight = kSeparation / std::sqrt(static_cast<double>(dim));
  ReleaseRequest request{.name = "fisher",
                         .share = share,
                         .blocks = {{"class_sums", classes * dim, sums_weight * sums_weight},
                                    {"second_moments", dim, moments_weight * moments_weight},
                                    {"class_counts", classes, counts_weight * counts_weight}},
                         .profiles = {}};
  if (adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {kSquaredNorm, kFourthNorm, 1}}};
  } else {
    request.profiles = {{"another row of the same class", {3 * kSquaredNorm, 2 * kFourthNorm, 0}},
                        {"the opposite row", {4 * kSquaredNorm, 0, 0}},
                        {"another class", {2 * kSquaredNorm, 2 * kFourthNorm, 2}}};
  }
  return request;
}

ReleaseRequest class_least_squares_release(std::size_t classes, std::size_t dim, double alpha, double gram_share,
                                           Adjacency adjacency, double share, std::size_t most_labels) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && share > 0.0 && gram_share > 0.0 && gram_share < 1.0);
  DPREDUCE_ASSERT(alpha >= 0.0 && std::isfinite(alpha) && most_labels >= 1 && most_labels <= classes);
  if (most_labels > most_labels_of_class_grams(adjacency)) {
    throw UsageError("--max-labels " + std::to_string(most_labels) + ": Gram matrices of classes take rows of up to " +
                     std::to_string(most_labels_of_class_grams(adjacency)) + " labels; use --shared-gram");
  }
  const bool is_add_remove = adjacency == Adjacency::kAddRemove;
  const double root = root_of(most_labels);
  const auto profile = [&](std::string change, std::uint64_t grams, std::uint64_t sums) {
    std::vector<std::uint64_t> squared{most_labels * grams * kFourthNorm};
    if (alpha > 0.0) squared.push_back(grams * kFourthNorm);
    squared.push_back(most_labels * sums * kSquaredNorm);
    return SensitivityProfile{std::move(change), std::move(squared)};
  };
  const double one_gram = static_cast<double>(kSquaredNorm);
  ReleaseRequest request{.name = "class_least_squares",
                         .share = share,
                         .blocks = {{"class_grams", classes * triangle_elements(dim),
                                     weight_of_share(gram_share * root / (root + alpha), root * one_gram),
                                     BlockNoise::kSymmetric, classes}},
                         .profiles = {},
                         .in_parts = true};
  if (alpha > 0.0) {
    request.blocks.push_back(gram_block(dim, weight_of_share(gram_share * alpha / (root + alpha), one_gram)));
  }
  request.blocks.push_back(
      {"class_sums", classes * dim, weight_of_share(1.0 - gram_share, root * double{kLatticeNorm})});
  if (is_add_remove) {
    request.profiles = {profile("one row more or less", 1, 1)};
  } else {
    request.profiles = {profile("another row", 2, 3), profile("the opposite row", 0, 4)};
  }
  return request;
}

std::size_t most_labels_of_class_grams(Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? 16 : 8;
}

ReleaseRequest gradient_release(std::size_t classes, std::size_t dim, std::uint64_t rounds, Adjacency adjacency,
                                double share) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && rounds >= 1 && share > 0.0);
  const bool is_add_remove = adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm}}
                                                   : SensitivityProfile{"another row", {4 * kFourthNorm}};
  return {.name = "gradient",
          .share = share,
          .rounds = rounds,
          .blocks = {{"gradient", classes * dim, 1.0}},
          .profiles = {profile}};
}

ReleaseRequest adaptive_gradient_release(std::size_t classes, std::size_t dim, std::uint64_t rounds,
                                         Adjacency adjacency, double share) {
  constexpr double kSidesShare = 0.02;
  ReleaseRequest request = gradient_release(classes, dim, rounds, adjacency, share);
  request.name = "adaptive_gradient";
  request.blocks = {{"gradient", classes * dim, weight_of_share(1.0 - kSidesShare, static_cast<double>(kSquaredNorm))},
                    {"sides", 2, weight_of_share(kSidesShare, 1.0)}};
  request.profiles.front().squared_l2.push_back(adjacency == Adjacency::kAddRemove ? 1 : 2);
  return request;
}

std::uint64_t hessian_bound(Loss loss, std::size_t classes) {
  DPREDUCE_ASSERT(classes >= 2 && loss != Loss::kSquare);
  if (classes == 2) return kFourthNorm / 8;
  if (loss == Loss::kSoftmax) return 4 * kFourthNorm / 27;
  return classes == 3 ? 3 * (kFourthNorm / 16) : kFourthNorm / 4;
}

ReleaseRequest newton_release(std::size_t classes, std::size_t dim, Loss loss, double hessian_share,
                              std::uint64_t rounds, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(dim >= 1 && rounds >= 1 && share > 0.0 && hessian_share > 0.0 && hessian_share < 1.0);
  const std::uint64_t bound = hessian_bound(loss, classes);
  // With one profile a block gets D_b sqrt(W_b) / sum of mu^2.
  const double hessian_weight = hessian_share / std::sqrt(static_cast<double>(bound));
  const double gradient_weight = (1.0 - hessian_share) / static_cast<double>(kSquaredNorm);
  const bool is_add_remove = adjacency == Adjacency::kAddRemove;
  const SensitivityProfile profile = is_add_remove ? SensitivityProfile{"one row more or less", {kFourthNorm, bound}}
                                                   : SensitivityProfile{"another row", {4 * kFourthNorm, 2 * bound}};
  return {.name = "newton",
          .share = share,
          .rounds = rounds,
          .blocks = {{"gradient", classes * dim, gradient_weight * gradient_weight},
                     {"hessians", classes * triangle_elements(dim), hessian_weight * hessian_weight,
                      BlockNoise::kSymmetric, classes}},
          .profiles = {profile}};
}

ReleaseRequest sanitised_row_release(std::size_t dim) {
  DPREDUCE_ASSERT(dim >= 1);
  return {.name = "sanitised_row",
          .share = 1.0,
          .blocks = {{"features", dim, 1.0}},
          .profiles = {{"other features", {4 * kSquaredNorm}}}};
}

PlannedSelection prototype_selection(std::size_t classes, std::uint64_t candidates, std::uint64_t chosen,
                                     const CosineClip& clip, double epsilon) {
  return {"prototypes",
          {.mechanism = SelectionMechanism::kExponential,
           .epsilon = epsilon,
           .sensitivity = clip.range(),
           .candidates = candidates,
           .groups = classes,
           .chosen = chosen}};
}

Statistic empty_statistic(const ReleaseRequest& request) {
  std::vector<BlockShape> shape;
  for (const BlockRequest& block : request.blocks) shape.push_back({block.name, block.elements});
  return Statistic(std::move(shape));
}

Statistic empty_utilities(const PlannedSelection& selection) {
  return Statistic({{"utilities", selection.terms.groups * selection.terms.candidates}});
}

}  // namespace dpreduce
