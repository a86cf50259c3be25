#include "worker/residuals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

// How many go through exponentials() together at the best: a step of one waits for the step before.
template <std::size_t width>
constexpr std::size_t kTogether = width / 2;

// x_v <- exp(x_v) for entries <= 0, within 4e-16 relative; 0 below -700. No branch, no table, no library call: one
// fixed sequence of IEEE double operations, with the same bits for any `count` and width.
//
// x = k ln 2 + r, |r| <= ln(2)/2, and exp(r) by its Taylor polynomial of degree 13: remainder below 2^-57.
template <std::size_t count, std::size_t width>
inline void exponentials(EightDoubles<width>* x) {
  constexpr double kInverseLn2 = 1.4426950408889634074;
  constexpr double kLn2High = 0x1.62e42feep-1;  // 33 bits: k kLn2High is exact for |k| < 2^20
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRoundToInteger = 6755399441055744.0;
  constexpr double kSmallest = -700.0;
  constexpr std::array<double, 14> kTaylor = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  EightDoubles<width> shifted[count];
  EightDoubles<width> r[count];
  EightDoubles<width> sum[count];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < count; ++v) {
    const EightDoubles<width> bounded = x[v].at_least(kSmallest);
    shifted[v] = bounded * kInverseLn2 + kRoundToInteger;
    const EightDoubles<width> k = shifted[v] - kRoundToInteger;
    r[v] = (bounded - k * kLn2High) - k * kLn2Low;
    sum[v] = kTaylor[13];
  }
#pragma GCC unroll 13
  for (std::size_t left = 13; left > 0; --left) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < count; ++v) sum[v] = sum[v] * r[v] + kTaylor[left - 1];
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < count; ++v) {
    EightDoubles<width>::for_each_part([&](std::size_t p) {
      // The low bits of `shifted` hold k as an integer: 2^k has k + 1023 as its exponent.
      using Bits [[gnu::vector_size(width * sizeof(std::uint64_t))]] = std::uint64_t;
      Bits bits;
      std::memcpy(&bits, &shifted[v].parts[p], sizeof(bits));
      bits = (bits + 1023) << 52;
      std::memcpy(&shifted[v].parts[p], &bits, sizeof(bits));
    });
    x[v] = EightDoubles<width>::where_less(x[v], kSmallest, 0.0, sum[v] * shifted[v]);
  }
}

// x_v <- 1 / (1 + exp(-x_v)), from the exponential of -|x_v|.
template <std::size_t count, std::size_t width>
inline void logistics(EightDoubles<width>* x) {
  using Eight = EightDoubles<width>;
  Eight small[count];
  for (std::size_t v = 0; v < count; ++v) small[v] = Eight::where_less(x[v], 0.0, x[v], x[v] * -1.0);
  exponentials<count>(small);
  for (std::size_t v = 0; v < count; ++v) {
    x[v] = Eight::where_less(x[v], 0.0, small[v], 1.0) / (small[v] + 1.0);
  }
}

constexpr std::size_t kLanes = 8;

// Calls step(entries) with `count` times eight entries of v at a time, and writes back what it makes of them. Where v
// ends, `rest` fills up.
template <std::size_t count, std::size_t width, typename Step>
inline void for_each_eights(std::span<double> v, double rest, const Step& step) {
  EightDoubles<width> entries[count];
  const auto take = [&](double* at) {
    for (std::size_t i = 0; i < count; ++i) entries[i] = EightDoubles<width>(at + i * kLanes);
    step(entries);
    for (std::size_t i = 0; i < count; ++i) entries[i].store(at + i * kLanes);
  };
  std::size_t c = 0;
  for (; c + count * kLanes <= v.size(); c += count * kLanes) take(&v[c]);
  if (c == v.size()) return;
  std::array<double, count * kLanes> last;
  last.fill(rest);
  std::copy(v.begin() + static_cast<std::ptrdiff_t>(c), v.end(), last.begin());
  take(last.data());
  std::copy_n(last.begin(), v.size() - c, v.begin() + static_cast<std::ptrdiff_t>(c));
}

// v <- softmax(v)
template <std::size_t width>
inline void softmax(std::span<double> v) {
  constexpr std::size_t count = kTogether<width>;
  using Eight = EightDoubles<width>;
  Eight most(v[0]);
  for_each_eights<1, width>(v, v[0], [&](const Eight* entries) { most = most.at_least(*entries); });
  double largest = most[0];
  for (std::size_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, most[lane]);
  Eight sums(0.0);
  for_each_eights<count, width>(v, -std::numeric_limits<double>::infinity(), [&](Eight* entries) {
    for (std::size_t i = 0; i < count; ++i) entries[i] = entries[i] - largest;
    exponentials<count>(entries);
    for (std::size_t i = 0; i < count; ++i) sums += entries[i];
  });
  const double inverse = 1.0 / sums.sum();
  for (double& entry : v) entry *= inverse;
}

