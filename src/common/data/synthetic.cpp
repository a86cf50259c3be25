#include "common/data/synthetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/long_tail.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/simulation.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {
namespace {

// Streams of the counter-based generator that class means use; rows use theirs with other keys.
constexpr std::uint64_t kDirectionStream = 0x6d65616e;

using Vector = std::span<double>;

// <a, b> in a fixed order: eight running sums, then in turn.
double dot(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[k + lane] * b[k + lane];
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (std::size_t k = whole; k < a.size(); ++k) total += a[k] * b[k];
  return total;
}

// target += factor * source
void add_multiple(Vector target, double factor, std::span<const double> source) {
  for (std::size_t k = 0; k < target.size(); ++k) target[k] += factor * source[k];
}

void scale(Vector v, double factor) {
  for (double& entry : v) entry *= factor;
}

void fill_normal(Vector v, std::uint64_t seed, std::uint64_t stream) {
  const CounterRandom random(seed, stream);
  for (std::size_t pair = 0; 2 * pair < v.size(); ++pair) {
    const auto [even, odd] = random.normals(pair);
    v[2 * pair] = even;
    if (2 * pair + 1 < v.size()) v[2 * pair + 1] = odd;
  }
}

// Streams of the counter-based generator. Row r of a part draws from stream kRows + 2 r + (0 train, 1 test).
constexpr std::uint64_t kOffsetStream = 1;
constexpr std::uint64_t kShuffleStream = 2;  // and 3
constexpr std::uint64_t kPersonStream = 5;
constexpr std::uint64_t kRowStream = std::uint64_t{1} << 40;
constexpr std::uint64_t kSetStream = std::uint64_t{1} << 41;  // the same, of a row's further classes

void require_valid_imbalance(const SyntheticSpec& spec) {
  if (!(spec.imbalance_ratio >= 1.0 && std::isfinite(spec.imbalance_ratio))) {
    throw UsageError("imbalance_ratio = {}: must be finite and at least 1", spec.imbalance_ratio);
  }
  if (spec.first_class_share) {
    if (!(*spec.first_class_share > 0.0 && *spec.first_class_share < 1.0)) {
      throw UsageError("first_class_share = {}: must be above 0 and below 1", *spec.first_class_share);
    }
    if (spec.imbalance_ratio != 1.0) {
      throw UsageError("first_class_share and imbalance_ratio exclude each other; give one");
    }
  }
}

const SyntheticSpec& validated(const SyntheticSpec& spec) {
  if (spec.classes < 2 || spec.classes > std::numeric_limits<std::int32_t>::max()) {
    throw UsageError("classes = {}: must be at least 2 and below 2^31", spec.classes);
  }
  if (spec.dim < 1) throw UsageError("dim = 0: must be at least 1");
  if (spec.means == ClassMeans::kNeuralCollapse && spec.dim < spec.classes - 1) {
    throw UsageError("dim = {}: a simplex of {} classes needs at least {} features", spec.dim, spec.classes,
                     spec.classes - 1);
  }
  if (spec.dim > std::numeric_limits<std::size_t>::max() / sizeof(double) / spec.classes) {
    throw UsageError("dim = {}: classes x dim does not fit memory", spec.dim);
  }
  const std::initializer_list<std::pair<const char*, double>> sizes{
      {"separation", spec.separation},   {"spread", spec.spread},         {"offset", spec.offset},
      {"train_noise", spec.train_noise}, {"test_noise", spec.test_noise}, {"adversarial", spec.adversarial}};
  for (const auto& [name, value] : sizes) {
    if (!(value >= 0.0 && std::isfinite(value))) {
      throw UsageError("{} = {}: must be finite and at least 0", name, value);
    }
  }
  if (spec.separation == 0.0) throw UsageError("separation = 0: must be positive");
  require_valid_imbalance(spec);
  if (spec.max_labels && (*spec.max_labels < 1 || *spec.max_labels > spec.classes)) {
    throw UsageError("max_labels = {}: must be from 1 to {}, the number of classes", *spec.max_labels, spec.classes);
  }
  if (spec.rows_per_person && (*spec.rows_per_person < 1 || *spec.rows_per_person > spec.train_rows)) {
    throw UsageError("rows_per_person = {}: must be from 1 to {}, the number of training rows", *spec.rows_per_person,
                     spec.train_rows);
  }
  if (spec.max_labels.value_or(1) > 1 && spec.adversarial > 0.0) {
    throw UsageError("adversarial = {}: moves rows from one class to another; leave max_labels = {} out",
                     spec.adversarial, *spec.max_labels);
  }
  return spec;
}

// Weights of the classes, sum 1: alpha and (1 - alpha) / (K-1), or IR^(-c / (K-1)).
std::vector<double> class_weights(const SyntheticSpec& spec) {
  std::vector<double> weights = long_tail_shares(spec.classes, spec.imbalance_ratio);
  if (spec.first_class_share) {
    weights.assign(spec.classes, (1.0 - *spec.first_class_share) / static_cast<double>(spec.classes - 1));
    weights[0] = *spec.first_class_share;
  }
  double total = 0.0;
  for (const double weight : weights) total += weight;
  for (double& weight : weights) weight /= total;
  return weights;
}

std::vector<std::uint64_t> checked_class_ends(const SyntheticSpec& spec) {
  std::vector<std::uint64_t> ends = ends_of_shares(class_weights(spec), spec.train_rows);
  std::uint64_t before = 0;
  for (std::size_t c = 0; c < ends.size(); ++c) {
    if (ends[c] == before) {
      throw UsageError("train_rows = {}: leave class {} without a row; give more rows or less imbalance",
                       spec.train_rows, c);
    }
    before = ends[c];
  }
  return ends;
}

void write_pair(const SyntheticRows& rows, SyntheticPart part, RowRange range, const std::string& x_path,
                const std::string& y_path, Existing existing, MadeFiles& made) {
  const SyntheticSpec& spec = rows.spec();
  const bool has_sets = spec.max_labels.has_value();
  NpyWriter x(x_path, DType::kFloat32, {range.count, spec.dim}, existing);
  NpyWriter y = has_sets ? NpyWriter(y_path, DType::kUint8, {range.count, spec.classes}, existing)
                         : NpyWriter(y_path, DType::kInt64, {range.count}, existing);
  std::vector<float> features(spec.dim);
  std::vector<std::int32_t> labels(rows.labels_per_row());
  for (std::uint64_t row = range.first; row < range.end(); ++row) {
    rows.fill(part, row, features, labels);
    x.append(std::span<const float>(features));
    if (!has_sets) {
      y.append(std::span<const std::int32_t>(labels));
      continue;
    }
    std::vector<std::byte> zeros_and_ones(spec.classes);
    for (const std::int32_t c : classes_in(labels)) zeros_and_ones[static_cast<std::size_t>(c)] = std::byte{1};
    y.append_stored(zeros_and_ones);
  }
  x.commit(made);
  y.commit(made);
}

void write_persons(const SyntheticRows& rows, RowRange range, const std::string& path, Existing existing,
                   MadeFiles& made) {
  NpyWriter persons(path, DType::kInt64, {range.count}, existing);
  for (std::uint64_t row = range.first; row < range.end(); ++row) {
    const auto person = static_cast<std::int64_t>(rows.person(row));
    persons.append(std::span(&person, 1));
  }
  persons.commit(made);
}

}  // namespace

