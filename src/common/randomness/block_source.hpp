// The random tape: a table of independent uniform 128-bit blocks, block(row, column), fixed before anyone reads it.
//
//              column 0   column 1   column 2   ...
//     row 0      b00        b01        b02             read from left to right: the stream
//     row 1      b10        b11        b12             further binary digits of whatever column c began in row 0,
//     row 2      b20        b21        b22             read only when the digits above them do not decide
//
// Since a column's further digits have a place of their own, how many of them somebody happens to read changes nothing
// for the next column. A sampler's result is thereby a function of the tape, and every correct way of computing it
// (scalar, vector, more or less precise) gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/randomness/openssl_ptr.hpp"

namespace dpreduce {

struct RandomBlock {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  friend bool operator==(const RandomBlock&, const RandomBlock&) = default;
};

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// out[c] = block(row, first_column + c). Precondition: first_column + |out| <= 2^64.
  virtual void read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) = 0;
};

/// block(row, column) = AES-256_key(row || column), both big-endian: one row is AES-256-CTR from counter row * 2^64.
/// Words are little-endian. For q blocks read, no attack distinguishes them from uniform with advantage above q^2 /
/// 2^129 plus what it has against AES-256.
class AesBlockSource final : public BlockSource {
 public:
  /// Throws EntropyFailure if OpenSSL has no AES-256-CTR.
  explicit AesBlockSource(std::span<const std::byte, 32> key);
  void read(std::uint64_t row, std::uint64_t first_column, std::span<RandomBlock> out) override;

 private:
  OpenSslPtr<evp_cipher_ctx_st> cipher_;
};

}  // namespace dpreduce