constexpr std::size_t kRowsAcross = kLanes;
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
template <std::size_t width>
struct RowsAcross {
  using Eight = EightDoubles<width>;

  std::size_t classes = 0;
  std::array<Eight, kMostClassesAcross> entries;
  std::array<std::array<std::int32_t, kRowsAcross>, kMostClassesAcross> rho;
  Eight squares;  // of rho, exact

  // sum_c of the entries, or of their squares, by their place mod 8, as a row alone is summed.
  template <bool squared>
  Eight sum() const {
    std::array<Eight, 8> sums;
    sums.fill(0.0);
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
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
};

// entries <- the scores of `count` rows; lanes without a row get those of products 0.
template <std::size_t width>
inline void load_scores(const std::int64_t* products, std::size_t count, const double* factors,
                        RowsAcross<width>& rows) {
  const std::size_t classes = rows.classes;
  std::size_t c = 0;
  if constexpr (width == kRowsAcross) {
    for (; count == kRowsAcross && c + 8 <= classes; c += 8) {
      EightProducts lanes[8];
      for (std::size_t row = 0; row < 8; ++row)
        std::memcpy(&lanes[row], products + row * classes + c, sizeof(lanes[row]));
      transpose(lanes);
      for (std::size_t i = 0; i < 8; ++i) {
        rows.entries[c + i].parts[0] = __builtin_convertvector(lanes[i], typename EightDoubles<width>::Part);
        rows.entries[c + i] = rows.entries[c + i] * factors[c + i];
      }
    }
  }
  for (; c < classes; ++c) {
    std::array<double, kRowsAcross> values{};
    for (std::size_t lane = 0; lane < count; ++lane) values[lane] = to_double<width>(products[lane * classes + c]);
    rows.entries[c] = EightDoubles<width>(values.data()) * factors[c];
  }
}

template <std::size_t width>
inline void take_probabilities(Loss loss, RowsAcross<width>& rows) {
  constexpr std::size_t count = kTogether<width>;
  static_assert(kMostClassesAcross % count == 0);
  if (loss == Loss::kSigmoid) {
    for (std::size_t c = rows.classes; c % count != 0; ++c) rows.entries[c] = 0.0;
    for (std::size_t c = 0; c < rows.classes; c += count) logistics<count>(&rows.entries[c]);
  }
  if (loss != Loss::kSoftmax) return;
  EightDoubles<width> largest = rows.entries[0];
  for (std::size_t c = 1; c < rows.classes; ++c) largest = largest.at_least(rows.entries[c]);
  for (std::size_t c = rows.classes; c % count != 0; ++c) rows.entries[c] = largest;
  for (std::size_t c = 0; c < rows.classes; c += count) {
    for (std::size_t i = 0; i < count; ++i) rows.entries[c + i] = rows.entries[c + i] - largest;
    exponentials<count>(&rows.entries[c]);
  }
  const EightDoubles<width> inverse = EightDoubles<width>(1.0) / rows.template sum<false>();
  for (std::size_t c = 0; c < rows.classes; ++c) rows.entries[c] = rows.entries[c] * inverse;
}

// Clips to `residual_norm` and rounds with `scale`, once. Returns |r|_2 from before.
template <std::size_t width>
inline std::array<double, kRowsAcross> clip_and_round(double residual_norm, double scale, RowsAcross<width>& rows) {
  using Eight = EightDoubles<width>;
  using Integers [[gnu::vector_size(width * sizeof(std::int32_t))]] = std::int32_t;
  constexpr double kMost{kLatticeNorm};
  std::array<double, kRowsAcross> norms;
  rows.template sum<true>().store(norms.data());
  for (double& norm : norms) norm = std::sqrt(norm);
  const bool divides = std::ranges::any_of(norms, [&](double norm) { return std::max(norm, residual_norm) != 1.0; });
  const Eight divisor = Eight(norms.data()).at_least(residual_norm);
  for (std::size_t c = 0; divides && c < rows.classes; ++c)
    rows.entries[c] = rows.entries[c] / divisor;  // by 1, an entry has its bits
  rows.squares = 0.0;
  for (std::size_t c = 0; c < rows.classes; ++c) {
    const Eight rounded = (rows.entries[c] * scale).rounded().at_least(-kMost).at_most(kMost);
    rows.squares += rounded * rounded;
    Eight::for_each_part([&](std::size_t p) {
      const Integers integers = __builtin_convertvector(rounded.parts[p], Integers);
      std::memcpy(&rows.rho[c][p * width], &integers, sizeof(integers));
    });
  }
  return norms;
}

// rho of the first `count` rows, count x K.
template <std::size_t width>
inline void store_residuals(const RowsAcross<width>& rows, std::size_t count, std::int16_t* rho) {
  const std::size_t classes = rows.classes;
  std::size_t c = 0;
  if constexpr (width == kRowsAcross) {
    for (; count == kRowsAcross && c + 8 <= classes; c += 8) {
      EightResiduals entries[8];
      std::memcpy(entries, &rows.rho[c], sizeof(entries));
      transpose(entries);
      for (std::size_t row = 0; row < 8; ++row) {
        const EightEntries of_row = __builtin_convertvector(entries[row], EightEntries);
        std::memcpy(rho + row * classes + c, &of_row, sizeof(of_row));
      }
    }
  }
  for (; c < classes; ++c) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      rho[lane * classes + c] = static_cast<std::int16_t>(rows.rho[c][lane]);
    }
  }
}

