// Rows that carry their own noise (input perturbation, local differential privacy): each is a release of its own.
#pragma once

#include <span>

#include "common/lattice/lattice_rows.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// out_ia = (q_ia + round(N(0, sigma^2))) / scale, in feature units; noise from `stream`, row after row.
///
/// sigma in lattice units. With sigma of sanitised_row_release for mu, each row is mu-GDP in the features of its
/// record; rounding to float is post-processing. Shapes: out is rows x d. Preconditions: kSmallestSigma <= sigma <=
/// kLargestSigma; (asserted) the sizes agree. Throws UsageError on sigma, EntropyFailure.
void sanitise(const LatticeRows& rows, double sigma, RandomStream& stream, std::span<float> out);

}  // namespace dpreduce
