// Training rounds once more, as plain loops over the same lattice rows: the standard library's exponential, Gaussian
// elimination for every inverse, no kernel, no stream of chunks, no release. Without noise.
#pragma once

#include "common/lattice/lattice_rows.hpp"
#include "methods/fit_options.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

struct ReferenceRows {
  Lattice lattice;
  std::size_t classes;
  std::vector<std::vector<std::int16_t>> q;
  std::vector<std::int32_t> labels;
  std::vector<double> curvature{};  ///< of fc: E, d x d, with the intercept
};

/// Class sums without the last coordinate, K x (d - 1), as unit vectors.
std::vector<double> reference_prototypes(const ReferenceRows& rows);

/// W_T, K x d, of the method of `options` with its defaults, in units of 1 / feature. `intercept` is the share of C^2
/// that the rows' last coordinate takes. W and residuals are rounded to their lattices, as the method does.
std::vector<double> reference_fit(const ReferenceRows& rows, const FitOptions& options, double intercept);

}  // namespace dpreduce
