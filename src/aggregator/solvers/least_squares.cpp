#include "aggregator/solvers/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include "aggregator/solvers/cleaned_ridge.hpp"
#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostRows = 192;  // with half as many products take a tenth longer

}  // namespace

// Even numbers, so that two ranks have as many of them.
RowGroups::RowGroups(std::size_t count)
    : count_(count), groups_(count <= kMostRows ? 1 : 2 * ((count + 2 * kMostRows - 1) / (2 * kMostRows))) {
  DPREDUCE_ASSERT(count > 0);
}

void RowGroups::make_all(std::span<double> rows, const Make& make) const {
  DPREDUCE_ASSERT(rows.size() % count_ == 0);
  const std::size_t length = rows.size() / count_;
  for (std::size_t group = 0; group < groups_; ++group) {
    const std::size_t first = count_ * group / groups_;
    make(first, rows.subspan(first * length, (count_ * (group + 1) / groups_ - first) * length));
  }
}

void RowGroups::make_on_ranks(Communicator& ranks, std::span<double> rows, const Make& make) const {
  int next = 0;  // rank
  ranks.together([&] {
    make_all(rows, [&](std::size_t first, std::span<double> group) {
      const bool is_own = next == ranks.rank();
      next = (next + 1) % ranks.owners();
      if (is_own) return make(first, group);
      std::ranges::fill(group, 0.0);
    });
  });
  if (ranks.owners() == 1) return ranks.broadcast(rows);
  ranks.sum_everywhere(rows);  // exact: one summand is not 0
}

std::vector<double> in_units(const ReleasedBlock& block, double unit) {
  const std::span<const std::int64_t> values = block.values();
  std::vector<double> scaled(values.size());
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t e = 0; e < values.size(); ++e) scaled[e] = to_double<width>(values[e]) / unit;
  });
  return scaled;
}

namespace {

// Ridge regressions of K classes on one Gram matrix with noise, for each of several ridges.
struct SpectralRidges {
  std::optional<GramSpectrum> spectrum{};
  std::vector<double> class_sums{};  // B, K x d
  std::vector<double> ridges{};
  std::size_t components = 0;

  // All of them for classes from `first` on: of each class one after the other.
  void solve(std::size_t first, std::span<double> solutions) const {
    const std::size_t dim = spectrum->dim();
    const std::size_t length = ridges.size() * dim;
    const std::size_t count = solutions.size() / length;
    const auto coordinates = spectrum->coordinates(std::span(class_sums).subspan(first * dim, count * dim));
    for (std::size_t m = 0; m < ridges.size(); ++m) {
      const auto rows = spectrum->rows_of(coordinates, spectrum->inverse_factors(ridges[m], components));
      for (std::size_t c = 0; c < count; ++c) std::copy_n(&rows[c * dim], dim, &solutions[c * length + m * dim]);
    }
  }
};

}  // namespace

