// Common terms of least squares and of the releases of their statistics: shares, the intercept, and the weight of all
// rows beside those of a class (ls.cpp).
#pragma once

#include "methods/fit_options.hpp"

namespace dpreduce {

/// Share of mu^2 for the Gram matrices, shared or by class.
double least_squares_gram_share(const FitOptions& options);

/// Share of C^2 for the intercept coordinate of every row, with two classes or `--center moments`; else 0.
double least_squares_intercept(const FitOptions& options);

/// Weight of all rows relative to a class's own rows: 1 / mu, clamped to [1, 10]. The noise in A_j + alpha G is the
/// same for every alpha. The smaller the budget, the more the noise hides A_j, which has the rows of one class only,
/// and the more weight G should have.
double usual_alpha(const FitOptions& options);

}  // namespace dpreduce
