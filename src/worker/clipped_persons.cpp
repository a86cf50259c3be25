#include "worker/clipped_persons.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/error.hpp"
#include "common/kernels/kernel_choice.hpp"
#include "common/kernels/thread_team.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

__extension__ using WideSquare = unsigned __int128;
__extension__ using WideSum = __int128;

// A weight is lowered by what its norm is over, and by 2^-22 of itself at least; then by four times as much each time,
// since roundings of rows that are alike add up.
constexpr unsigned kFirstLowering = 22;
// Roundings make most sums a little longer than their real ones: so much less is within the bound at once.
constexpr double kBelowReal = 1.0 - 0x1p-14;

// Sums of so many rows have their norm by products, which take fewer steps.
constexpr std::size_t kFewRows = 8;
// A kernel's product takes so many times as long for a few rows as inner products of the same number of multiply-adds.
constexpr std::size_t kKernelOverhead = 4;

WideSquare square_of(std::int64_t value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  return WideSquare{magnitude} * magnitude;
}

// B^2 F^2.
WideSquare most_squared(std::uint64_t rows_per_person, std::uint64_t squared_row) {
  return WideSquare{rows_per_person} * rows_per_person * squared_row;
}

// The first weight, from J downward, whose squared_at(w) is at most `most`. squared_at(0) is 0.
template <typename SquaredAt>
RowWeight clipped_weight(WideSquare most, const SquaredAt& squared_at) {
  RowWeight weight = kWholeRow;
  WideSquare squared = squared_at(weight);
  for (unsigned lowered = 0; squared > most; lowered += 2) {
    const double over = std::sqrt(static_cast<double>(most) / static_cast<double>(squared));
    const auto within = static_cast<RowWeight>(static_cast<double>(weight) * over * kBelowReal);
    const RowWeight step = weight >> (kFirstLowering - std::min(lowered, kFirstLowering - 1));
    weight = std::min(within, weight - std::max(step, RowWeight{1}));
    squared = squared_at(weight);
  }
  return weight;
}

// n rows of d entries each, of norm at most S: any part of a sum of their products has magnitude at most S^2 < 2^31.
struct PersonRows {
  const std::int16_t* values;
  std::size_t count;
  std::size_t dim;

  const std::int16_t* row(std::size_t index) const { return values + index * dim; }
};

inline std::int32_t product_of(const std::int16_t* a, const std::int16_t* b, std::size_t dim) {
  std::int32_t sum = 0;
  for (std::size_t entry = 0; entry < dim; ++entry) sum += std::int32_t{a[entry]} * std::int32_t{b[entry]};
  return sum;
}

// sum_ij <q_i, q_j>^2 = |sum_i q_i q_i^T|_F^2 over the rows that `members` lists.
WideSquare squared_gram(const PersonRows& rows, std::span<const std::size_t> members) {
  WideSquare sum = 0;
  if (members.size() <= rows.dim) {
    run_at_full_width([&](auto) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        sum += square_of(product_of(rows.row(members[i]), rows.row(members[i]), rows.dim));
        for (std::size_t j = 0; j < i; ++j) {
          sum += 2 * square_of(product_of(rows.row(members[i]), rows.row(members[j]), rows.dim));
        }
      }
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

// |sum_i q_i|^2 over these rows: of a few by their products, of more by their sum.
WideSquare squared_sum(const PersonRows& rows, std::span<const std::size_t> members) {
  std::int64_t products = 0;  // at most (g S)^2 for g rows
  if (members.size() <= kFewRows) {
    run_at_full_width([&](auto) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        products += product_of(rows.row(members[i]), rows.row(members[i]), rows.dim);
        for (std::size_t j = 0; j < i; ++j) {
          products += 2 * std::int64_t{product_of(rows.row(members[i]), rows.row(members[j]), rows.dim)};
        }
      }
    });
    return static_cast<WideSquare>(products);
  }
  thread_local SecretVector<std::int64_t> total;
  total.assign(rows.dim, 0);
  run_at_full_width([&](auto) {
    std::int64_t* const sums = total.data();
    for (const std::size_t member : members) {
      const std::int16_t* const row = rows.row(member);
      for (std::size_t entry = 0; entry < rows.dim; ++entry) sums[entry] += row[entry];
    }
  });
  WideSquare sum = 0;
  for (const std::int64_t entry : total) sum += square_of(entry);
  return sum;
}

