#include "common/simulation/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/simulation/class_means.hpp"
#include "common/simulation/long_tail.hpp"

namespace dpreduce {
namespace {

// Streams of the counter-based generator. Row r of a part draws from stream kRows + 2 r + (0 train, 1 test).
constexpr std::uint64_t kOffsetStream = 1;
constexpr std::uint64_t kShuffleStream = 2;  // and 3
constexpr std::uint64_t kPersonStream = 5;
constexpr std::uint64_t kRowStream = std::uint64_t{1} << 40;
constexpr std::uint64_t kSetStream = std::uint64_t{1} << 41;  // the same, of a row's further classes

void check_non_negative(const char* name, double value) {
  if (!(value >= 0.0 && std::isfinite(value))) {
    throw UsageError(fmt::format("{} = {}: must be finite and at least 0", name, value));
  }
}

void validate(const SyntheticSpec& spec) {
  if (spec.classes < 2 || spec.classes > std::numeric_limits<std::int32_t>::max()) {
    throw UsageError(fmt::format("classes = {}: must be at least 2 and below 2^31", spec.classes));
  }
  if (spec.dim < 1) throw UsageError("dim = 0: must be at least 1");
  if (spec.means == ClassMeans::kNeuralCollapse && spec.dim < spec.classes - 1) {
    throw UsageError(fmt::format("dim = {}: a simplex of {} classes needs at least {} features", spec.dim, spec.classes,
                                 spec.classes - 1));
  }
  if (spec.dim > std::numeric_limits<std::size_t>::max() / sizeof(double) / spec.classes) {
    throw UsageError(fmt::format("dim = {}: classes x dim does not fit memory", spec.dim));
  }
  check_non_negative("separation", spec.separation);
  if (spec.separation == 0.0) throw UsageError("separation = 0: must be positive");
  check_non_negative("spread", spec.spread);
  check_non_negative("offset", spec.offset);
  check_non_negative("train_noise", spec.train_noise);
  check_non_negative("test_noise", spec.test_noise);
  check_non_negative("adversarial", spec.adversarial);
  if (!(spec.imbalance_ratio >= 1.0 && std::isfinite(spec.imbalance_ratio))) {
    throw UsageError(fmt::format("imbalance_ratio = {}: must be finite and at least 1", spec.imbalance_ratio));
  }
  if (spec.first_class_share) {
    if (!(*spec.first_class_share > 0.0 && *spec.first_class_share < 1.0)) {
      throw UsageError(fmt::format("first_class_share = {}: must be above 0 and below 1", *spec.first_class_share));
    }
    if (spec.imbalance_ratio != 1.0) {
      throw UsageError("first_class_share and imbalance_ratio exclude each other; give one");
    }
  }
  if (spec.max_labels && (*spec.max_labels < 1 || *spec.max_labels > spec.classes)) {
    throw UsageError(
        fmt::format("max_labels = {}: must be from 1 to {}, the number of classes", *spec.max_labels, spec.classes));
  }
  if (spec.rows_per_person && (*spec.rows_per_person < 1 || *spec.rows_per_person > spec.train_rows)) {
    throw UsageError(fmt::format("rows_per_person = {}: must be from 1 to {}, the number of training rows",
                                 *spec.rows_per_person, spec.train_rows));
  }
  if (spec.max_labels.value_or(1) > 1 && spec.adversarial > 0.0) {
    throw UsageError(fmt::format("adversarial = {}: moves rows of one class to another; leave max_labels = {} out",
                                 spec.adversarial, *spec.max_labels));
  }
}

// Weights of the classes, sum 1: alpha and (1 - alpha) / (K-1), or IR^(-c / (K-1)).
std::vector<double> class_weights(const SyntheticSpec& spec) {
  const std::size_t classes = spec.classes;
  std::vector<double> weights(classes, 1.0);
  if (spec.first_class_share) {
    weights.assign(classes, (1.0 - *spec.first_class_share) / static_cast<double>(classes - 1));
    weights[0] = *spec.first_class_share;
  } else {
    weights = long_tail_shares(classes, spec.imbalance_ratio);
  }
  double total = 0.0;
  for (const double weight : weights) total += weight;
  for (double& weight : weights) weight /= total;
  return weights;
}

// Ends of the classes: round(rows * (w_0 + ... + w_c)), the last exactly `rows`.
std::vector<std::uint64_t> class_ends(const std::vector<double>& weights, std::uint64_t rows) {
  std::vector<std::uint64_t> ends(weights.size());
  double share = 0.0;
  for (std::size_t c = 0; c < weights.size(); ++c) {
    share += weights[c];
    const double end = std::floor(static_cast<double>(rows) * share + 0.5);
    ends[c] = std::min(rows, static_cast<std::uint64_t>(end));
  }
  ends.back() = rows;
  return ends;
}

std::vector<std::uint64_t> checked_class_ends(const SyntheticSpec& spec) {
  std::vector<std::uint64_t> ends = class_ends(class_weights(spec), spec.train_rows);
  std::uint64_t before = 0;
  for (std::size_t c = 0; c < ends.size(); ++c) {
    if (ends[c] == before) {
      throw UsageError(fmt::format("train_rows = {}: leave class {} without a row; give more rows or less imbalance",
                                   spec.train_rows, c));
    }
    before = ends[c];
  }
  return ends;
}

std::vector<double> make_means(const SyntheticSpec& spec) {
  return spec.means == ClassMeans::kNeuralCollapse ? simplex_frame(spec.classes, spec.dim, spec.seed)
                                                   : sphere_points(spec.classes, spec.dim, spec.separation, spec.seed);
}

const SyntheticSpec& validated(const SyntheticSpec& spec) {
  validate(spec);
  return spec;
}

}  // namespace

SyntheticRows::SyntheticRows(const SyntheticSpec& spec)
    : spec_(validated(spec)),
      train_{checked_class_ends(spec), IndexPermutation(spec.train_rows, spec.seed, kShuffleStream)},
      test_{class_ends(std::vector<double>(spec.classes, 1.0 / static_cast<double>(spec.classes)), spec.test_rows),
            IndexPermutation(spec.test_rows, spec.seed, kShuffleStream + 1)} {
  means_ = make_means(spec_);
  const CounterRandom signs(spec_.seed, kOffsetStream);
  offset_.resize(spec_.dim);
  for (std::size_t a = 0; a < spec_.dim; ++a) offset_[a] = signs.bits(a) >> 63 != 0 ? spec_.offset : -spec_.offset;
  if (spec_.adversarial > 0.0) {
    adversarial_ = worst_perturbations(means_, spec_.classes, spec_.dim, spec_.adversarial);
  } else {
    adversarial_.assign(spec_.dim, 0.0);
  }
}

std::uint64_t SyntheticRows::rows(SyntheticPart which) const {
  return which == SyntheticPart::kTrain ? spec_.train_rows : spec_.test_rows;
}

std::uint64_t SyntheticRows::class_count(SyntheticPart which, std::size_t k) const {
  const auto& ends = part(which).class_ends;
  DPREDUCE_ASSERT(k < ends.size());
  return ends[k] - (k == 0 ? 0 : ends[k - 1]);
}

std::span<const double> SyntheticRows::class_mean(std::size_t k) const {
  DPREDUCE_ASSERT(k < spec_.classes);
  return {means_.data() + k * spec_.dim, spec_.dim};
}

std::span<const double> SyntheticRows::adversarial(std::size_t k) const {
  DPREDUCE_ASSERT(k < spec_.classes);
  return {adversarial_.data() + (spec_.adversarial > 0.0 ? k * spec_.dim : 0), spec_.dim};
}

std::uint64_t SyntheticRows::person(std::uint64_t row) const {
  DPREDUCE_ASSERT(spec_.rows_per_person && row < rows(SyntheticPart::kTrain));
  const std::uint64_t persons = (spec_.train_rows + *spec_.rows_per_person - 1) / *spec_.rows_per_person;
  const double u = static_cast<double>(CounterRandom(spec_.seed, kPersonStream).bits(row) >> 11) * 0x1p-53;
  return std::min(static_cast<std::uint64_t>(static_cast<double>(persons) * u * u), persons - 1);
}

std::int32_t SyntheticRows::label(SyntheticPart which, std::uint64_t row) const {
  DPREDUCE_ASSERT(row < rows(which));
  const Part& drawn = part(which);
  const auto end = std::upper_bound(drawn.class_ends.begin(), drawn.class_ends.end(), drawn.shuffle(row));
  return static_cast<std::int32_t>(end - drawn.class_ends.begin());
}

// |Y| is uniform in 1 .. k. A further class is the r-th of those that are left, r uniform.
void SyntheticRows::fill_classes(SyntheticPart which, std::uint64_t row, std::span<std::int32_t> slots) const {
  std::fill(slots.begin(), slots.end(), kNoLabel);
  slots[0] = label(which, row);
  if (slots.size() == 1) return;
  const CounterRandom random(spec_.seed, kSetStream + 2 * row + (which == SyntheticPart::kTrain ? 0 : 1));
  const std::size_t further = random.bits(0) % slots.size();
  for (std::size_t count = 1; count <= further; ++count) {
    auto next = static_cast<std::int32_t>(random.bits(count) % (spec_.classes - count));
    for (std::size_t known = 0; known < count; ++known) next += next >= slots[known] ? 1 : 0;
    slots[count] = next;
    std::sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count) + 1);
  }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a loop of seeded draws
