#include "worker/residuals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

// An exponential of our own: one fixed sequence of IEEE double operations, the same bits at every width of vectors.
using EightBits [[gnu::vector_size(8 * sizeof(std::uint64_t))]] = std::uint64_t;

// How many vectors go through exponentials() together at the best: a step of one waits for the step before.
template <std::size_t width>
constexpr std::size_t kVectorsTogether = width / 2;

// x_v <- exp(x_v) for entries <= 0, within 4e-16 relative; 0 below -700. No branch, no table, no library call. The
// same bits for any number of vectors.
//
// x = k ln 2 + r, |r| <= ln(2)/2, and exp(r) by its Taylor polynomial of degree 13: remainder below 2^-57.
template <std::size_t vectors>
inline void exponentials(EightDoubles* x) {
  constexpr double kInverseLn2 = 1.4426950408889634074;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 33 bits: k kLn2High is exact for |k| < 2^20
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr std::array<double, 14> kTaylor = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  const EightDoubles smallest = EightDoubles{} - 700.0;
  EightDoubles shifted[vectors];
  EightDoubles r[vectors];
  EightDoubles sum[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    const EightDoubles bounded = x[v] < smallest ? smallest : x[v];
    shifted[v] = bounded * kInverseLn2 + kRoundToInteger;
    const EightDoubles k = shifted[v] - kRoundToInteger;
    r[v] = (bounded - k * kLn2High) - k * kLn2Low;
    sum[v] = EightDoubles{} + kTaylor[13];
  }
  for (std::size_t degree = 13; degree-- > 0;) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) sum[v] = sum[v] * r[v] + kTaylor[degree];
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) {
    // The low bits of `shifted` hold k as an integer: 2^k has k + 1023 as its exponent.
    EightBits bits;
    std::memcpy(&bits, &shifted[v], sizeof(bits));
    bits = (bits + 1023) << 52;
    EightDoubles power;
    std::memcpy(&power, &bits, sizeof(power));
    const EightDoubles scaled = sum[v] * power;
    x[v] = x[v] < smallest ? EightDoubles{} : scaled;
  }
}

// x_v <- 1 / (1 + exp(-x_v)), from the exponential of -|x_v|.
template <std::size_t vectors>
inline void logistics(EightDoubles* x) {
  EightDoubles small[vectors];
  for (std::size_t v = 0; v < vectors; ++v) small[v] = x[v] < 0.0 ? x[v] : -x[v];
  exponentials<vectors>(small);
  for (std::size_t v = 0; v < vectors; ++v) {
    x[v] = (x[v] < 0.0 ? small[v] : EightDoubles{} + 1.0) / (1.0 + small[v]);
  }
}

constexpr std::size_t kLanes = 8;

// Calls step(entries) with `together` vectors of v at a time, and writes back what it makes of them. Where v ends,
// `rest` fills up.
template <std::size_t together, typename Step>
void for_each_vectors(std::span<double> v, double rest, const Step& step) {
  EightDoubles entries[together];
  for (std::size_t c = 0; c < v.size(); c += together * kLanes) {
    const std::size_t bytes = std::min(together * kLanes, v.size() - c) * sizeof(double);
    if (bytes == sizeof(entries)) {
      std::memcpy(entries, &v[c], sizeof(entries));
      step(entries);
      std::memcpy(&v[c], entries, sizeof(entries));
    } else {
      std::fill(std::begin(entries), std::end(entries), EightDoubles{} + rest);
      std::memcpy(entries, &v[c], bytes);
      step(entries);
      std::memcpy(&v[c], entries, bytes);
    }
  }
}

double largest_of(const EightDoubles& entries) {
  double largest = entries[0];
  for (std::size_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, entries[lane]);
  return largest;
}

// v <- softmax(v)
template <std::size_t width>
inline void softmax(std::span<double> v) {
  constexpr std::size_t kTogether = kVectorsTogether<width>;
  EightDoubles most = EightDoubles{} + v[0];
  for_each_vectors<1>(v, v[0], [&](const EightDoubles* entries) { most = most < *entries ? *entries : most; });
  const double largest = largest_of(most);
  EightDoubles sums{};
  for_each_vectors<kTogether>(v, -std::numeric_limits<double>::infinity(), [&](EightDoubles* entries) {
    for (std::size_t i = 0; i < kTogether; ++i) entries[i] -= largest;
    exponentials<kTogether>(entries);
    for (std::size_t i = 0; i < kTogether; ++i) sums += entries[i];
  });
  const double inverse = 1.0 / sum_of_lanes(sums);
  for (double& entry : v) entry *= inverse;
}

