// Masks: a stream of uniform words that both sides of a secret can make, at any place.
//
//     word w of the stream of a key = half w mod 2 of AES-256-CTR's block w / 2 (randomness/block_source.hpp)
//
// Added to a statistic in Z mod 2^64 it hides every word perfectly, but for the computational distance of AES from
// uniform; the same stream subtracted elsewhere cancels it.
#pragma once

#include <cstdint>
#include <span>

#include "dpreduce/randomness/block_source.hpp"
#include "dpreduce/randomness/secure_bytes.hpp"

namespace dpreduce {

enum class MaskSign { kAdd, kSubtract };

class MaskStream {
 public:
  /// Precondition (asserted): |key| = 32. Errors: EntropyFailure.
  MaskStream(std::span<const std::byte> key, MaskSign sign);

  /// words +-= the stream's words first_word, first_word + 1, ...  Cost: AES-256-CTR at about 5 GB/s a core.
  void apply(std::uint64_t first_word, std::span<std::uint64_t> words);

 private:
  AesBlockSource blocks_;
  MaskSign sign_;
};

}  // namespace dpreduce
