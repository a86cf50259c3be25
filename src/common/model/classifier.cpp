#include "common/model/classifier.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/error.hpp"
#include "common/base/public_names.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kTile = 8;

// scores_r = sum_a rows_ra tile_a, one lane a class: rows share each load of the tile, and no sum is ever taken over
// lanes.
template <std::size_t count, std::size_t width>
void tile_sums(const std::array<const double*, count>& rows, const double* tile, std::size_t dim,
               std::array<EightDoubles<width>, count>& scores) {
  std::array<EightDoubles<width>, count> sums;
  sums.fill(0.0);
  for (std::size_t a = 0; a < dim; ++a) {
    const EightDoubles<width> weights(tile + a * kTile);
    for (std::size_t row = 0; row < count; ++row) sums[row] += weights * rows[row][a];
  }
  scores = sums;
}

void require_entries(std::string_view name, const std::vector<double>& values, std::size_t expected) {
  if (values.size() != expected) {
    throw UsageError("{} has {} entries instead of {}", name, values.size(), expected);
  }
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad != values.end()) throw UsageError("{} has {} at entry {}", name, *bad, bad - values.begin());
}

void require_method(std::string_view method) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (method.empty() || method.size() > 40 || !std::all_of(method.begin(), method.end(), plain)) {
    throw UsageError("method: a name of 1 to 40 characters from a-z, 0-9 and '-' is needed");
  }
}

void require_privacy(const PrivacyStatement& privacy) {
  const auto require_positive = [](std::string_view name, const std::optional<double>& value) {
    if (value && !(*value > 0.0 && std::isfinite(*value))) {
      throw UsageError("privacy: {} is {}; it must be positive and finite", name, *value);
    }
  };
  require_positive("epsilon", privacy.epsilon);
  if (privacy.delta && !(*privacy.delta >= 0.0 && *privacy.delta < 1.0)) {
    throw UsageError("privacy: delta is {}; it must be from 0 to below 1", *privacy.delta);
  }
  require_positive("mu", privacy.mu);
  require_positive("rho", privacy.rho);
  if (privacy.epsilon.has_value() != privacy.delta.has_value()) {
    throw UsageError("privacy: epsilon and delta go together");
  }
  if (!privacy.epsilon && !privacy.mu && !privacy.rho) throw UsageError("privacy: epsilon, mu or rho is needed");
  const bool has_no_rows = privacy.person && privacy.person->rows == 0;
  if (has_no_rows || (privacy.person && privacy.person->silos == 0)) {
    throw UsageError("privacy: {}_per_person is 0; it must be positive", has_no_rows ? "rows" : "silos");
  }
}

// The preprocessing of parts whose extents are within bounds.
const Preprocessing& preprocessing_of(const ClassifierParts& parts) {
  if (parts.threshold && !std::isfinite(*parts.threshold)) throw UsageError("threshold: must be finite");
  const std::size_t targets = parts.preprocessing.targets.count;
  if (targets > 0 && (parts.classes != targets || parts.preprocessing.targets.center.size() != targets)) {
    throw UsageError("targets: {} scores for {}, of {} known centers", parts.classes, targets,
                     parts.preprocessing.targets.center.size());
  }
  if (targets > 0 && (parts.link || parts.threshold || !parts.cosine_head.empty() || !parts.class_names.empty())) {
    throw UsageError("targets: link, threshold, prototypes and class_names are for classes only");
  }
  if ((targets == 0 && parts.classes < 2) || parts.classes > kMaxExtent) {
    throw UsageError("classes: {} is not from 2 to {}", parts.classes, kMaxExtent);
  }
  if (parts.preprocessing.input_dim > kMaxExtent) {
    throw UsageError("input_dim: {} is above {}", parts.preprocessing.input_dim, kMaxExtent);
  }
  return parts.preprocessing;
}

// The weights, K x dim, of parts that hold together.
const std::vector<double>& weights_of_checked(const ClassifierParts& parts, std::size_t dim) {
  require_entries("weights", parts.weights, parts.classes * dim);
  require_entries("bias", parts.bias, parts.classes);
  if (!parts.cosine_head.empty()) require_entries("prototypes", parts.cosine_head, parts.classes * dim);
  require_terms(parts);
  if (parts.link == Link::kSigmoid && !parts.cosine_head.empty()) {
    throw UsageError("link sigmoid with prototypes: their scores are a sum of two softmax");
  }
  return parts.weights;
}

// minimum <- min(minimum, value), as one step.
void lower_to(std::atomic<std::size_t>& minimum, std::size_t value) {
  std::size_t known = minimum;
  while (value < known && !minimum.compare_exchange_weak(known, value)) {
  }
}