std::vector<double> simplex_frame(std::size_t classes, std::size_t dim, std::uint64_t seed) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= classes - 1);
  // Rows of Q^T: normal vectors, orthonormalized by Gram-Schmidt, twice each for full accuracy [giraud2005].
  std::vector<double> isometry((classes - 1) * dim);
  const auto column = [&](std::size_t k) { return Vector(isometry.data() + k * dim, dim); };
  for (std::size_t k = 0; k < classes - 1; ++k) {
    fill_normal(column(k), seed, kDirectionStream + k);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t before = 0; before < k; ++before) {
        add_multiple(column(k), -dot(column(k), column(before)), column(before));
      }
    }
    scale(column(k), 1.0 / std::sqrt(dot(column(k), column(k))));
  }

  // Helmert: row i (from 1) of H is (1, ..., 1, -i, 0, ..., 0) / sqrt(i (i+1)) with i ones. So
  // M_k = sqrt(K/(K-1)) ( sum_{i > k} Q_i / sqrt(i (i+1)) - k Q_k / sqrt(k (k+1)) ), summed from the last class down.
  const auto i_norm = [](std::size_t i) { return std::sqrt(static_cast<double>(i) * static_cast<double>(i + 1)); };
  std::vector<double> means(classes * dim);
  std::vector<double> tail(dim, 0.0);
  const double stretch = std::sqrt(static_cast<double>(classes) / static_cast<double>(classes - 1));
  for (std::size_t k = classes; k-- > 0;) {
    const Vector mean(means.data() + k * dim, dim);
    add_multiple(mean, 1.0, tail);
    if (k > 0) {
      add_multiple(mean, -static_cast<double>(k) / i_norm(k), column(k - 1));
      add_multiple(tail, 1.0 / i_norm(k), column(k - 1));
    }
    scale(mean, stretch);
  }
  return means;
}

