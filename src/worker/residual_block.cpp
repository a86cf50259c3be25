#include "worker/residual_block.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "worker/exponential.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kRowsAcross = 8;
using EightProducts [[gnu::vector_size(kRowsAcross * sizeof(std::int64_t))]] = std::int64_t;
using EightResiduals [[gnu::vector_size(kRowsAcross * sizeof(std::int32_t))]] = std::int32_t;

// Up to eight rows, a lane each: entries[c] holds theirs of class c.
struct RowsAcross {
  std::size_t classes = 0;
  std::array<EightDoubles, kMostClassesAcross> entries;
  std::array<EightResiduals, kMostClassesAcross> rho;
  EightDoubles squares;  // of rho, exact

  // sum_c of the entries, or of their squares, by their place mod 8, as a row alone is summed.
  template <bool squared>
  void sum(EightDoubles& total) const {
    std::array<EightDoubles, 8> sums{};
    for (std::size_t c = 0; c < classes; ++c) sums[c % 8] += squared ? entries[c] * entries[c] : entries[c];
    total = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
};

// entries <- the scores of `count` rows; lanes without a row get those of products 0.
inline void load_scores(const std::int64_t* products, std::size_t count, const double* factors, RowsAcross& rows) {
  std::array<EightProducts, kMostClassesAcross> lanes;
  auto* const values = reinterpret_cast<std::int64_t*>(lanes.data());
  for (std::size_t lane = 0; lane < kRowsAcross; ++lane) {
    for (std::size_t c = 0; c < rows.classes; ++c) {
      values[c * kRowsAcross + lane] = lane < count ? products[lane * rows.classes + c] : 0;
    }
  }
  for (std::size_t c = 0; c < rows.classes; ++c) {
    rows.entries[c] = factors[c] * __builtin_convertvector(lanes[c], EightDoubles);
  }
}

inline void take_probabilities(Loss loss, RowsAcross& rows) {
  if (loss == Loss::kSigmoid) {
    for (std::size_t c = 0; c < rows.classes; ++c) logistic(rows.entries[c]);
  }
  if (loss != Loss::kSoftmax) return;
  EightDoubles largest = rows.entries[0];
  for (std::size_t c = 1; c < rows.classes; ++c) {
    largest = largest < rows.entries[c] ? rows.entries[c] : largest;
  }
  for (std::size_t c = 0; c < rows.classes; ++c) {
    rows.entries[c] -= largest;
    exponential(rows.entries[c]);
  }
  EightDoubles total;
  rows.sum<false>(total);
  const EightDoubles inverse = 1.0 / total;
  for (std::size_t c = 0; c < rows.classes; ++c) rows.entries[c] *= inverse;
}

// Clips to `residual_norm` and rounds with `scale`, once; norms get |r|_2 from before.
inline void clip_and_round(double residual_norm, double scale, RowsAcross& rows, EightDoubles& norms) {
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr EightDoubles kMost = EightDoubles{} + double{kLatticeNorm};
  EightDoubles squared;
  rows.sum<true>(squared);
  for (std::size_t lane = 0; lane < kRowsAcross; ++lane) norms[lane] = std::sqrt(squared[lane]);
  const EightDoubles least = EightDoubles{} + residual_norm;
  const EightDoubles divisor = norms < least ? least : norms;
  rows.squares = EightDoubles{};
  for (std::size_t c = 0; c < rows.classes; ++c) {
    rows.entries[c] /= divisor;
    EightDoubles rounded = (rows.entries[c] * scale + kRoundToInteger) - kRoundToInteger;
    rounded = rounded < -kMost ? -kMost : rounded;
    rounded = rounded > kMost ? kMost : rounded;
    rows.squares += rounded * rounded;
    rows.rho[c] = __builtin_convertvector(rounded, EightResiduals);
  }
}

}  // namespace

void lattice_residuals(std::span<const std::int64_t> products,
                       const std::function<std::span<const std::int32_t>(std::size_t)>& classes_of,
                       const ResidualTerms& terms, std::span<std::int16_t> rho, std::span<double> norms) {
  constexpr double kSquaredLatticeNorm = double{kLatticeNorm} * double{kLatticeNorm};
  const std::size_t classes = terms.factors.size();
  DPREDUCE_ASSERT(classes <= kMostClassesAcross && products.size() == norms.size() * classes);
  DPREDUCE_ASSERT(rho.size() == products.size());
  const Lattice lattice{1.0, classes};
  const double scale = lattice.scale();
  RowsAcross rows;
  rows.classes = classes;
  EightDoubles norms_across;
  std::array<double, kMostClassesAcross> row_alone;
  for (std::size_t first = 0; first < norms.size(); first += kRowsAcross) {
    const std::size_t count = std::min(kRowsAcross, norms.size() - first);
    run_at_full_width([&](auto) {
      load_scores(products.data() + first * classes, count, terms.factors.data(), rows);
      take_probabilities(terms.loss, rows);
    });
    std::array<bool, kRowsAcross> counts{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::span<const std::int32_t> of_row = classes_of(first + lane);
      DPREDUCE_ASSERT(terms.loss != Loss::kSoftmax || of_row.size() <= 1);
      counts[lane] = terms.loss != Loss::kSoftmax || !of_row.empty();
      for (const std::int32_t label : of_row) rows.entries[static_cast<std::size_t>(label)][lane] -= 1.0;
    }
    run_at_full_width([&](auto) { clip_and_round(terms.residual_norm, scale, rows, norms_across); });
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::span<std::int16_t> target = rho.subspan((first + lane) * classes, classes);
      norms[first + lane] = counts[lane] ? norms_across[lane] : 0.0;
      for (std::size_t c = 0; c < classes; ++c) {
        target[c] = counts[lane] ? static_cast<std::int16_t>(rows.rho[c][lane]) : std::int16_t{0};
      }
      if (rows.squares[lane] <= kSquaredLatticeNorm || !counts[lane]) continue;
      for (std::size_t c = 0; c < classes; ++c) row_alone[c] = rows.entries[c][lane];
      quantize_row(std::span(row_alone).first(classes), lattice, target);
    }
  }
}

}  // namespace dpreduce
