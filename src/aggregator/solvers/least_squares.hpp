// Ridge regression on one-hot labels from one released Gram matrix and class sums.
//
//     W = B (G + ridge I)^-1        B = class sums (K x d), G the cleaned Gram matrix (gram_spectrum.hpp)
//
// argmin_W sum_i |W x_i - onehot(y_i)|^2 + ridge |W|^2. Post-processing of release "least_squares".
#pragma once

#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// For each of `factors` W, K x d, in units of 1 / feature. ridge = factor (ridge_in_radii * w + C^2), w the noise's
/// radius: with factor 1 as much as noise alone makes of a direction that no row has, and one row.
/// Preconditions: `release` has gram and class_sums; ridge_in_radii >= 0; factors > 0.
std::vector<std::vector<double>> solve_least_squares(const Release& release, const Lattice& lattice,
                                                     double ridge_in_radii, std::span<const double> factors);

/// A released block in units of its lattice: values / unit.
std::vector<double> in_units(const ReleasedBlock& block, double unit);

}  // namespace dpreduce