std::vector<double> sphere_points(std::size_t classes, std::size_t dim, double radius, std::uint64_t seed) {
  std::vector<double> points(classes * dim);
  for (std::size_t k = 0; k < classes; ++k) {
    const Vector point(points.data() + k * dim, dim);
    fill_normal(point, seed, kDirectionStream + k);
    scale(point, radius / std::sqrt(dot(point, point)));
  }
  return points;
}

std::vector<double> worst_perturbations(const std::vector<double>& means, std::size_t classes, std::size_t dim,
                                        double beta) {
  const auto mean = [&](std::size_t k) { return std::span(means.data() + k * dim, dim); };
  std::vector<double> perturbations(classes * dim);
  for (std::size_t k = 0; k < classes; ++k) {
    std::size_t target = k == 0 ? 1 : 0;
    double smallest_margin = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < classes; ++j) {
      if (j == k) continue;
      double squared = 0.0;
      double absolute = 0.0;
      for (std::size_t a = 0; a < dim; ++a) {
        const double difference = mean(k)[a] - mean(j)[a];
        squared += difference * difference;
        absolute += std::fabs(difference);
      }
      const double margin = squared / 2 - beta * absolute;
      if (margin < smallest_margin) {
        smallest_margin = margin;
        target = j;
      }
    }
    for (std::size_t a = 0; a < dim; ++a) {
      perturbations[k * dim + a] = std::copysign(beta, mean(target)[a] - mean(k)[a]);
    }
  }
  return perturbations;
}

SyntheticRows::SyntheticRows(const SyntheticSpec& spec)
    : spec_(validated(spec)),
      train_{checked_class_ends(spec), IndexPermutation(spec.train_rows, spec.seed, kShuffleStream)},
      test_{ends_of_shares(std::vector<double>(spec.classes, 1.0 / static_cast<double>(spec.classes)), spec.test_rows),
            IndexPermutation(spec.test_rows, spec.seed, kShuffleStream + 1)} {
  means_ = spec_.means == ClassMeans::kNeuralCollapse
               ? simplex_frame(spec_.classes, spec_.dim, spec_.seed)
               : sphere_points(spec_.classes, spec_.dim, spec_.separation, spec_.seed);
  const CounterRandom signs(spec_.seed, kOffsetStream);
  offset_.resize(spec_.dim);
  for (std::size_t a = 0; a < spec_.dim; ++a) offset_[a] = signs.bits(a) >> 63 != 0 ? spec_.offset : -spec_.offset;
  adversarial_ = spec_.adversarial > 0.0 ? worst_perturbations(means_, spec_.classes, spec_.dim, spec_.adversarial)
                                         : std::vector<double>(spec_.dim, 0.0);
}