// c_k / ||c_k|| of each prototype; a zero row stays zero. Empty without a second head.
std::optional<ClassScores> unit_directions(const ClassifierParts& parts, std::size_t dim) {
  if (parts.cosine_head.empty()) return std::nullopt;
  std::vector<double> directions = parts.cosine_head;
  for (std::size_t first = 0; first < directions.size(); first += dim) {
    const std::span<double> one = std::span(directions).subspan(first, dim);
    const double norm = std::sqrt(squared_norm(one));
    for (double& entry : one) entry /= norm > 0.0 ? norm : 1.0;
  }
  return ClassScores(directions, parts.classes, dim);
}

}  // namespace

ClassScores::ClassScores(std::span<const double> matrix, std::size_t classes, std::size_t dim)
    : classes_(classes), dim_(dim), tiles_((classes + kTile - 1) / kTile * kTile * dim) {
  DPREDUCE_ASSERT(matrix.size() == classes * dim);
  for (std::size_t label = 0; label < classes; ++label) {
    double* tile = tiles_.data() + label / kTile * kTile * dim;
    for (std::size_t a = 0; a < dim; ++a) tile[a * kTile + label % kTile] = matrix[label * dim + a];
  }
}

void ClassScores::operator()(std::span<const double> rows, std::span<double> scores) const {
  const std::size_t n = rows.size() / dim_;
  DPREDUCE_ASSERT(rows.size() == n * dim_ && scores.size() == n * classes_);
  // A tile stays in cache while all rows of the chunk pass it, as many together as keep eight registers of sums busy.
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    constexpr std::size_t kTogether = width;
    for (std::size_t begin = 0; begin < classes_; begin += kTile) {
      const std::size_t classes = std::min(kTile, classes_ - begin);
      for (std::size_t row = 0; row < n; row += kTogether) {
        // Beyond the last row it is computed again, and written once.
        std::array<const double*, kTogether> together;
        for (std::size_t i = 0; i < kTogether; ++i) together[i] = rows.data() + std::min(row + i, n - 1) * dim_;
        std::array<EightDoubles<width>, kTogether> sums;
        tile_sums(together, tiles_.data() + begin * dim_, dim_, sums);
        for (std::size_t i = 0; i < std::min(kTogether, n - row); ++i) {
          std::array<double, kTile> of_row;
          sums[i].store(of_row.data());
          std::copy_n(of_row.begin(), classes, &scores[(row + i) * classes_ + begin]);
        }
      }
    }
  });
}

void softmax(std::span<double> v) {
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0.0;
  for (double& entry : v) sum += entry = std::exp(entry - largest);
  for (double& entry : v) entry /= sum;
}

void to_probabilities(Link link, std::span<double> v) {
  if (link == Link::kSoftmax) return softmax(v);
  for (double& entry : v) entry = 1.0 / (1.0 + std::exp(-entry));
}

void require_terms(const ClassifierParts& parts) {
  require_method(parts.method);
  if (parts.privacy) require_privacy(*parts.privacy);
  if (parts.privacy && !parts.forfeits.empty())
    throw UsageError("privacy: has a guarantee, and reasons why there is none");
  require_class_names(parts.class_names, parts.classes);
  require_feature_names(parts.feature_names, parts.preprocessing.input_dim);
}

Classifier::Classifier(ClassifierParts parts)
    : parts_(std::move(parts)),
      transform_(preprocessing_of(parts_)),
      linear_(weights_of_checked(parts_, transform_.output_dim()), parts_.classes, transform_.output_dim()),
      directions_(unit_directions(parts_, transform_.output_dim())) {}

// scores = W u + b, or softmax(W u + b) + softmax(h(u)), for each row u of the block.
void Classifier::score_block(std::span<const double> transformed, std::span<double> scores) const {
  const std::size_t classes = parts_.classes;
  const std::size_t dim = transform_.output_dim();
  const std::size_t n = scores.size() / classes;
  linear_(transformed, scores);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t label = 0; label < classes; ++label) scores[row * classes + label] += parts_.bias[label];
  }
  if (!directions_) return;

  std::vector<double> cosines(scores.size());
  (*directions_)(transformed, cosines);
  for (std::size_t row = 0; row < n; ++row) {
    const std::span<double> g = scores.subspan(row * classes, classes);
    const std::span<double> h = std::span(cosines).subspan(row * classes, classes);
    const double norm = std::sqrt(squared_norm(transformed.subspan(row * dim, dim)));
    for (double& entry : h) entry = norm > 0.0 ? entry / norm : 0.0;
    softmax(g);
    softmax(h);
    for (std::size_t label = 0; label < classes; ++label) g[label] += h[label];
  }
}

