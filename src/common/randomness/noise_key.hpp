// Secret from which independent streams follow, and the coins of rows that are drawn by such a stream.
//
//     stream = PRF(secret key, purpose || context)
//
// Noise is such a stream, under a key that each release draws anew and that ends with it (ReleaseKey); under a seed
// keys follow from the seed. Privacy is thereby as good as a computation can make it (AES-256, HMAC-SHA256).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/randomness/random_stream.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

/// 32 secret bytes. Movable, not copyable, not printable; overwritten when it goes.
class NoiseKey {
 public:
  /// 32 bytes of `source`. Throws EntropyFailure.
  static NoiseKey from_entropy(const EntropySource& source = openssl_private_bytes);

  /// SHA-256("dpreduce noise key from seed v1" || 0 || seed, 8 bytes little-endian): repeatable, hence not private.
  static NoiseKey from_seed(std::uint64_t seed);

  /// A key of these bytes.
  static NoiseKey from_bytes(std::span<const std::byte, 32> bytes);

  NoiseKey(NoiseKey&&) noexcept = default;
  NoiseKey& operator=(NoiseKey&&) noexcept = default;
  NoiseKey(const NoiseKey&) = delete;
  NoiseKey& operator=(const NoiseKey&) = delete;
  friend std::ostream& operator<<(std::ostream&, const NoiseKey&) = delete;

  /// The tape of (purpose, context): AES-256-CTR under
  ///
  ///     HMAC-SHA256(key, "dpreduce stream v1" || 0 || |purpose| || purpose || |context| || context),
  ///
  /// lengths as 8 bytes little-endian. Tapes of different pairs are independent (PRF); the same pair gives the same
  /// tape again, so a pair must never serve two different releases.
  AesBlockSource tape(std::string_view purpose, std::span<const std::byte> context) const;
  /// The stream on that tape, from its beginning.
  RandomStream stream(std::string_view purpose, std::span<const std::byte> context) const;

 private:
  explicit NoiseKey(SecretVector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  SecretVector<std::byte> bytes_;  // 32, or none after a move: a moved-from key derives nothing
};

// Poisson sample of rows: a secret coin for every row, with the same outcome on whichever rank it is tossed.
//
//     row g is drawn  <=>  word g of the sample's stream < floor(q 2^64)        g: place among the rows of all ranks
//
// Rows are drawn independently, each with probability floor(q 2^64) / 2^64: q itself from 2^-12 on, below it less than
// q by at most 2^-64. What holds at rate q holds at every smaller one, so that accounting uses q.
//
// The words are AES-256 in counter mode under the sample's secret. Any rank can begin at its own first row, in constant
// memory. Rows keep their coins for any spread over ranks, as long as their order is the same; files named in another
// order give other coins of the same probability.
//
// A unit of privacy with several rows has one coin, that of the place of its first row among the rows of all ranks: all
// its rows are drawn, on every rank, or none. First rows of different units have different places, so that units are
// drawn independently, each with probability floor(q 2^64) / 2^64.

/// The coins of consecutive rows, from left to right.
class RowCoins {
 public:
  /// The coins of rows first_row, first_row + 1, ... of the sample with that secret, which serves no other purpose.
  /// Precondition (asserted): 0 < rate < 1. Throws EntropyFailure.
  RowCoins(std::span<const std::byte, 32> secret, double rate, std::uint64_t first_row);

  /// Returns whether the next row is drawn. Throws EntropyFailure.
  bool next() { return stream_.next_u64() < threshold_; }

 private:
  RandomStream stream_;
  std::uint64_t threshold_;
};

/// Data of a sample that a rank needs.
struct RowSample {
  SecretVector<std::byte> secret;  ///< 32 bytes, the same on every rank
  double rate;                     ///< q, below 1
  std::uint64_t first_row;         ///< place of this rank's first row among the rows of all ranks

  /// Returns for every unit whether it is drawn, by the places of their first rows. Equal places have one coin. Cost:
  /// 16 blocks of AES a unit, fewer where places rise by little. Throws EntropyFailure.
  std::vector<char> drawn_units(std::span<const std::uint64_t> first_rows) const;

  RowCoins coins() const { return {std::span<const std::byte, 32>(secret), rate, first_row}; }
};

}  // namespace dpreduce
