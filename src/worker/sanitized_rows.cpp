#include "worker/sanitized_rows.hpp"

#include "common/base/error.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/statistic_entry.hpp"

namespace dpreduce {

ReleaseRequest sanitized_row_release(std::size_t dim) {
  DPREDUCE_ASSERT(dim >= 1);
  return {.name = "sanitised_row",
          .share = 1.0,
          .blocks = {{"features", dim, 1.0}},
          .profiles = {{"other features", {4 * kSquaredNorm}}}};
}

void sanitize(const LatticeRows& rows, double sigma, RandomStream& stream, std::span<float> out) {
  DPREDUCE_ASSERT(out.size() == rows.rows() * rows.dim());
  const double scale = rows.lattice().scale();
  SecretVector<std::int64_t> noise(rows.dim());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    fill_rounded_gaussian(stream, sigma, noise);
    const std::span<const std::int16_t> q = rows.row(row);
    for (std::size_t a = 0; a < q.size(); ++a) {
      out[row * rows.dim() + a] = static_cast<float>(static_cast<double>(q[a] + noise[a]) / scale);
    }
  }
}

}  // namespace dpreduce