// v <- 1 / (1 + exp(-v)), from the exponential of -|v|
template <std::size_t width>
inline void sigmoid(std::span<double> v) {
  constexpr std::size_t kTogether = kVectorsTogether<width>;
  for_each_vectors<kTogether>(v, 0.0, [](EightDoubles* entries) { logistics<kTogether>(entries); });
}

// rho of r, which is clipped in its place. Returns |r| before that.
double clipped_to_lattice(std::span<double> r, double residual_norm, std::span<std::int16_t> rho) {
  const double norm = std::sqrt(squared_norm(r));
  const double divisor = std::max(norm, residual_norm);
  if (divisor != 1.0) {
    run_at_full_width([&](auto) {
      for (double& entry : r) entry /= divisor;
    });
  }
  quantize_row(r, Lattice{1.0, r.size()}, rho);
  return norm;
}

}  // namespace

double exp_of_nonpositive(double x) {
  EightDoubles lanes = EightDoubles{} + x;
  exponentials<1>(&lanes);
  return lanes[0];
}

void class_probabilities(std::span<const std::int64_t> products, std::span<const double> factors, Loss loss,
                         std::span<double> p) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < p.size(); ++c) p[c] = factors[c] * static_cast<double>(products[c]);
    if (loss == Loss::kSoftmax) softmax<width>(p);
    if (loss == Loss::kSigmoid) sigmoid<width>(p);
  });
}

void prior_probabilities(std::span<const std::int64_t> products, double row_length,
                         std::span<const double> direction_lengths, std::span<double> u) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < u.size(); ++c) {
      const double lengths = row_length * direction_lengths[c];
      u[c] = lengths > 0.0 ? static_cast<double>(products[c]) / lengths : 0.0;
    }
    softmax<width>(u);
  });
}

double share_of_head(std::span<const double> p, std::span<const double> prior, std::span<const std::int32_t> classes) {
  DPREDUCE_ASSERT(classes.size() == 1);
  const auto label = static_cast<std::size_t>(classes.front());
  return p[label] / (p[label] + prior[label]);
}

double lattice_residual(std::span<const std::int64_t> products, std::span<const double> factors,
                        std::span<const std::int32_t> classes, Loss loss, std::span<double> scratch,
                        std::span<std::int16_t> rho, std::span<const double> prior, double residual_norm) {
  DPREDUCE_ASSERT(loss != Loss::kSoftmax || classes.size() <= 1);
  if (loss == Loss::kSoftmax && classes.empty()) {
    std::fill(rho.begin(), rho.end(), std::int16_t{0});
    return 0.0;
  }
  class_probabilities(products, factors, loss, scratch);
  const double share = prior.empty() ? 1.0 : share_of_head(scratch, prior, classes);
  for (const std::int32_t label : classes) scratch[static_cast<std::size_t>(label)] -= 1.0;
  if (!prior.empty()) {
    for (double& entry : scratch) entry *= share;
  }

  return clipped_to_lattice(scratch, residual_norm, rho);
}

double lattice_residual_of_targets(std::span<const std::int64_t> products, std::span<const double> factors,
                                   std::span<const double> targets, std::span<double> scratch,
                                   std::span<std::int16_t> rho, double residual_norm) {
  class_probabilities(products, factors, Loss::kSquare, scratch);
  for (std::size_t t = 0; t < scratch.size(); ++t) scratch[t] -= targets[t];
  return clipped_to_lattice(scratch, residual_norm, rho);
}

