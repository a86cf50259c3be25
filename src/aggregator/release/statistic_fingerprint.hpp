// A number that distinguishes exact statistics without revealing anything about them. Partial sums carry it sealed, and
// silos under an engine carry it masked, so that words changed in transit are detected (fit/traveling_plan.hpp,
// fit/masked_silo.cpp).
//
// Legend: S the statistic over all ranks (N integers of 64 bits), p = 2^127 - 1 (prime), r secret and uniform in F_p^N.
//
//     fingerprint(S) = sum_e r_e S_e mod p
//
// The fingerprint is linear, so that ranks add up their parts' fingerprints, and the sum does not depend on how rows
// are spread. Different integers of 64 bits differ mod p, so for S != T fixed before r is drawn, P[equal] = 1 / p
// [carter1979]. Elements in units of 2^-b count as S_e / 2^b mod p, which distinguishes them as well; whole numbers in
// such units have the fingerprint that they have in units of 1. The coefficients of partial sums come from the
// session's secret: a party without it learns nothing. Those of silos are no secret: they detect mistakes, and silos
// mask the fingerprint.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/ledger/statistic.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

/// A rank's part in digits of 32 bits, lowest first, so that up to 2^32 ranks' parts add up without overflow.
using FingerprintPart = std::array<std::uint64_t, 4>;

/// The part of one rank's `local`, with coefficients read from `coefficients`: the same stream on every rank.
/// Elements are read as integers of 64 bits with sign. Cost: N products mod p, 16 N bytes of the stream.
FingerprintPart fingerprint_part(const Statistic& local, RandomStream& coefficients);

/// The fingerprint of the whole, 32 hex digits, from the element-wise sum of all ranks' parts.
std::string fingerprint_of(const FingerprintPart& summed);

}  // namespace dpreduce