// Of a person's rows, those of each class.
std::vector<std::vector<std::size_t>> rows_by_class(const LatticeRows& chunk, std::size_t first, std::size_t end) {
  std::vector<std::pair<std::int32_t, std::size_t>> places;
  for (std::size_t row = first; row < end; ++row) {
    for (const std::int32_t label : chunk.classes_of(row)) places.emplace_back(label, row - first);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::vector<std::size_t>> by_class;
  for (std::size_t place = 0; place < places.size(); ++place) {
    if (place == 0 || places[place].first != places[place - 1].first) by_class.emplace_back();
    by_class.back().push_back(places[place].second);
  }
  return by_class;
}

// Of the person whose rows are [first, end) of the chunk.
RowWeight weight_of_person(const LatticeRows& chunk, std::size_t first, std::size_t end, PersonSum sum,
                           std::uint64_t rows_per_person) {
  const std::size_t count = end - first;
  if (count <= rows_per_person) return kWholeRow;
  const std::size_t dim = chunk.dim();
  std::vector<std::vector<std::size_t>> groups;
  if (sum == PersonSum::kGram) {
    std::vector<std::size_t>& all = groups.emplace_back(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
  } else {
    groups = rows_by_class(chunk, first, end);
  }
  const std::uint64_t one_class = sum == PersonSum::kClassSums ? kSquaredNorm : kFourthNorm;
  const WideSquare most = most_squared(rows_per_person, one_class) *
                          (sum == PersonSum::kGram ? 1 : static_cast<std::uint64_t>(chunk.labels_per_row()));
  const WeightPower power = sum == PersonSum::kClassSums ? WeightPower::kWhole : WeightPower::kHalf;
  thread_local SecretVector<std::int16_t> scaled;
  return clipped_weight(most, [&](RowWeight weight) {
    PersonRows rows{chunk.values() + first * dim, count, dim};
    if (weight != kWholeRow) {
      scaled.resize(count * dim);
      for (std::size_t row = 0; row < count; ++row) {
        weigh_row(chunk.row(first + row), weight, power, std::span(scaled).subspan(row * dim, dim));
      }
      rows.values = scaled.data();
    }
    WideSquare squared = 0;
    for (const std::vector<std::size_t>& members : groups) {
      squared += sum == PersonSum::kClassSums ? squared_sum(rows, members) : squared_gram(rows, members);
    }
    return squared;
  });
}

// Adds <q_i, q_j> for j <= i.
template <typename Integers>
void append_products(const PersonRows& rows, Integers& products) {
  std::size_t entry = products.size();
  products.resize(entry + rows.count * (rows.count + 1) / 2);
  run_at_full_width([&](auto) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      for (std::size_t j = 0; j <= i; ++j) products[entry++] = product_of(rows.row(i), rows.row(j), rows.dim);
    }
  });
}

// An upper bound of |value|, for value >= 0.
std::uint64_t root_above(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value))) + 1;
}

}  // namespace

std::vector<RowWeight> clipped_weights(const LatticeRows& chunk, PersonSum sum, std::uint64_t rows_per_person,
                                       unsigned threads) {
  DPREDUCE_ASSERT(rows_per_person >= 1 && (chunk.rows() == 0 || chunk.has_persons()));
  std::vector<std::size_t> firsts;
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_person(first)) firsts.push_back(first);
  std::vector<RowWeight> weights(chunk.rows(), kWholeRow);
  ThreadTeam team(static_cast<unsigned>(std::clamp<std::size_t>(firsts.size(), 1, threads)));
  team.for_each(firsts.size(), [&](std::size_t person) {
    const std::size_t end = person + 1 < firsts.size() ? firsts[person + 1] : chunk.rows();
    const RowWeight weight = weight_of_person(chunk, firsts[person], end, sum, rows_per_person);
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(firsts[person]),
              weights.begin() + static_cast<std::ptrdiff_t>(end), weight);
  });
  return weights;
}

