// Masks: a stream of uniform words that both sides of a secret can make, at any place.
//
//     word w of the stream of a key = half w mod 2 of AES-256-CTR's block w / 2 (randomness/block_source.hpp)
//
// Added to a statistic in Z mod 2^64 it hides every word perfectly, but for the computational distance of AES from
// uniform; the same stream subtracted elsewhere cancels it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/randomness/block_source.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

enum class MaskSign { kAdd, kSubtract };

/// Masks that one party has on one statistic, all of them. The streams of OpenSSL's AES are the reference; if the
/// processor has vector AES (kernels/counter_streams.hpp) the same bits come from there.
class MaskStreams {
 public:
  MaskStreams();
  MaskStreams(MaskStreams&&) noexcept;
  MaskStreams& operator=(MaskStreams&&) noexcept;
  ~MaskStreams();

  /// Adds a mask. Precondition (asserted): |key| = 32. Throws EntropyFailure.
  void add(std::span<const std::byte> key, MaskSign sign);

  /// words +-= every stream's words first_word, first_word + 1, ...
  void apply(std::uint64_t first_word, std::span<std::uint64_t> words);
  /// The same, by the reference alone.
  void apply_reference(std::uint64_t first_word, std::span<std::uint64_t> words);

 private:
  struct Stream {
    AesBlockSource blocks;
    MaskSign sign;
  };
  struct Schedules;  // of the vector kernel; overwritten when they go
  std::vector<Stream> streams_;
  std::unique_ptr<Schedules> schedules_;  // none without the instructions
};

}  // namespace dpreduce