void SyntheticRows::fill(SyntheticPart which, std::uint64_t first_row, std::uint64_t count, std::span<float> features,
                         std::span<std::int32_t> labels) const {
  DPREDUCE_ASSERT(first_row <= rows(which) && count <= rows(which) - first_row);
  const std::size_t per_row = labels_per_row();
  DPREDUCE_ASSERT(features.size() == count * spec_.dim && labels.size() == count * per_row);
  const bool train = which == SyntheticPart::kTrain;
  const double noise = train ? spec_.train_noise : spec_.test_noise;
  const double spread = spec_.means == ClassMeans::kGaussianMixture ? spec_.spread : 0.0;
  const double deviation = std::sqrt(spread * spread + noise * noise);
  const std::size_t dim = spec_.dim;
  std::vector<double> mean(dim);
  for (std::uint64_t r = 0; r < count; ++r) {
    const std::uint64_t row = first_row + r;
    const std::span<std::int32_t> slots = labels.subspan(r * per_row, per_row);
    fill_classes(which, row, slots);
    const std::span<const std::int32_t> classes = classes_in(slots);
    const double divisor = std::sqrt(static_cast<double>(classes.size()));
    const auto mean_of = [&](std::int32_t c) { return class_mean(static_cast<std::size_t>(c)); };
    for (std::size_t a = 0; a < dim; ++a) mean[a] = mean_of(classes.front())[a] / divisor;
    for (const std::int32_t c : classes.subspan(1)) {
      for (std::size_t a = 0; a < dim; ++a) mean[a] += mean_of(c)[a] / divisor;
    }
    const std::span<const double> shift = train ? offset() : adversarial(static_cast<std::size_t>(classes.front()));
    float* const x = features.data() + r * dim;
    if (deviation == 0.0) {
      for (std::size_t a = 0; a < dim; ++a) x[a] = static_cast<float>(mean[a] + shift[a]);
      continue;
    }
    const CounterRandom random(spec_.seed, kRowStream + 2 * row + (train ? 0 : 1));
    for (std::size_t a = 0; a < dim; a += 2) {
      const auto [even, odd] = random.normals(a / 2);
      x[a] = static_cast<float>(mean[a] + shift[a] + deviation * even);
      if (a + 1 < dim) x[a + 1] = static_cast<float>(mean[a + 1] + shift[a + 1] + deviation * odd);
    }
  }
}

}  // namespace dpreduce
