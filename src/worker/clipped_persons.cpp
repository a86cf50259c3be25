#include "worker/clipped_persons.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
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

  std::span<const std::uint32_t> squared_norms{};  // where they are known: of each

  const std::int16_t* row(std::size_t index) const { return values + index * dim; }
};

inline std::int32_t product_of(const std::int16_t* a, const std::int16_t* b, std::size_t dim) {
  std::int32_t sum = 0;
  for (std::size_t entry = 0; entry < dim; ++entry) sum += std::int32_t{a[entry]} * std::int32_t{b[entry]};
  return sum;
}

// take(i, j, <q_i, q_j>) once for every j <= i, places in `members`. Four products share what they load.
template <typename Take>
void for_each_product(const PersonRows& rows, std::span<const std::size_t> members, const Take& take) {
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

// sum_ij <q_i, q_j>^2 = |sum_i q_i q_i^T|_F^2 over the rows that `members` lists, whose norms are known.
WideSquare squared_gram(const PersonRows& rows, std::span<const std::size_t> members) {
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

// |sum_i q_i|^2 by that sum, whose entries Entry holds, as Square holds the result.
template <typename Entry, typename Square>
WideSquare squared_total(const PersonRows& rows, std::span<const std::size_t> members) {
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

// |sum_i q_i|^2 over these rows, whose norms are known: of a few by their products, of more by their sum.
WideSquare squared_sum(const PersonRows& rows, std::span<const std::size_t> members) {
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

// A person's rows, counted from their first one, in groups that are summed together.
class RowGroups {
 public:
  void all_together(std::size_t count) {
    members_.resize(count);
    std::iota(members_.begin(), members_.end(), std::size_t{0});
    ends_.assign(1, count);
  }

  void by_class(const LatticeRows& chunk, std::size_t first, std::size_t end) {
    places_.clear();
    for (std::size_t row = first; row < end; ++row) {
      for (const std::int32_t label : chunk.classes_of(row)) places_.emplace_back(label, row - first);
    }
    std::sort(places_.begin(), places_.end());
    members_.clear();
    ends_.clear();
    for (std::size_t place = 0; place < places_.size(); ++place) {
      members_.push_back(places_[place].second);
      const bool is_last = place + 1 == places_.size() || places_[place + 1].first != places_[place].first;
      if (is_last) ends_.push_back(place + 1);
    }
  }

  std::size_t size() const { return ends_.size(); }
  std::span<const std::size_t> operator[](std::size_t group) const {
    const std::size_t first = group == 0 ? 0 : ends_[group - 1];
    return std::span(members_).subspan(first, ends_[group] - first);
  }

 private:
  std::vector<std::pair<std::int32_t, std::size_t>> places_;  // class and row
  std::vector<std::size_t> members_;
  std::vector<std::size_t> ends_;  // of groups, in members_
};

// Of the person whose rows are [first, end) of the chunk, which `scaled` gets as far as they are not whole.
RowWeight weight_of_person(const LatticeRows& chunk, std::size_t first, std::size_t end, PersonSum sum,
                           std::uint64_t rows_per_person, std::span<std::int16_t> scaled) {
  const std::size_t count = end - first;
  if (count <= rows_per_person) return kWholeRow;
  const std::size_t dim = chunk.dim();
  thread_local RowGroups groups;
  sum == PersonSum::kGram ? groups.all_together(count) : groups.by_class(chunk, first, end);
  const std::uint64_t one_class = sum == PersonSum::kClassSums ? kSquaredNorm : kFourthNorm;
  const WideSquare most = most_squared(rows_per_person, one_class) *
                          (sum == PersonSum::kGram ? 1 : static_cast<std::uint64_t>(chunk.labels_per_row()));
  WideSquare of_equal_rows = 0;  // N^2, were all rows of a group alike and as long as may be
  for (std::size_t group = 0; group < groups.size(); ++group) {
    of_equal_rows += most_squared(groups[group].size(), one_class);
  }
  if (of_equal_rows <= most) return kWholeRow;

  const WeightPower power = sum == PersonSum::kClassSums ? WeightPower::kWhole : WeightPower::kHalf;
  const std::span whole(chunk.values() + first * dim, count * dim);
  thread_local std::vector<std::uint32_t> squared_norms;
  squared_norms.resize(count);
  for (std::size_t row = 0; row < count; ++row) squared_norms[row] = chunk.squared_norm(first + row);
  return clipped_weight(most, [&](RowWeight weight) {
    if (weight != kWholeRow) weigh_rows(whole, dim, weight, power, scaled, squared_norms);
    const PersonRows rows{weight == kWholeRow ? whole.data() : scaled.data(), count, dim, squared_norms};
    WideSquare squared = 0;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      squared += sum == PersonSum::kClassSums ? squared_sum(rows, groups[group]) : squared_gram(rows, groups[group]);
    }
    return squared;
  });
}

std::size_t products_of_rows(std::size_t count) {
  return count * (count + 1) / 2;
}

// products <- <q_i, q_j> for j <= i.
void make_products(const PersonRows& rows, std::span<std::int32_t> products) {
  thread_local RowGroups groups;
  groups.all_together(rows.count);
  for_each_product(rows, groups[0], [&](std::size_t i, std::size_t j, std::int32_t product) {
    products[i * (i + 1) / 2 + j] = product;
  });
}

// sum_ij <r_i, r_j> <q_i, q_j>, the squared norm of sum_i r_i q_i^T, from <q_i, q_j> for j <= i.
class SquaredGradient {
 public:
  SquaredGradient(std::span<const std::int32_t> products, std::size_t rows, std::size_t classes)
      : products_(products), rows_(rows), classes_(classes), stride_((rows + kRowLanes - 1) / kRowLanes * kRowLanes) {
    if (classes_ > kClassesByRows) return;
    // What <r_i, r_j> is multiplied by: less than 2^31.
    factors_.assign(rows_ * stride_, 0);
    for (std::size_t i = 0, entry = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j <= i; ++j, ++entry) factors_[i * stride_ + j] = products_[entry] * (i == j ? 1 : 2);
    }
    columns_.assign(classes_ * stride_, 0);
  }

  WideSquare of(std::span<const std::int16_t> residuals) {
    return static_cast<WideSquare>(classes_ > kClassesByRows ? by_entries(residuals) : by_rows(residuals));
  }

 private:
  WideSum by_entries(std::span<const std::int16_t> residuals) const {
    thread_local RowGroups groups;
    groups.all_together(rows_);
    WideSum sum = 0;
    for_each_product({residuals.data(), rows_, classes_}, groups[0],
                     [&](std::size_t i, std::size_t j, std::int32_t product) {
                       const std::int64_t of_rows = products_[i * (i + 1) / 2 + j];
                       sum += WideSum{product * of_rows} * (i == j ? 1 : 2);
                     });
    return sum;
  }

  // Sixteen j at a time. A product has magnitude below 2^61: its upper part and its lower 32 bits are summed apart.
  WideSum by_rows(std::span<const std::int16_t> residuals) {
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t c = 0; c < classes_; ++c) columns_[c * stride_ + row] = residuals[row * classes_ + c];
    }
    std::int64_t upper = 0;
    std::int64_t lower = 0;
    run_at_full_width([&](auto) {
      std::int64_t upper_sums[kRowLanes] = {};
      std::int64_t lower_sums[kRowLanes] = {};
      for (std::size_t i = 0; i < rows_; ++i) {
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

  std::span<const std::int32_t> products_;
  std::size_t rows_;
  std::size_t classes_;
  std::size_t stride_;
  SecretVector<std::int32_t> factors_;  // rows x stride_
  SecretVector<std::int32_t> columns_;  // of residuals, classes x stride_
};

// An upper bound of |value|, for value >= 0.
std::uint64_t root_above(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value))) + 1;
}

}  // namespace