std::vector<std::vector<double>> solve_least_squares(Communicator& ranks, const Release& release,
                                                     const Lattice& lattice, std::size_t classes, double ridge_in_radii,
                                                     std::span<const double> factors, std::size_t components) {
  const RowGroups groups(classes);
  const bool is_shared = groups.are_shared_by(ranks.owners());
  const std::size_t dim = lattice.dim;
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  std::vector<std::vector<double>> solutions(factors.size());
  SpectralRidges problem{.ridges = std::vector<double>(factors.size()), .components = components};
  std::vector<double> by_class;
  const auto solve = [&](std::size_t first, std::span<double> group) { problem.solve(first, group); };
  ranks.at_coordinator([&] {
    const ReleasedBlock& gram = release.block("gram");
    problem.class_sums = in_units(release.block("class_sums"), lattice.scale());
    DPREDUCE_ASSERT(problem.class_sums.size() == classes * dim);
    if (gram.sigma() == 0.0) {
      for (std::size_t m = 0; m < factors.size(); ++m) {
        std::vector<double> matrix = gram_in_units(gram, lattice);
        solutions[m] = problem.class_sums;
        solve_exact_ridge(matrix, factors[m] * one_row, solutions[m]);
      }
      return;
    }
    for (std::size_t m = 0; m < factors.size(); ++m) {
      problem.ridges[m] = factors[m] * (ridge_in_radii * noise_radius_of(gram, lattice) + one_row);
    }
    if (is_shared) return;
    problem.spectrum.emplace(gram, lattice);
    by_class.resize(classes * factors.size() * dim);
    groups.make_all(by_class, solve);
  });
  if (is_shared) {
    ranks.broadcast(problem.ridges);
    if (problem.ridges.front() == 0.0) return solutions;  // no noise
    problem.class_sums.resize(classes * dim);
    ranks.broadcast(problem.class_sums);
    problem.spectrum =
        GramSpectrum::of_owners(ranks, ranks.is_coordinator() ? &release.block("gram") : nullptr, lattice);
    by_class.resize(classes * factors.size() * dim);
    groups.make_on_ranks(ranks, by_class, solve);
  }
  for (auto row = by_class.begin(); row != by_class.end();) {
    for (std::vector<double>& solution : solutions) {
      solution.insert(solution.end(), row, row + static_cast<std::ptrdiff_t>(dim));
      row += static_cast<std::ptrdiff_t>(dim);
    }
  }
  return solutions;
}

namespace {

// Upper triangle of M = (A_j + alpha G) / (1 + alpha), whose noise does not grow with alpha; `unit` is that of a row's
// squares, times 1 + alpha.
std::vector<double> joint_gram(const ReleasedBlock& class_gram, const ReleasedBlock* gram, double alpha, double unit,
                               std::size_t dim) {
  std::vector<double> matrix(dim * dim, 0.0);
  for (std::size_t i = 0; i < dim; ++i) {
    const std::size_t row = triangle_row(i, dim);
    for (std::size_t j = i; j < dim; ++j) {
      double entry = static_cast<double>(class_gram.values()[row + j - i]);
      if (alpha > 0.0) entry += alpha * static_cast<double>(gram->values()[row + j - i]);
      matrix[i * dim + j] = entry / unit;
    }
  }
  return matrix;
}

}  // namespace

std::vector<double> solve_class(const ClassRidge& ridge, const Lattice& lattice, const ReleasedBlock* gram,
                                const ReleasedBlock& class_gram, std::span<const std::int64_t> class_sum) {
  const std::size_t dim = lattice.dim;
  const double alpha = ridge.alpha;
  DPREDUCE_ASSERT(alpha >= 0.0 && std::isfinite(alpha) && ridge.ridge_factor > 0.0);
  DPREDUCE_ASSERT(!ridge.lambda || *ridge.lambda > 0.0);
  DPREDUCE_ASSERT(alpha == 0.0 || (gram != nullptr && gram->values().size() == triangle_elements(dim)));
  DPREDUCE_ASSERT(class_gram.values().size() == triangle_elements(dim) && class_sum.size() == dim);
  const double unit = lattice.scale() * lattice.scale() * (1.0 + alpha);
  std::vector<double> matrix = joint_gram(class_gram, gram, alpha, unit, dim);
  const double sigma = std::hypot(class_gram.sigma(), alpha > 0.0 ? alpha * gram->sigma() : 0.0) / unit;
  const double radius = sigma * std::sqrt(static_cast<double>(dim) / 2.0);
  const double usual = kLsRidgeInRadii * radius + lattice.clip_norm * lattice.clip_norm;
  const double of_matrix = ridge.lambda ? *ridge.lambda / (1.0 + alpha) : ridge.ridge_factor * usual;

  std::vector<double> theta(dim);
  for (std::size_t a = 0; a < dim; ++a) {
    theta[a] = static_cast<double>(class_sum[a]) / (lattice.scale() * (1.0 + alpha));
  }
  solve_cleaned(matrix, radius, of_matrix, theta);
  return theta;
}

}  // namespace dpreduce