// Takes the labels of the row in `lane` from its probabilities. Returns whether the row has a residual.
template <std::size_t width>
inline bool take_labels(std::span<const std::int32_t> labels, Loss loss, std::size_t lane, RowsAcross<width>& rows) {
  DPREDUCE_ASSERT(loss != Loss::kSoftmax || labels.size() <= 1);
  for (const std::int32_t label : labels) {
    EightDoubles<width>& entry = rows.entries[static_cast<std::size_t>(label)];
    entry.set(lane, entry[lane] - 1.0);
  }
  return loss != Loss::kSoftmax || !labels.empty();
}

// Rounds the row in `lane` by itself, where its residual came out longer than the lattice allows.
template <std::size_t width>
inline void round_where_long(const RowsAcross<width>& rows, std::size_t lane, const Lattice& lattice,
                             std::span<std::int16_t> rho) {
  constexpr double kSquaredLatticeNorm = double{kLatticeNorm} * double{kLatticeNorm};
  if (rows.squares[lane] <= kSquaredLatticeNorm) return;
  std::array<double, kMostClassesAcross> row_alone;
  for (std::size_t c = 0; c < rows.classes; ++c) row_alone[c] = rows.entries[c][lane];
  quantize_row(std::span(row_alone).first(rows.classes), lattice, rho);
}

}  // namespace

double exp_of_nonpositive(double x) {
  EightDoubles<2> lanes(x);
  exponentials<1>(&lanes);
  return lanes[0];
}

void class_probabilities(std::span<const std::int64_t> products, std::span<const double> factors, Loss loss,
                         std::span<double> p) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < p.size(); ++c) p[c] = factors[c] * to_double<width>(products[c]);
    if (loss == Loss::kSoftmax) softmax<width>(p);
    if (loss != Loss::kSigmoid) return;
    for_each_eights<kTogether<width>, width>(p, 0.0, [](auto* entries) { logistics<kTogether<width>>(entries); });
  });
}

void prior_probabilities(std::span<const std::int64_t> products, double row_length,
                         std::span<const double> direction_lengths, std::span<double> u) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < u.size(); ++c) {
      const double lengths = row_length * direction_lengths[c];
      u[c] = lengths > 0.0 ? to_double<width>(products[c]) / lengths : 0.0;
    }
    softmax<width>(u);
  });
}

double share_of_head(std::span<const double> p, std::span<const double> prior, std::span<const std::int32_t> classes) {
  DPREDUCE_ASSERT(classes.size() == 1);
  const auto label = static_cast<std::size_t>(classes.front());
  return p[label] / (p[label] + prior[label]);
}

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

void lattice_residuals(std::span<const std::int64_t> products,
                       const std::function<std::span<const std::int32_t>(std::size_t)>& classes_of,
                       const ResidualTerms& terms, std::span<std::int16_t> rho, std::span<double> norms) {
  const std::size_t classes = terms.factors.size();
  DPREDUCE_ASSERT(classes <= kMostClassesAcross && products.size() == norms.size() * classes);
  DPREDUCE_ASSERT(rho.size() == products.size());
  const Lattice lattice{1.0, classes};
  const double scale = lattice.scale();
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    RowsAcross<width> rows;
    rows.classes = classes;
    for (std::size_t first = 0; first < norms.size(); first += kRowsAcross) {
      const std::size_t count = std::min(kRowsAcross, norms.size() - first);
      load_scores(products.data() + first * classes, count, terms.factors.data(), rows);
      take_probabilities(terms.loss, rows);
      std::array<bool, kRowsAcross> counts{};
      for (std::size_t lane = 0; lane < count; ++lane) {
        counts[lane] = take_labels(classes_of(first + lane), terms.loss, lane, rows);
      }
      const auto norms_across = clip_and_round(terms.residual_norm, scale, rows);
      store_residuals(rows, count, rho.data() + first * classes);
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
  });
}

}  // namespace dpreduce
