// How many rows each person has over all silos, where silos share a key that the coordinator lacks.
//
// Legend: K the shared key; h(u) 112 bits of HMAC-SHA256 under a key made of K of a person's identifier, the person's
// pseudonym; k silos, of which silo p has m_p(u) rows of u; P the most persons of a silo, which is public; PRF streams
// of K (noise_key.hpp), of the run and the silo.
//
//     silo         v_p, a list of P entries (h(u), m_p(u)) at the place of p among the lists of all silos, 0 elsewhere;
//                  entries that no person needs are 0. e_p, the fingerprint part of v_p under K
//     silo         (v_p, e_p) + PRF(K, run, p)                  leaves as a masked sum of the run, mod 2^64
//     coordinator  the sum over the silos S that stayed, and S, to every silo
//     silo         less the streams of S: v = sum_p v_p, all lists, whose fingerprint must be the one that came
//                  m(u) = sum_p m_p(u)
//     silo         requires that the place of p in v holds v_p, before a row of it is summed
//
// Silo p weighs a row by m(u), or clips a person to the part m_p(u) / m(u) of their bound: sum_p m_p(u) / m(u) <= 1.
//
// m(u) is exact: a function of this one person's rows, as the guarantee needs. (Tables that persons share, as sketches
// of counts have them, are not: one person more could change what another counts for.) Two persons of n are taken for
// one with probability below n^2 2^-113.
//
// Whoever lacks K sees words that look random, of a number that is public, and cannot change them but with probability
// 2^-126: a total that were too small would let a person weigh more than B. What every silo was told is the same, as
// all values that a coordinator tells; a silo that is not in S goes no further. Silos learn how many persons each of
// the others has and, of whomever they can name, how many rows.
//
// Whoever has K can seal anything in any place: the fingerprint is linear. So each silo looks at its own place. A silo
// can then list other persons than it has, and change nothing in the lists of the others: over the silos that list what
// they have, a person counts for at most B. A silo that shows the coordinator K, and signs two sums for it, may have
// silos told different lists (--colluding 0). Then a person in s silos counts for at most s B: no silo takes a total
// for less than the rows that it has itself.
#pragma once

#include <cstdint>
#include <string>

#include "persons/person_rows.hpp"

namespace dpreduce {

/// The least bytes of a shared key.
inline constexpr std::size_t kFewestKeyBytes = 32;

/// The count over all silos. `key_file` is this silo's copy of the shared key; the coordinator has no rows and no
/// persons, and reads none. Memory: 16 k P bytes a party, twice. Among silos alone. The count throws UsageError where
/// the lists of all silos are longer than a gibibyte; BadInput where the file cannot be read or has fewer bytes, or
/// this silo has more persons than `persons_of_silo`; AggregationAborted where what the coordinator tells is not what
/// silos have sealed, as with different keys, this silo is not among those that were counted, or another party has
/// written into its place. Precondition (asserted): no coins are needed.
PersonCount count_over_silos(std::uint64_t persons_of_silo, std::string key_file);

}  // namespace dpreduce
