#include "methods/statistic_task.hpp"

#include <algorithm>
#include <utility>

#include "aggregator/solvers/released_preparation.hpp"
#include "common/base/error.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/triangle.hpp"
#include "worker/class_grams.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce {
namespace {

constexpr const char* kPartsBlock = "class_grams";
constexpr const char* kDigestsBlock = "digests";
constexpr unsigned kHalfBits = 32;
constexpr std::uint64_t kLowerHalf = (std::uint64_t{1} << kHalfBits) - 1;

// Point of a checked task, for rows on `lattice`.
PublicPoint point_on(const Lattice& lattice, const TaskPoint& point) {
  if (const auto* const balls = std::get_if<ClassBalls>(&point)) return *balls;
  const auto* const of_task = std::get_if<GradientPoint>(&point);
  if (of_task == nullptr) return {};
  GradientPoint gradient = *of_task;
  gradient.weights = gradient.weights.on(lattice);
  if (gradient.prior.directions) gradient.prior.directions = gradient.prior.directions->on(lattice);
  return gradient;
}

const ReleaseRequest& requested(const StatisticTask& task, const FitPlan& plan) {
  if (plan.has_request(task.release)) return plan.request(task.release);
  throw UsageError("the task is for a release that is not in the plan; use a task from a session of this plan");
}

bool are_within(std::span<const double> values, double smallest, double largest) {
  return std::ranges::all_of(values, [&](double value) { return value >= smallest && value <= largest; });
}

// Bounds on rows of a matrix, and on what scales them: within these they may be multiplied and divided without
// overflow.
constexpr double kLargest = 1e100;
constexpr double kSmallest = 1e-100;

bool is_of(const LatticeWeights& weights, std::size_t classes, std::size_t dim) {
  return weights.classes() == classes && weights.values().size() == classes * dim &&
         are_within(weights.largest(), 0.0, kLargest) &&
         std::ranges::all_of(weights.values(), [](std::int16_t value) { return value >= -kLatticeNorm; });
}

bool is_of(const GradientPoint& point, const StatisticTask& task, const FitPlan& plan, std::size_t classes,
           std::size_t dim) {
  const bool has_prior = point.prior.directions.has_value();
  const bool is_balanced = plan.has_request("class_sizes");
  const bool is_whole = !plan.noise || is_balanced || task.release == "newton";
  const bool adapts = task.release == "adaptive_gradient" || task.preprocessing.targets.count > 0;
  const bool has_directions = plan.has_request("class_means");
  if (has_prior && (!has_directions || point.loss != Loss::kSoftmax)) return false;
  return point.loss == plan.loss && is_of(point.weights, classes, dim) &&
         (!has_prior || is_of(*point.prior.directions, classes, dim)) &&
         point.prior.features == (has_prior ? task.preprocessing.dim() : 0) &&
         (adapts ? are_within({&point.residual_norm, 1}, kSmallest, kLargest)
                 : point.residual_norm == (is_whole ? kWholeResidual : residual_norm_of(point.loss, has_prior)));
}

bool is_of(const ClassBalls& balls, std::size_t classes, std::size_t dim) {
  return balls.centers.size() == classes * dim && balls.radii.size() == classes &&
         are_within(balls.centers, -kLargest, kLargest) && are_within(balls.radii, kSmallest, kLargest);
}

// Returns whether the point is of the kind that the release is made at, and has these sizes. Models do not travel.
bool is_point_of(const StatisticTask& task, const FitPlan& plan, std::size_t classes, std::size_t dim) {
  const TakenAt taken_at = registered_statistic(task.release).taken_at;
  if (const auto* gradient = std::get_if<GradientPoint>(&task.point)) {
    return taken_at == TakenAt::kWeights && is_of(*gradient, task, plan, classes, dim);
  }
  if (const auto* balls = std::get_if<ClassBalls>(&task.point)) {
    return taken_at == TakenAt::kBalls && is_of(*balls, task.release == "center_rest" ? 1 : classes, dim);
  }
  return taken_at == TakenAt::kRows;
}

// Numbers are scaled and clipped in any case: where the plan finds their ranges, any range will do.
bool are_planned(const TargetColumns& asked, const FitPlan& plan) {
  const TargetColumns& planned = plan.preprocessing.targets;
  const bool has_range = (asked.center == planned.center && asked.scale == planned.scale) ||
                         (plan.has_request("target_sizes") && asked.center.size() == planned.count &&
                          asked.scale.size() == planned.count && are_within(asked.center, -kLargest, kLargest) &&
                          are_within(asked.scale, kSmallest, kLargest));
  return asked.count == planned.count && has_range && asked.share >= 0.0 && asked.share < 1.0;
}

// Rows are prepared as planned, by what the plan releases for that before.
bool is_preparation_of(const Preprocessing& asked, const FitPlan& plan, std::size_t dim) {
  const Preprocessing& planned = plan.preprocessing;
  const bool may_center = plan.has_request("center");
  const bool may_project = plan.projection_elements > 0;
  const bool has_columns = asked.columns == planned.columns || plan.has_request("feature_sizes") ||
                           (plan.has_request("row_zeros") && asked.columns == with_zeros_kept(planned.columns));
  const bool may_choose = plan.has_request("row_sizes") && are_within({&asked.clip_norm, 1}, kSmallest, kLargest);
  const bool has_length = (asked.normalize == planned.normalize || plan.has_request("feature_sizes")) &&
                          asked.clip_norm == planned.clip_norm;
  return asked.input_dim == planned.input_dim && asked.pool == planned.pool && are_planned(asked.targets, plan) &&
         has_columns && (has_length || may_choose) && asked.output_dim() == dim &&
         (asked.center.empty() || (may_center && are_within(asked.center, -kLargest, kLargest))) &&
         asked.center_factor == center_factor_of(asked.center, asked.normalize, asked.clip_norm) &&
         (asked.projection.empty() || (may_project && are_within(asked.projection, -kLargest, kLargest)));
}

bool is_part_of(const StatisticTask& task, std::size_t classes) {
  const bool has_secret = std::ranges::any_of(task.secret, [](std::uint8_t byte) { return byte != 0; });
  if (task.part == StatisticPart::kWhole && has_secret) return false;
  return task.part == StatisticPart::kGramOfClass ? task.label < classes : task.label == 0;
}

void put_digests(std::span<const RowDigest> digests, std::span<std::int64_t> halves) {
  std::size_t next = 0;
  for (const RowDigest& digest : digests) {
    for (const std::uint64_t word : digest) {
      halves[next++] = static_cast<std::int64_t>(word & kLowerHalf);
      halves[next++] = static_cast<std::int64_t>(word >> kHalfBits);
    }
  }
  DPREDUCE_ASSERT(next == halves.size());
}

}  // namespace

