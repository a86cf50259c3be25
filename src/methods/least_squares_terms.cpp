#include "methods/least_squares_terms.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "common/ledger/triangle.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {
namespace {

// The Gram matrix has d^2 / 2 noised entries, the class sums have K d: the more classes there are, the larger the share
// of the budget that the sums need.
constexpr double kLsGramShare = 0.5;
constexpr double kGramShareManyClasses = 0.3;
// Two classes need an intercept, since the threshold between them is not at the mean of all rows where one is rarer:
// without it up to 5 points are lost, by class 18. With more classes it acts as a prior, which favors large ones: it
// cost 0.2 points with 10 classes and 1.4 with 51 (measured).
constexpr double kIntercept = 0.02;

constexpr double kLeastAlpha = 1.0;
constexpr double kMostAlpha = 10.0;

// Appends 64-bit integers in place of doubles, bit by bit.
void append_bits(std::span<const std::int64_t> values, std::vector<double>& numbers) {
  for (const std::int64_t value : values) numbers.push_back(std::bit_cast<double>(value));
}

}  // namespace

double least_squares_gram_share(const FitOptions& options) {
  return options.method.gram_share.value_or(options.data.classes < kManyClasses ? kLsGramShare : kGramShareManyClasses);
}

double least_squares_intercept(const FitOptions& options) {
  return options.data.classes == 2 || options.rows.center == Centering::kMoments ? kIntercept : 0.0;
}

double usual_alpha(const FitOptions& options) {
  if (options.privacy.budget.non_private) return kLeastAlpha;
  const double mu = mu_of(options.privacy.budget);
  return std::clamp(1.0 / mu, kLeastAlpha, kMostAlpha);
}

KeptClassGrams::KeptClassGrams(std::size_t classes, std::size_t dim, bool has_gram)
    : classes_(classes),
      dim_(dim),
      triangle_(triangle_elements(dim)),
      part_(has_gram ? (triangle_ + classes - 1) / classes : 0) {}

std::vector<double> KeptClassGrams::numbers_of(std::size_t label, const ReleasedBlock& gram) const {
  const ReleasedBlock& sums = sums_->block("class_sums");
  std::vector<double> numbers;
  append_bits(gram.values(), numbers);
  append_bits(sums.values().subspan(label * dim_, dim_), numbers);
  double sigma_of_gram = 0.0;
  if (part_ > 0) {
    const ReleasedBlock& all = sums_->block("gram");
    sigma_of_gram = all.sigma();
    const std::size_t first = std::min(label * part_, triangle_);
    const std::size_t count = std::min(part_, triangle_ - first);
    append_bits(all.values().subspan(first, count), numbers);
    numbers.insert(numbers.end(), part_ - count, 0.0);
  }
  numbers.insert(numbers.end(), {gram.sigma(), sums.sigma(), sigma_of_gram});
  return numbers;
}

Release KeptClassGrams::whole(std::span<const double> numbers) const {
  std::vector<std::int64_t> grams;
  std::vector<std::int64_t> sums;
  std::vector<std::int64_t> gram;
  grams.reserve(classes_ * triangle_);
  const auto take = [](std::span<const double> from, std::vector<std::int64_t>& into) {
    std::ranges::transform(from, std::back_inserter(into),
                           [](double bits) { return std::bit_cast<std::int64_t>(bits); });
  };
  for (std::size_t label = 0; label < classes_; ++label) {
    const std::span<const double> own = numbers.subspan(label * width(), width());
    take(own.first(triangle_), grams);
    take(own.subspan(triangle_, dim_), sums);
    take(own.subspan(triangle_ + dim_, part_), gram);
  }
  const std::span<const double> sigmas = numbers.subspan(width() - 3, 3);
  std::vector<ReleasedBlock> blocks{{"class_grams", std::move(grams), sigmas[0]},
                                    {"class_sums", std::move(sums), sigmas[1]}};
  gram.resize(part_ > 0 ? triangle_ : 0);
  if (part_ > 0) blocks.emplace_back("gram", std::move(gram), sigmas[2]);
  return Release(std::move(blocks));
}

}  // namespace dpreduce