std::vector<RowWeight> clipped_weights(const LatticeRows& chunk, PersonSum sum, std::uint64_t rows_per_person,
                                       unsigned threads, std::span<std::int16_t> scaled) {
  DPREDUCE_ASSERT(rows_per_person >= 1 && (chunk.rows() == 0 || chunk.has_persons()));
  DPREDUCE_ASSERT(scaled.empty() || scaled.size() == chunk.rows() * chunk.dim());
  std::vector<std::size_t> firsts;
  for (std::size_t first = 0; first < chunk.rows(); first = chunk.end_of_person(first)) firsts.push_back(first);
  std::vector<RowWeight> weights(chunk.rows(), kWholeRow);
  ThreadTeam team(static_cast<unsigned>(std::clamp<std::size_t>(firsts.size(), 1, threads)));
  team.for_each(firsts.size(), [&](std::size_t person) {
    const std::size_t first = firsts[person];
    const std::size_t end = person + 1 < firsts.size() ? firsts[person + 1] : chunk.rows();
    const std::size_t entries = (end - first) * chunk.dim();
    thread_local SecretVector<std::int16_t> own;
    if (scaled.empty()) own.resize(entries);
    const RowWeight weight =
        weight_of_person(chunk, first, end, sum, rows_per_person,
                         scaled.empty() ? std::span(own) : scaled.subspan(first * chunk.dim(), entries));
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(first), weights.begin() + static_cast<std::ptrdiff_t>(end),
              weight);
  });
  return weights;
}

