// Row 0 of a random tape, read once from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/randomness/block_source.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

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
