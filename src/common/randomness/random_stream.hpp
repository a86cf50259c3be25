// Row 0 of a random tape, read once from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/randomness/openssl_ptr.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

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

/// A stream of uniform bytes; equal tapes give equal streams. Movable, not copyable: two copies would be the same noise
/// twice. What it has buffered is overwritten when it goes. One thread at a time.
class RandomStream {
 public:
  explicit RandomStream(std::unique_ptr<BlockSource> tape);
  RandomStream(RandomStream&&) noexcept = default;
  RandomStream& operator=(RandomStream&&) noexcept = default;
  RandomStream(const RandomStream&) = delete;
  RandomStream& operator=(const RandomStream&) = delete;

  /// The next 8 bytes, little-endian. Throws EntropyFailure at the end of the row (2^64 - 1 blocks).
  std::uint64_t next_u64();

  /// out = the next |out| bytes. Throws as next_u64.
  void fill(std::span<std::byte> out);

  /// out = the next |out| whole blocks; returns the column of the first. Skips the rest of a block begun by the two
  /// functions above. Throws as next_u64.
  std::uint64_t take_blocks(std::span<RandomBlock> out);

  /// Moves `blocks` whole blocks ahead, as take_blocks would. Throws as next_u64.
  void skip_blocks(std::uint64_t blocks);

  /// block(row, column): the further digits of a column that was taken. Does not move the stream.
  /// Preconditions: row > 0; column was taken (our own invariants: std::logic_error).
  RandomBlock further_digits(std::uint64_t row, std::uint64_t column);

 private:
  void refill();
  std::uint64_t reserve_blocks(std::uint64_t blocks);
  void drop_buffer();
  const std::byte* buffered_bytes() const { return reinterpret_cast<const std::byte*>(buffer_.data()); }

  std::unique_ptr<BlockSource> tape_;
  std::uint64_t next_column_ = 0;     // the first column that is neither taken nor in the buffer
  SecretVector<RandomBlock> buffer_;  // columns [next_column_ - |buffer_|, next_column_)
  std::size_t cursor_ = 0;            // bytes of the buffer that were read
};

/// Throws EntropyFailure: of who drew the same again and again, which random bytes do not do.
[[noreturn]] void throw_not_random();

}  // namespace dpreduce
