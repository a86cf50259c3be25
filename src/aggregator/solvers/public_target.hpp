// A released Gram matrix, cleaned about that of public rows.
//
// Legend: G + N the released d x d matrix, noise s, t its trace (or the noise of that, where it is more); P that of m
// public rows that are prepared alike, divided by its trace, q = |P|_F^2.
//
//     T = t ((1 - a) P + a / d I),   a = min(1, (1 - q) / m / (q - 1 / d))
//     G^ = T + clean(G + N - T)
//
// a is what m rows leave unknown of P, taken out toward the identity. T is a guess that owes nothing to noise. clean
// keeps the eigenvectors of the difference and takes of each eigenvalue what Stein's estimate says is noise
// (gram_spectrum.hpp). So where public rows are like the private ones next to nothing is left of N, and where they are
// not, what the release shows of it beyond its noise corrects them. Sources: [stein1975]; [ledoit2004] for a.
#pragma once

#include "common/lattice/lattice_rows.hpp"
#include "common/plan/released_block.hpp"

namespace dpreduce {

/// G^ as an upper triangle in lattice units. Its noise is said to be a fifth of s: what is left of N, and how far
/// public rows may be trusted. Preconditions (asserted): upper triangles of rows on `lattice`. Cost: 15 d^3 flops, on
/// one thread; without noise none, and `gram` comes back. Throws as GramSpectrum.
ReleasedBlock gram_about_public(const ReleasedBlock& gram, const ReleasedBlock& of_public, const Lattice& lattice);

}  // namespace dpreduce
