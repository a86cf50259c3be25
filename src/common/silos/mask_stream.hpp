// Mask stream: uniform words that both owners of a secret can generate, from any place of the stream on.
//
//     word w of the stream of a key = half w mod 2 of AES-256-CTR's block w / 2 (randomness/random_stream.hpp)
//
// The stream, added to a statistic in Z mod 2^64, hides every word perfectly, but for the computational distance of AES
// from uniform. The same stream subtracted elsewhere cancels it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/kernels/counter_streams.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

using MaskSign = StreamSign;

/// All masks that one party has on one statistic. The streams of OpenSSL's AES are the reference. If the processor has
/// vector AES, kernels/counter_streams.hpp computes the same bits.
class MaskStreams {
 public:
  /// Adds a mask. Precondition (asserted): |key| = 32. Throws EntropyFailure.
  void add(std::span<const std::byte> key, MaskSign sign);

  /// words +-= every stream's words first_word, first_word + 1, ...
  void apply(std::uint64_t first_word, std::span<std::uint64_t> words);
  /// Computes the same as apply(), by the reference alone.
  void apply_reference(std::uint64_t first_word, std::span<std::uint64_t> words);

 private:
  struct Stream {
    AesBlockSource blocks;
    MaskSign sign;
  };
  std::vector<Stream> streams_;
  SecretVector<AesSchedule> schedules_;  // of the vector kernel, one a stream; none without the instructions
};

}  // namespace dpreduce
