// Rows that carry their own noise (input perturbation, local differential privacy): each row is a separate release.
#pragma once

#include <cstddef>
#include <span>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/noise_plan.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// Release "sanitised_row": one lattice row, features = q (d), made for every record separately.
///
/// Sensitivity, squared: the record's features exchanged for any others, |q - q'|^2 <= (2 S)^2. The features of each
/// record are protected against whoever sees its row; neither its label nor its presence is. Source: [shen2021],
/// equation 4, corrected: a public clip norm, the L2 norm, and noise that is calibrated exactly. Preconditions
/// (asserted): dim >= 1.
ReleaseRequest sanitized_row_release(std::size_t dim);

/// Writes out_ia = (q_ia + round(N(0, sigma^2))) / scale, in feature units; noise from `stream`, row after row.
///
/// sigma is in lattice units. With sigma of sanitized_row_release for mu, each row is mu-GDP in the features of its
/// record; rounding to float is post-processing. Shapes: out is rows x d. Preconditions: kSmallestSigma <= sigma <=
/// kLargestSigma; (asserted) the sizes agree. Throws UsageError on sigma, EntropyFailure.
void sanitize(const LatticeRows& rows, double sigma, RandomStream& stream, std::span<float> out);

}  // namespace dpreduce