void remember_products(LatticeRows& chunk) {
  std::vector<std::int32_t> products;
  std::vector<std::size_t> firsts(chunk.rows() + 1);
  for (std::size_t first = 0; first < chunk.rows();) {
    const std::size_t end = chunk.end_of_person(first);
    const std::size_t count = end - first;
    std::fill(firsts.begin() + static_cast<std::ptrdiff_t>(first), firsts.begin() + static_cast<std::ptrdiff_t>(end),
              products.size());
    if (count > 1 && count <= kMostRemembered) {
      append_products({chunk.values() + first * chunk.dim(), count, chunk.dim()}, products);
      std::fill(firsts.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                firsts.begin() + static_cast<std::ptrdiff_t>(end), products.size());
    }
    first = end;
  }
  firsts.back() = products.size();
  chunk.set_products(std::move(products), std::move(firsts));
}

void clip_residuals(const LatticeRows& chunk, std::size_t first, std::span<std::int16_t> residuals, std::size_t classes,
                    std::uint64_t rows_per_person) {
  DPREDUCE_ASSERT(classes >= 1 && residuals.size() % classes == 0);
  const std::size_t count = residuals.size() / classes;
  const std::size_t dim = chunk.dim();
  DPREDUCE_ASSERT(first + count <= chunk.rows());
  if (count <= rows_per_person) return;
  // N <= sum_i |r_i| |q_i| <= S sum_i |r_i|: most persons' residuals are short.
  std::uint64_t lengths = 0;
  for (std::size_t row = 0; row < count; ++row) {
    std::uint64_t squared = 0;
    for (const std::int16_t entry : residuals.subspan(row * classes, classes)) {
      squared += static_cast<std::uint64_t>(std::int32_t{entry} * std::int32_t{entry});
    }
    DPREDUCE_ASSERT(squared <= kSquaredNorm);
    lengths += root_above(squared);
  }
  if (lengths <= rows_per_person * static_cast<std::uint64_t>(kLatticeNorm)) return;

  const PersonRows rows{chunk.values() + first * dim, count, dim};
  std::span<const std::int32_t> products = chunk.products_of_person(first);  // <q_i, q_j>, j <= i
  const bool is_direct =
      products.empty() && (count > kKernelOverhead * classes || count * count / 2 > 2 * classes * dim);
  thread_local SecretVector<std::int32_t> made;
  thread_local SecretVector<std::int64_t> gradient;
  if (!is_direct && products.empty()) {
    made.clear();
    append_products(rows, made);
    products = made;
  }
  const auto squared_of = [&](std::span<const std::int16_t> scaled) {
    if (is_direct) {
      gradient.assign(classes * dim, 0);
      select_kernel().accumulate_product({scaled.data(), count, classes, classes}, {rows.values, count, dim, dim},
                                         {gradient.data(), classes, dim, dim});
      WideSquare squared = 0;
      for (const std::int64_t entry : gradient) squared += square_of(entry);
      return squared;
    }
    const PersonRows factors{scaled.data(), count, classes};
    WideSum sum = 0;
    run_at_full_width([&](auto) {
      std::size_t entry = 0;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          const std::int64_t of_residuals = product_of(factors.row(i), factors.row(j), classes);
          sum += WideSum{of_residuals * products[entry++]} * (i == j ? 1 : 2);
        }
      }
    });
    return static_cast<WideSquare>(sum);
  };
  thread_local SecretVector<std::int16_t> scaled;
  scaled.assign(residuals.begin(), residuals.end());
  clipped_weight(most_squared(rows_per_person, kFourthNorm), [&](RowWeight weight) {
    for (std::size_t row = 0; row < count; ++row) {
      weigh_row(residuals.subspan(row * classes, classes), weight, WeightPower::kWhole,
                std::span(scaled).subspan(row * classes, classes));
    }
    return squared_of(scaled);
  });
  std::copy(scaled.begin(), scaled.end(), residuals.begin());  // those of the weight that was tried last
}

}  // namespace dpreduce