void remember_products(LatticeRows& chunk, unsigned threads) {
  struct Person {
    std::size_t first;
    std::size_t count;
  };
  std::vector<Person> persons;
  std::vector<std::size_t> firsts(chunk.rows() + 1);
  std::size_t entries = 0;
  for (std::size_t first = 0; first < chunk.rows();) {
    const std::size_t end = chunk.end_of_person(first);
    const std::size_t count = end - first;
    firsts[first] = entries;
    if (count > 1 && count <= kMostRemembered) {
      persons.push_back({first, count});
      entries += products_of_rows(count);
    }
    std::fill(firsts.begin() + static_cast<std::ptrdiff_t>(first) + 1,
              firsts.begin() + static_cast<std::ptrdiff_t>(end), entries);
    first = end;
  }
  firsts.back() = entries;
  std::vector<std::int32_t> products(entries);
  ThreadTeam team(static_cast<unsigned>(std::clamp<std::size_t>(persons.size(), 1, threads)));
  team.for_each(persons.size(), [&](std::size_t place) {
    const auto [first, count] = persons[place];
    make_products({chunk.values() + first * chunk.dim(), count, chunk.dim(), {}},
                  std::span(products).subspan(firsts[first], products_of_rows(count)));
  });
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

  const PersonRows rows{chunk.values() + first * dim, count, dim, {}};
  std::span<const std::int32_t> products = chunk.products_of_person(first);  // <q_i, q_j>, j <= i
  const bool is_direct =
      products.empty() && (count > kKernelOverhead * classes || count * count / 2 > 2 * classes * dim);
  thread_local SecretVector<std::int32_t> made;
  if (!is_direct && products.empty()) {
    made.resize(products_of_rows(count));
    make_products(rows, made);
    products = made;
  }
  std::optional<SquaredGradient> by_products;
  if (!is_direct) by_products.emplace(products, count, classes);
  thread_local SecretVector<std::int64_t> gradient;
  const auto squared_of = [&](std::span<const std::int16_t> scaled) {
    if (by_products) return by_products->of(scaled);
    gradient.assign(classes * dim, 0);
    select_kernel().accumulate_product({scaled.data(), count, classes, classes}, {rows.values, count, dim, dim},
                                       {gradient.data(), classes, dim, dim});
    WideSquare squared = 0;
    for (const std::int64_t entry : gradient) squared += square_of(entry);
    return squared;
  };
  thread_local SecretVector<std::int16_t> scaled;
  scaled.resize(residuals.size());
  std::vector<std::uint32_t> squared_norms(count);
  const RowWeight found = clipped_weight(most_squared(rows_per_person, kFourthNorm), [&](RowWeight weight) {
    if (weight == kWholeRow) return squared_of(residuals);
    weigh_rows(residuals, classes, weight, WeightPower::kWhole, scaled, squared_norms);
    return squared_of(scaled);
  });
  if (found != kWholeRow) std::copy(scaled.begin(), scaled.end(), residuals.begin());  // those that were tried last
}

}  // namespace dpreduce
