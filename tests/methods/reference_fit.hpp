// Descent without noise once more, as plain loops over the same lattice rows: the standard library's exponential, no
// kernel, no stream of chunks, no release. Of other methods: tests/cli/reference_test.cpp.
#pragma once

#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/row_transform.hpp"
#include "methods/fit_options.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

struct ReferenceRows {
  Lattice lattice;
  std::size_t classes;
  std::vector<std::vector<std::int16_t>> q;
  std::vector<std::int32_t> labels;
};

/// These rows, one after the other in x, prepared and on the lattice.
ReferenceRows reference_rows(const Preprocessing& prepared, std::span<const float> x, std::vector<std::int32_t> labels,
                             std::size_t classes);

/// W_T, K x d, of gd or global-adapt with their defaults but for loss, rounds and a learning rate, in units of
/// 1 / feature. `intercept` is the share of C^2 that the rows' last coordinate takes. W and residuals are rounded to
/// their lattices, as the method does.
std::vector<double> reference_fit(const ReferenceRows& rows, const FitOptions& options, double intercept);

}  // namespace dpreduce
