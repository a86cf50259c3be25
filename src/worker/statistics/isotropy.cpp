// Release "isotropy": the Gram matrix of rows along k = 8 fixed directions of random signs, for how evenly rows spread.
//
//     gram = sum_i z_i z_i^T   (k x k, upper triangle),   z = S R q / |R q|,  rounded toward zero
//
// Legend: q a lattice row, S = 32767, R k x d of signs that are a public constant. A row along which R q is 0 counts as
// zero. Projected rows are all of one length, so that the trace is S^2 times their number, less what rounding takes.
//
// Sensitivity, squared: |z| <= S is checked in integers, so that it is that of the release "gram" (gram.hpp).
// Persons: weighed, row by row; rows are all of one length.
// Source: [johnson1984], random projections; signs: [achlioptas2003].
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/plan/empty_statistic.hpp"
#include "common/simulation/counter_random.hpp"
#include "worker/row_sensitivity.hpp"
#include "worker/statistics/gram.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace isotropy_entry {

constexpr std::size_t kDirections = 8;
// For the roundings of a length and of a product.
constexpr double kBelowOne = 1.0 - 0x1p-50;

ReleaseRequest request_of(const ReleaseTerms& terms, double share) {
  ReleaseTerms of_projected = terms;
  of_projected.dim = kDirections;
  ReleaseRequest request = gram_release(of_projected, share);
  request.name = "isotropy";
  return request;
}

// R^T, d x k.
std::vector<std::int32_t> random_signs(std::size_t dim) {
  std::vector<std::int32_t> signs;
  for (std::size_t a = 0; a < dim; ++a) {
    const std::uint64_t bits = mix_bits(a + 1);
    for (std::size_t b = 0; b < kDirections; ++b) signs.push_back((bits >> b & 1) != 0 ? 1 : -1);
  }
  return signs;
}

void project_row(std::span<const std::int16_t> row, std::span<const std::int32_t> signs, std::span<std::int16_t> z) {
  std::array<std::int32_t, kDirections> products{};  // below sqrt(d) S
  run_at_full_width([&](auto) {
    std::array<std::int32_t, kDirections> sums{};
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = 0; b < kDirections; ++b) sums[b] += signs[a * kDirections + b] * std::int32_t{row[a]};
    }
    products = sums;
  });
  double squared = 0.0;
  for (const std::int32_t product : products) squared += static_cast<double>(product) * static_cast<double>(product);
  const double factor = squared > 0.0 ? static_cast<double>(kLatticeNorm) / std::sqrt(squared) * kBelowOne : 0.0;
  std::uint64_t kept = 0;
  for (std::size_t b = 0; b < kDirections; ++b) {
    z[b] = static_cast<std::int16_t>(factor * static_cast<double>(products[b]));
    kept += static_cast<std::uint64_t>(std::int32_t{z[b]} * std::int32_t{z[b]});
  }
  if (kept > kSquaredNorm) std::fill(z.begin(), z.end(), std::int16_t{0});
}

Statistic compute(const ReleaseRequest& request, const StatisticInputs& inputs) {
  Statistic statistic = empty_statistic(request);
  const std::span<std::int64_t> gram = statistic.block(statistic.index_of("gram"));
  const std::vector<std::int32_t> signs = random_signs(inputs.transform.output_dim());
  std::vector<std::int16_t> z(kDirections);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (!chunk.counts(row)) continue;
      project_row(chunk.row(row), signs, z);
      weigh_row(z, chunk.weight(row), WeightPower::kHalf, z);
      auto entry = gram.begin();
      for (std::size_t a = 0; a < kDirections; ++a) {
        for (std::size_t b = a; b < kDirections; ++b) *entry++ += std::int32_t{z[a]} * std::int32_t{z[b]};
      }
    }
  });
  return statistic;
}

}  // namespace isotropy_entry

namespace statistics {
extern constinit const StatisticEntry isotropy{
    "isotropy", TakenAt::kRows, isotropy_entry::request_of, isotropy_entry::compute, cost_of_sums, UnitForm::kWeighed};
}  // namespace statistics

}  // namespace dpreduce