std::uint64_t SyntheticRows::rows(SyntheticPart which) const {
  return which == SyntheticPart::kTrain ? spec_.train_rows : spec_.test_rows;
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

void SyntheticRows::fill(SyntheticPart which, std::uint64_t row, std::span<float> x,
                         std::span<std::int32_t> slots) const {
  const std::size_t dim = spec_.dim;
  DPREDUCE_ASSERT(x.size() == dim && slots.size() == labels_per_row());
  const bool train = which == SyntheticPart::kTrain;
  const double noise = train ? spec_.train_noise : spec_.test_noise;
  const double spread = spec_.means == ClassMeans::kGaussianMixture ? spec_.spread : 0.0;
  const double deviation = std::sqrt(spread * spread + noise * noise);
  fill_classes(which, row, slots);
  const std::vector<double> mean = mean_of(classes_in(slots));
  const std::span<const double> shift = train ? offset() : adversarial(static_cast<std::size_t>(slots.front()));
  if (deviation == 0.0) {
    for (std::size_t a = 0; a < dim; ++a) x[a] = static_cast<float>(mean[a] + shift[a]);
    return;
  }
  const CounterRandom random(spec_.seed, kRowStream + 2 * row + (train ? 0 : 1));
  for (std::size_t a = 0; a < dim; a += 2) {
    const auto [even, odd] = random.normals(a / 2);
    x[a] = static_cast<float>(mean[a] + shift[a] + deviation * even);
    if (a + 1 < dim) x[a + 1] = static_cast<float>(mean[a + 1] + shift[a + 1] + deviation * odd);
  }
}

std::vector<double> SyntheticRows::mean_of(std::span<const std::int32_t> classes) const {
  const double divisor = std::sqrt(static_cast<double>(classes.size()));
  std::vector<double> mean(spec_.dim, 0.0);
  for (const std::int32_t c : classes) {
    const auto of_class = class_mean(static_cast<std::size_t>(c));
    for (std::size_t a = 0; a < mean.size(); ++a) mean[a] += of_class[a] / divisor;
  }
  return mean;
}

SyntheticFiles write_synthetic(const SyntheticRows& rows, const std::string& directory, std::size_t shards,
                               Existing existing) {
  const std::uint64_t train_rows = rows.rows(SyntheticPart::kTrain);
  if (shards < 1 || shards > train_rows) {
    throw UsageError("shards = {}: must be at least 1 and at most the {} training rows", shards, train_rows);
  }
  MadeFiles made;
  made.make_folder(directory);
  const auto path = [&](const std::string& name) { return (std::filesystem::path(directory) / name).string(); };

  SyntheticFiles files;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::string suffix = shards == 1 ? ".npy" : fmt::format("_{}.npy", shard);
    files.train_x.push_back(path("train_x" + suffix));
    files.train_y.push_back(path("train_y" + suffix));
    write_pair(rows, SyntheticPart::kTrain, even_share(train_rows, shard, shards), files.train_x.back(),
               files.train_y.back(), existing, made);
    if (!rows.spec().rows_per_person) continue;
    files.train_person.push_back(path("train_person" + suffix));
    write_persons(rows, even_share(train_rows, shard, shards), files.train_person.back(), existing, made);
  }
  if (const std::uint64_t test_rows = rows.rows(SyntheticPart::kTest); test_rows > 0) {
    files.test_x.push_back(path("test_x.npy"));
    files.test_y.push_back(path("test_y.npy"));
    write_pair(rows, SyntheticPart::kTest, {0, test_rows}, files.test_x.back(), files.test_y.back(), existing, made);
  }
  made.keep();
  return files;
}

}  // namespace dpreduce
