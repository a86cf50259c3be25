// How many rows each person has over all silos, where silos share a key that the coordinator lacks.
//
// Legend: K the shared key; h(u) what HMAC-SHA256 under a key made of K makes of a person's identifier, the person's
// pseudonym; silo p has m_p(u) rows of u; D = 4 tables of T = 2^18 counts each, h_d(u) the place of u in table d;
// PRF streams of K (noise_key.hpp), of the run and the silo.
//
//     silo         v_p[d, h_d(u)] += m_p(u)                     and e_p, the fingerprint part of v_p under K
//     silo         (v_p, e_p) + PRF(K, run, p)                  leaves as a masked sum of the run, mod 2^64
//     coordinator  the sum over the silos S that stayed, and S, to every silo
//     silo         less the streams of S: v = sum_p v_p, whose fingerprint must be the one that came
//                  m(u) = min_d v[d, h_d(u)]                    >= sum_p m_p(u), exact unless u shares all D places
//
// Whoever lacks K sees a sum that looks random, and cannot change it but with probability 2^-126: a total that were too
// small would let a person weigh more than B. What every silo was told is the same, as all values that a coordinator
// tells; a silo that is not in S goes no further. A total that is too large makes rows count for less, and breaks
// nothing: of n persons one is concerned with probability below (n / T)^4. Silos learn v, and so, of whomever they can
// name, how many rows the others have together.
//
// Whoever has K may change counts, and so no silo may show it to the coordinator (--colluding 0). If one does, a person
// in s silos counts for at most s B: no silo takes a total for less than the rows that it has itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/data/sharded_array.hpp"
#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// The least bytes of a shared key.
inline constexpr std::size_t kFewestKeyBytes = 32;

/// Gives every row the weight weight_of_rows(m(u), rows_per_person). `key_file` is this silo's copy of the shared key;
/// the coordinator has no rows and no `persons`, and reads none. Collective, among silos. Throws BadInput where the
/// file cannot be read or has fewer bytes; AggregationAborted where what the coordinator tells is not what silos have
/// sealed, as with different keys, or this silo is not among those that were counted.
void weigh_over_silos(WorkerRows& rows, std::optional<ShardedArray>& persons, std::uint64_t rows_per_person,
                      const std::string& key_file, Communicator& ranks);

}  // namespace dpreduce
