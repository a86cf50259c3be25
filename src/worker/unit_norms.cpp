#include "worker/unit_norms.hpp"

#include <numeric>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/vector_width.hpp"

namespace dpreduce {
namespace {

// Sums of so few rows have their norm by products, which take fewer steps.
constexpr std::size_t kFewRows = 3;
// Entries of sums of so many rows are of 32 bits, and |sum|^2 of 64.
constexpr std::size_t kMostNarrowRows = 65535;
// A kernel's product takes so many times as long for a few rows as inner products of the same number of multiply-adds.
constexpr std::size_t kKernelOverhead = 4;

// Residuals of up to so many classes are multiplied for so many rows at a time; of more, entry by entry.
constexpr std::size_t kClassesByRows = 64;
constexpr std::size_t kRowLanes = 16;

WideSquare square_of(std::int64_t value) {
  return static_cast<WideSquare>(WideSum{value} * value);
}

// 0, 1, ..., count - 1. The same memory at every call of a thread.
std::span<const std::size_t> all_of(std::size_t count) {
  thread_local std::vector<std::size_t> places;
  places.resize(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

inline std::int32_t product_of(const std::int16_t* a, const std::int16_t* b, std::size_t dim) {
  std::int32_t sum = 0;
  for (std::size_t entry = 0; entry < dim; ++entry) sum += std::int32_t{a[entry]} * std::int32_t{b[entry]};
  return sum;
}

// take(i, j, <q_i, q_j>) once for every j <= i, places in `members`. Four products share what they load.
template <typename Take>
void for_each_product(const UnitRows& rows, std::span<const std::size_t> members, const Take& take) {
  run_at_full_width([&](auto) {
    const std::size_t dim = rows.dim;
    for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
      const std::int16_t* const a0 = rows.row(members[i]);
      const std::int16_t* const a1 = rows.row(members[i + 1]);
      for (std::size_t j = 0; j <= i; j += 2) {
        const std::int16_t* const b0 = rows.row(members[j]);
        const std::int16_t* const b1 = rows.row(members[j + 1]);
        std::int32_t p00 = 0, p01 = 0, p10 = 0, p11 = 0;
        for (std::size_t entry = 0; entry < dim; ++entry) {
          p00 += std::int32_t{a0[entry]} * std::int32_t{b0[entry]};
          p01 += std::int32_t{a0[entry]} * std::int32_t{b1[entry]};
          p10 += std::int32_t{a1[entry]} * std::int32_t{b0[entry]};
          p11 += std::int32_t{a1[entry]} * std::int32_t{b1[entry]};
        }
        take(i, j, p00);
        if (j < i) take(i, j + 1, p01);
        take(i + 1, j, p10);
        take(i + 1, j + 1, p11);
      }
    }
    if (members.size() % 2 == 0) return;
    const std::size_t last = members.size() - 1;
    for (std::size_t j = 0; j <= last; ++j) {
      take(last, j, product_of(rows.row(members[last]), rows.row(members[j]), dim));
    }
  });
}

// |sum_i q_i|^2 by that sum, whose entries Entry holds, as Square holds the result.
template <typename Entry, typename Square>
WideSquare squared_total(const UnitRows& rows, std::span<const std::size_t> members) {
  thread_local SecretVector<Entry> total;
  total.assign(rows.dim, 0);
  Square sum = 0;
  run_at_full_width([&](auto) {
    Entry* const entries = total.data();
    for (const std::size_t member : members) {
      const std::int16_t* const row = rows.row(member);
      for (std::size_t entry = 0; entry < rows.dim; ++entry) entries[entry] += row[entry];
    }
    Square squares = 0;
    for (std::size_t entry = 0; entry < rows.dim; ++entry) {
      squares += static_cast<Square>(entries[entry]) * static_cast<Square>(entries[entry]);
    }
    sum = squares;
  });
  return static_cast<WideSquare>(sum);
}

}  // namespace

// |sum_i q_i|^2 over these rows, whose norms are known: of a few by their products, of more by their sum.
WideSquare squared_sum(const UnitRows& rows, std::span<const std::size_t> members) {
  if (members.size() > kMostNarrowRows) return squared_total<std::int64_t, WideSum>(rows, members);
  if (members.size() > kFewRows) return squared_total<std::int32_t, std::int64_t>(rows, members);
  std::int64_t sum = 0;  // at most (g S)^2 for g rows
  for (std::size_t i = 0; i < members.size(); ++i) {
    sum += std::int64_t{rows.squared_norms[members[i]]};
    for (std::size_t j = 0; j < i; ++j) {
      std::int32_t product = 0;
      run_at_full_width([&](auto) { product = product_of(rows.row(members[i]), rows.row(members[j]), rows.dim); });
      sum += 2 * std::int64_t{product};
    }
  }
  return static_cast<WideSquare>(sum);
}

// sum_ij <q_i, q_j>^2 = |sum_i q_i q_i^T|_F^2 over the rows that `members` lists, whose norms are known.
WideSquare squared_gram(const UnitRows& rows, std::span<const std::size_t> members) {
  if (members.size() == 1) return square_of(std::int64_t{rows.squared_norms[members.front()]});
  WideSquare sum = 0;
  if (members.size() <= rows.dim) {
    for_each_product(rows, members, [&](std::size_t i, std::size_t j, std::int32_t product) {
      sum += square_of(product) * (i == j ? 1 : 2);
    });
    return sum;
  }
  const std::size_t dim = rows.dim;
  std::vector<std::int16_t> gathered;
  const std::int16_t* values = rows.values;
  if (members.size() != rows.count) {
    for (const std::size_t member : members) gathered.insert(gathered.end(), rows.row(member), rows.row(member) + dim);
    values = gathered.data();
  }
  SecretVector<std::int64_t> square(dim * dim);
  select_kernel().accumulate_gram({values, members.size(), dim, dim}, {square.data(), dim, dim, dim});
  for (std::size_t a = 0; a < dim; ++a) {
    sum += square_of(square[a * dim + a]);
    for (std::size_t b = a + 1; b < dim; ++b) sum += 2 * square_of(square[a * dim + b]);
  }
  return sum;
}

void make_products(const UnitRows& rows, std::span<std::int32_t> products) {
  DPREDUCE_ASSERT(products.size() == products_of_rows(rows.count));
  for_each_product(rows, all_of(rows.count), [&](std::size_t i, std::size_t j, std::int32_t product) {
    products[i * (i + 1) / 2 + j] = product;
  });
}

void SquaredGradient::assign(const UnitRows& rows, std::span<const std::int32_t> products, std::size_t classes) {
  rows_ = rows;
  classes_ = classes;
  stride_ = (rows.count + kRowLanes - 1) / kRowLanes * kRowLanes;
  by_products_ = !products.empty() ||
                 (rows.count <= kKernelOverhead * classes && rows.count * rows.count / 2 <= 2 * classes * rows.dim);
  products_ = products;
  DPREDUCE_ASSERT(classes >= 1 && (products.empty() || products.size() == products_of_rows(rows.count)));
  if (!by_products_) return;
  if (products.empty()) {
    made_.resize(products_of_rows(rows.count));
    make_products(rows, made_);
    products_ = made_;
  }
  if (classes_ > kClassesByRows) return;
  // Factors of <r_i, r_j>: less than 2^31.
  factors_.assign(rows.count * stride_, 0);
  for (std::size_t i = 0, entry = 0; i < rows.count; ++i) {
    for (std::size_t j = 0; j <= i; ++j, ++entry) factors_[i * stride_ + j] = products_[entry] * (i == j ? 1 : 2);
  }
  columns_.assign(classes_ * stride_, 0);
}

WideSquare SquaredGradient::of(std::span<const std::int16_t> residuals) {
  DPREDUCE_ASSERT(residuals.size() == rows_.count * classes_);
  if (!by_products_) return of_gradient(residuals);
  return static_cast<WideSquare>(classes_ > kClassesByRows ? by_entries(residuals) : by_rows(residuals));
}

WideSquare SquaredGradient::of_gradient(std::span<const std::int16_t> residuals) const {
  thread_local SecretVector<std::int64_t> gradient;
  gradient.assign(classes_ * rows_.dim, 0);
  select_kernel().accumulate_product({residuals.data(), rows_.count, classes_, classes_},
                                     {rows_.values, rows_.count, rows_.dim, rows_.dim},
                                     {gradient.data(), classes_, rows_.dim, rows_.dim});
  WideSquare squared = 0;
  for (const std::int64_t entry : gradient) squared += square_of(entry);
  return squared;
}

WideSum SquaredGradient::by_entries(std::span<const std::int16_t> residuals) const {
  WideSum sum = 0;
  for_each_product({residuals.data(), rows_.count, classes_}, all_of(rows_.count),
                   [&](std::size_t i, std::size_t j, std::int32_t product) {
                     const std::int64_t of_rows = products_[i * (i + 1) / 2 + j];
                     sum += WideSum{product * of_rows} * (i == j ? 1 : 2);
                   });
  return sum;
}

// Sixteen j at a time. A product has magnitude below 2^61: its upper part and its lower 32 bits are summed apart.
WideSum SquaredGradient::by_rows(std::span<const std::int16_t> residuals) {
  for (std::size_t row = 0; row < rows_.count; ++row) {
    for (std::size_t c = 0; c < classes_; ++c) columns_[c * stride_ + row] = residuals[row * classes_ + c];
  }
  std::int64_t upper = 0;
  std::int64_t lower = 0;
  run_at_full_width([&](auto) {
    std::int64_t upper_sums[kRowLanes] = {};
    std::int64_t lower_sums[kRowLanes] = {};
    for (std::size_t i = 0; i < rows_.count; ++i) {
      for (std::size_t first = 0; first <= i; first += kRowLanes) {
        std::int32_t sums[kRowLanes] = {};
        for (std::size_t c = 0; c < classes_; ++c) {
          const std::int32_t entry = columns_[c * stride_ + i];
          const std::int32_t* const of_others = &columns_[c * stride_ + first];
          for (std::size_t lane = 0; lane < kRowLanes; ++lane) sums[lane] += entry * of_others[lane];
        }
        const std::int32_t* const factors = &factors_[i * stride_ + first];
        for (std::size_t lane = 0; lane < kRowLanes; ++lane) {
          const std::int64_t product = std::int64_t{sums[lane]} * factors[lane];
          upper_sums[lane] += product >> 32;
          lower_sums[lane] += product & 0xffffffff;
        }
      }
    }
    for (std::size_t lane = 0; lane < kRowLanes; ++lane) {
      upper += upper_sums[lane];
      lower += lower_sums[lane];
    }
  });
  return WideSum{upper} * (WideSum{1} << 32) + lower;
}

}  // namespace dpreduce
