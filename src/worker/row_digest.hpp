// Digest that distinguishes multisets of labeled rows without revealing anything about them. A statistic of several
// passes over rows uses it to detect that rows changed between passes.
//
// Legend: q a lattice row (d integers); Y its classes (at most k, in k slots); R a secret L x d matrix of independent
// integers, uniform in [-S, S]; F a secret pseudorandom function into 256 bits.
//
//     h(q) = R q  (L exact integer products)        digest = sum over rows of F(h(q), Y), in four words mod 2^64
//
// A row that is not whole (row_units.hpp), with weight w, has F'(F(h(q), Y), w) instead, where F' is another such
// function.
//
// The digest is a sum, so that neither the order of rows nor their spread over ranks matters. Ranks add up their
// digests.
//
// Proof that different multisets of rows have different digests. The secrets are drawn anew for each release, and stay
// in the memory of the parties that sum rows; nobody who chooses records sees a digest.
//   1. Rows q != q' differ in some feature a. For any values of the other entries of R, at most one value of R_la makes
//      <R_l, q> = <R_l, q'>: probability 1 / (2 S + 1) a lane, below 2^-127 for L = 8. This is the universal hash of
//      [carter1979] with short coefficients, over the integers, so that the kernel of all other products
//      computes it. Among n rows some pair collides with probability below n^2 2^-128.
//   2. Otherwise different (q, Y) are different inputs of F, and F is as good as random (AES-256). Let m, m' be the
//      multiplicities of rows in two data sets, c = m - m' != 0 somewhere. For a random F the sum of c_x F(x) is 0 in
//      one word with probability at most 2^k / 2^64, 2^k the largest power of two that divides some c_x != 0: below
//      (n / 2^64)^4 in four words; if one row is added, removed or changed, 2^-256.
// ([bellare1997], AdHash; [clarke2003], MSet-Add-Hash, keyed.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/data/row_units.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

/// Digest: four words mod 2^64, added word by word. Private: whoever has the key can test guessed rows.
using RowDigest = std::array<std::uint64_t, 4>;

/// Number of lanes, L.
inline constexpr std::size_t kDigestLanes = 8;

/// Keyed hash of rows, summed to digests.
class RowHasher {
 public:
  /// Derives R and F from `secret`, the same on every rank, for rows of `dim` integers.
  RowHasher(std::span<const std::byte, 32> secret, std::size_t dim);

  std::size_t dim() const { return dim_; }

  /// Adds F(h(q), Y) of each row of the chunk that counts, with its weight, if rows have `weights`, to by_class[y], for
  /// every class y of Y. The result has the same bits for any order of the rows, any chunks, any number of threads.
  /// Cost: 8 n d multiply-adds and (4 + 2 k) n AES blocks. Preconditions (asserted): rows of dim() entries; every label
  /// < |by_class|.
  void accumulate(const LatticeRows& chunk, std::span<const RowWeight> weights, std::span<RowDigest> by_class,
                  unsigned threads) const;

 private:
  std::vector<RowDigest> of_rows(const LatticeRows& chunk, std::span<const RowWeight> weights, unsigned threads) const;

  std::size_t dim_;
  SecretVector<std::int16_t> coefficients_;  // R, row-major
  BlockMac mac_;
  BlockMac weight_mac_;
};

}  // namespace dpreduce