StatisticTask task_of(std::string_view release, const Preprocessing& preprocessing, const PublicPoint& point) {
  StatisticTask task{.release = std::string(release), .preprocessing = preprocessing};
  if (const auto* balls = std::get_if<ClassBalls>(&point)) task.point = *balls;
  if (const auto* gradient = std::get_if<GradientPoint>(&point)) task.point = *gradient;
  return task;
}

void require_of_plan(const StatisticTask& task, const FitPlan& plan, std::size_t classes) {
  const std::size_t dim = requested(task, plan).dim;
  if (is_part_of(task, classes) && is_preparation_of(task.preprocessing, plan, dim) &&
      is_point_of(task, plan, classes, dim)) {
    return;
  }
  throw UsageError("the task for release " + task.release +
                   " is of rows, classes or weights that the plan does not have; take it from a session of this plan");
}

std::vector<BlockShape> shape_of(const StatisticTask& task, const FitPlan& plan) {
  const ReleaseRequest& request = requested(task, plan);
  if (request.in_parts == (task.part == StatisticPart::kWhole)) {
    throw UsageError("release " + task.release + ": the plan makes it " + (request.in_parts ? "in parts" : "whole"));
  }
  std::vector<BlockShape> shape;
  std::size_t classes = 0;
  for (const BlockRequest& block : request.blocks) {
    const bool is_parts = block.name == kPartsBlock;
    if (is_parts) classes = block.triangles;
    if (task.part == StatisticPart::kGramOfClass) {
      if (is_parts) shape.push_back({block.name, triangle_elements(task.preprocessing.output_dim())});
    } else if (!is_parts || task.part == StatisticPart::kWhole) {
      shape.push_back({block.name, block.elements, block.fraction_bits});
    }
  }
  const std::size_t digests = task.part == StatisticPart::kWhole       ? 0
                              : task.part == StatisticPart::kClassSums ? classes
                                                                       : 1;
  if (digests > 0) shape.push_back({kDigestsBlock, digests * 2 * RowDigest{}.size()});
  return shape;
}

std::vector<RowDigest> digests_of(const Statistic& sum) {
  const auto halves = sum.block(sum.shape().size() - 1);
  std::vector<RowDigest> digests(halves.size() / (2 * RowDigest{}.size()));
  std::size_t next = 0;
  for (RowDigest& digest : digests) {
    for (std::uint64_t& word : digest) {
      word = static_cast<std::uint64_t>(halves[next]) + (static_cast<std::uint64_t>(halves[next + 1]) << kHalfBits);
      next += 2;
    }
  }
  return digests;
}

Statistic statistic_of_rows(const StatisticTask& task, const FitPlan& plan, WorkerRows& rows, const StreamPlan& stream,
                            const OnChunk& on_chunk) {
  require_of_plan(task, plan, stream.classes);
  std::vector<BlockShape> shape = shape_of(task, plan);
  const RowTransform transform(task.preprocessing);
  const Lattice lattice{task.preprocessing.clip_norm, transform.output_dim()};
  const StatisticInputs inputs{{rows, transform, stream, on_chunk}, point_on(lattice, task.point)};
  const ReleaseRequest& request = plan.request(task.release);
  if (task.part == StatisticPart::kWhole) return registered_statistic(task.release).compute(request, inputs);
  Statistic statistic(std::move(shape));
  const std::span<std::int64_t> digests = statistic.block(statistic.index_of(kDigestsBlock));
  const RowHasher hasher(std::as_bytes(std::span(task.secret)), transform.output_dim());
  if (task.part == StatisticPart::kGramOfClass) {
    const std::span<std::int64_t> triangle = statistic.block(statistic.index_of(kPartsBlock));
    const RowDigest digest = gram_of_class(task.label, request, inputs, hasher, triangle);
    put_digests({&digest, 1}, digests);
    return statistic;
  }
  ClassGrams grams(request, inputs, hasher, {});
  const Statistic sums = grams.take_sums();
  std::copy(sums.words().begin(), sums.words().end(), statistic.words().begin());
  put_digests(grams.class_digests(), digests);
  return statistic;
}

}  // namespace dpreduce