namespace {

constexpr std::size_t kRowsAcross = 8;
using EightProducts [[gnu::vector_size(kRowsAcross * sizeof(std::int64_t))]] = std::int64_t;
using EightResiduals [[gnu::vector_size(kRowsAcross * sizeof(std::int32_t))]] = std::int32_t;
using EightEntries [[gnu::vector_size(kRowsAcross * sizeof(std::int16_t))]] = std::int16_t;

// Eight vectors of eight values become their transpose.
template <typename Vector>
inline void transpose(Vector* v) {
  Vector pairs[8];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[2 * i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    pairs[2 * i + 1] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  Vector fours[8];
#pragma GCC unroll 2
  for (std::size_t i = 0; i < 2; ++i) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < 2; ++j) {
      fours[4 * i + j] = __builtin_shufflevector(pairs[4 * i + j], pairs[4 * i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
      fours[4 * i + 2 + j] =
          __builtin_shufflevector(pairs[4 * i + j], pairs[4 * i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 4; ++i) {
    v[i] = __builtin_shufflevector(fours[i], fours[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
    v[4 + i] = __builtin_shufflevector(fours[i], fours[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// Up to eight rows, a lane each: entries[c] holds theirs of class c.
struct RowsAcross {
  std::size_t classes = 0;
  std::array<EightDoubles, kMostClassesAcross> entries;
  std::array<EightResiduals, kMostClassesAcross> rho;
  EightDoubles squares;  // of rho, exact

  // sum_c of the entries, or of their squares, by their place mod 8, as a row alone is summed.
  template <bool squared>
  void sum(EightDoubles& total) const {
    EightDoubles sums[8] = {};
    std::size_t c = 0;
    for (; c + 8 <= classes; c += 8) {
#pragma GCC unroll 8
      for (std::size_t place = 0; place < 8; ++place) {
        sums[place] += squared ? entries[c + place] * entries[c + place] : entries[c + place];
      }
    }
    for (std::size_t place = 0; c < classes; ++c, ++place) {
      sums[place] += squared ? entries[c] * entries[c] : entries[c];
    }
    total = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
};

// entries <- the scores of `count` rows; lanes without a row get those of products 0.
inline void load_scores(const std::int64_t* products, std::size_t count, const double* factors, RowsAcross& rows) {
  const std::size_t classes = rows.classes;
  std::size_t c = 0;
  EightProducts lanes[8];
  for (; count == kRowsAcross && c + 8 <= classes; c += 8) {
    for (std::size_t row = 0; row < 8; ++row)
      std::memcpy(&lanes[row], products + row * classes + c, sizeof(lanes[row]));
    transpose(lanes);
    for (std::size_t i = 0; i < 8; ++i) {
      rows.entries[c + i] = factors[c + i] * __builtin_convertvector(lanes[i], EightDoubles);
    }
  }
  for (; c < classes; ++c) {
    std::int64_t values[kRowsAcross] = {};
    for (std::size_t lane = 0; lane < count; ++lane) values[lane] = products[lane * classes + c];
    std::memcpy(lanes, values, sizeof(values));
    rows.entries[c] = factors[c] * __builtin_convertvector(lanes[0], EightDoubles);
  }
}

template <std::size_t width>
inline void take_probabilities(Loss loss, RowsAcross& rows) {
  constexpr std::size_t kTogether = kVectorsTogether<width>;
  static_assert(kMostClassesAcross % kTogether == 0);
  if (loss == Loss::kSigmoid) {
    for (std::size_t c = rows.classes; c % kTogether != 0; ++c) rows.entries[c] = EightDoubles{};
    for (std::size_t c = 0; c < rows.classes; c += kTogether) logistics<kTogether>(&rows.entries[c]);
  }
  if (loss != Loss::kSoftmax) return;
  EightDoubles largest = rows.entries[0];
  for (std::size_t c = 1; c < rows.classes; ++c) {
    largest = largest < rows.entries[c] ? rows.entries[c] : largest;
  }
  for (std::size_t c = rows.classes; c % kTogether != 0; ++c) rows.entries[c] = largest;
  for (std::size_t c = 0; c < rows.classes; c += kTogether) {
    for (std::size_t i = 0; i < kTogether; ++i) rows.entries[c + i] -= largest;
    exponentials<kTogether>(&rows.entries[c]);
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
  bool divides = false;  // by 1, an entry has the same bits
  for (std::size_t lane = 0; lane < kRowsAcross; ++lane) divides = divides || divisor[lane] != 1.0;
  if (divides) {
    for (std::size_t c = 0; c < rows.classes; ++c) rows.entries[c] /= divisor;
  }
  rows.squares = EightDoubles{};
  for (std::size_t c = 0; c < rows.classes; ++c) {
    EightDoubles rounded = (rows.entries[c] * scale + kRoundToInteger) - kRoundToInteger;
    rounded = rounded < -kMost ? -kMost : rounded;
    rounded = rounded > kMost ? kMost : rounded;
    rows.squares += rounded * rounded;
    rows.rho[c] = __builtin_convertvector(rounded, EightResiduals);
  }
}

// rho of the first `count` rows, count x K.
inline void store_residuals(const RowsAcross& rows, std::size_t count, std::int16_t* rho) {
  const std::size_t classes = rows.classes;
  std::size_t c = 0;
  for (; count == kRowsAcross && c + 8 <= classes; c += 8) {
    EightResiduals entries[8];
    std::memcpy(entries, &rows.rho[c], sizeof(entries));
    transpose(entries);
    for (std::size_t row = 0; row < 8; ++row) {
      const EightEntries of_row = __builtin_convertvector(entries[row], EightEntries);
      std::memcpy(rho + row * classes + c, &of_row, sizeof(of_row));
    }
  }
  for (; c < classes; ++c) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      rho[lane * classes + c] = static_cast<std::int16_t>(rows.rho[c][lane]);
    }
  }
}

// Takes the labels of the row in `lane` from its probabilities. Returns whether the row has a residual.
bool take_labels(std::span<const std::int32_t> labels, Loss loss, std::size_t lane, RowsAcross& rows) {
  DPREDUCE_ASSERT(loss != Loss::kSoftmax || labels.size() <= 1);
  for (const std::int32_t label : labels) rows.entries[static_cast<std::size_t>(label)][lane] -= 1.0;
  return loss != Loss::kSoftmax || !labels.empty();
}

// Rounds the row in `lane` by itself, where its residual came out longer than the lattice allows.
void round_where_long(const RowsAcross& rows, std::size_t lane, const Lattice& lattice, std::span<std::int16_t> rho) {
  constexpr double kSquaredLatticeNorm = double{kLatticeNorm} * double{kLatticeNorm};
  if (rows.squares[lane] <= kSquaredLatticeNorm) return;
  std::array<double, kMostClassesAcross> row_alone;
  for (std::size_t c = 0; c < rows.classes; ++c) row_alone[c] = rows.entries[c][lane];
  quantize_row(std::span(row_alone).first(rows.classes), lattice, rho);
}

}  // namespace

void lattice_residuals(std::span<const std::int64_t> products,
                       const std::function<std::span<const std::int32_t>(std::size_t)>& classes_of,
                       const ResidualTerms& terms, std::span<std::int16_t> rho, std::span<double> norms) {
  const std::size_t classes = terms.factors.size();
  DPREDUCE_ASSERT(classes <= kMostClassesAcross && products.size() == norms.size() * classes);
  DPREDUCE_ASSERT(rho.size() == products.size());
  const Lattice lattice{1.0, classes};
  const double scale = lattice.scale();
  RowsAcross rows;
  rows.classes = classes;
  EightDoubles norms_across;
  for (std::size_t first = 0; first < norms.size(); first += kRowsAcross) {
    const std::size_t count = std::min(kRowsAcross, norms.size() - first);
    run_at_full_width([&]<std::size_t width>(Doubles<width>) {
      load_scores(products.data() + first * classes, count, terms.factors.data(), rows);
      take_probabilities<width>(terms.loss, rows);
    });
    std::array<bool, kRowsAcross> counts{};
    for (std::size_t lane = 0; lane < count; ++lane) {
      counts[lane] = take_labels(classes_of(first + lane), terms.loss, lane, rows);
    }
    run_at_full_width([&](auto) {
      clip_and_round(terms.residual_norm, scale, rows, norms_across);
      store_residuals(rows, count, rho.data() + first * classes);
    });
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::span<std::int16_t> target = rho.subspan((first + lane) * classes, classes);
      norms[first + lane] = counts[lane] ? norms_across[lane] : 0.0;
      if (counts[lane]) {
        round_where_long(rows, lane, lattice, target);
      } else {
        std::fill(target.begin(), target.end(), std::int16_t{0});
      }
    }
  }
}

}  // namespace dpreduce