// Calls visit(row, scores of that row) for every row, in parallel over blocks.
template <typename Visit>
void Classifier::for_each_block(std::span<const float> rows, unsigned threads, std::size_t first_row,
                                const Visit& visit) const {
  const std::size_t d_in = transform_.input_dim();
  const std::size_t dim = transform_.output_dim();
  const std::size_t n = rows.size() / d_in;
  if (rows.size() != n * d_in) {
    throw BadInput("{} features are not a whole number of rows: the model needs {} per row", rows.size(), d_in);
  }

  std::atomic<std::size_t> next_block = 0;
  std::atomic<std::size_t> first_bad = n;
  ThreadTeam(threads).for_each(std::max(1U, threads), [&](std::size_t) {
    std::vector<double> transformed(kRowsScoredAtOnce * dim);
    std::vector<double> scores(kRowsScoredAtOnce * parts_.classes);
    std::vector<char> is_finite(kRowsScoredAtOnce);
    for (std::size_t begin = 0; (begin = next_block.fetch_add(1) * kRowsScoredAtOnce) < n;) {
      const std::size_t count = std::min(kRowsScoredAtOnce, n - begin);
      transform_(rows.subspan(begin * d_in, count * d_in), std::span(transformed).first(count * dim),
                 std::span(is_finite).first(count));
      for (std::size_t row = 0; row < count; ++row) {
        if (is_finite[row] == 0) lower_to(first_bad, begin + row);
      }
      const std::span<double> block = std::span(scores).first(count * parts_.classes);
      score_block(std::span(transformed).first(count * dim), block);
      for (std::size_t row = 0; row < count; ++row) {
        visit(begin + row, block.subspan(row * parts_.classes, parts_.classes));
      }
    }
  });
  if (first_bad < n) {
    throw BadInput("row {} has a NaN or an infinity; such a row has no label", first_row + first_bad);
  }
}

std::vector<double> Classifier::predict_scores(std::span<const float> rows, unsigned threads,
                                               std::size_t first_row) const {
  std::vector<double> all(rows.size() / input_dim() * classes());
  for_each_block(rows, threads, first_row, [&](std::size_t row, std::span<const double> scores) {
    std::copy(scores.begin(), scores.end(), all.begin() + static_cast<std::ptrdiff_t>(row * classes()));
  });
  return all;
}

void Classifier::to_probabilities(std::span<double> scores) const {
  DPREDUCE_ASSERT(parts_.link && scores.size() == parts_.classes);
  if (!directions_) return dpreduce::to_probabilities(*parts_.link, scores);
  for (double& score : scores) score /= 2.0;
}

std::vector<std::int32_t> Classifier::predict_labels(std::span<const float> rows, unsigned threads,
                                                     std::size_t first_row) const {
  std::vector<std::int32_t> labels(rows.size() / input_dim());
  for_each_block(rows, threads, first_row,
                 [&](std::size_t row, std::span<const double> scores) { labels[row] = argmax(scores); });
  return labels;
}

std::vector<std::int32_t> largest_classes(std::span<const double> scores, std::size_t k) {
  DPREDUCE_ASSERT(k <= scores.size());
  std::vector<std::int32_t> classes(scores.size());
  std::iota(classes.begin(), classes.end(), 0);
  const auto end = classes.begin() + static_cast<std::ptrdiff_t>(k);
  std::partial_sort(classes.begin(), end, classes.end(), [&](std::int32_t a, std::int32_t b) {
    const double of_a = scores[static_cast<std::size_t>(a)];
    const double of_b = scores[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  classes.erase(end, classes.end());
  return classes;
}

std::int32_t argmax(std::span<const double> scores) {
  double largest = -std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (std::size_t label = 0; label < scores.size(); ++label) {
    if (scores[label] > largest) {
      largest = scores[label];
      best = label;
    }
  }
  return static_cast<std::int32_t>(best);
}

void require_weighable(std::string_view method, std::optional<Link> link, bool has_second_head,
                       std::span<const double> weights, std::size_t classes) {
  if (link != Link::kSoftmax || has_second_head) {
    throw UsageError(
        "class weights: scores of method {}{} are no log probabilities, so that odds of classes cannot be weighed; "
        "train by auto, fc or adam",
        method, has_second_head ? " with a warm start" : "");
  }
  const auto is_weight = [](double weight) { return weight > 0.0 && std::isfinite(weight); };
  if (weights.size() != classes || !std::ranges::all_of(weights, is_weight)) {
    throw UsageError("class weights: a weight must be above 0 and finite, and each class has one");
  }
}

void weigh_classes(ClassifierParts& parts, std::span<const double> weights) {
  require_weighable(parts.method, parts.link, !parts.cosine_head.empty(), weights, parts.classes);
  for (std::size_t k = 0; k < parts.classes; ++k) parts.bias[k] += std::log(weights[k]);
}

}  // namespace dpreduce
