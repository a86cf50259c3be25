// Many AES-256 counter-mode streams onto one array, in one pass: the hot path of masked sums.
//
// Legend: stream i of key k_i is AES-256_{k_i}(0 || c) for c = 0, 1, ..., the counter in 64 bits, big-endian, read as
// two little-endian words a block (randomness/random_stream.hpp, row 0).
//
//     words[w] <- words[w] +- sum_i stream_i[2 c_0 + w]
//
// With the vector instructions for AES (VAES, 512 bits) words stay in registers while all streams go over them; time
// depends on lengths alone. Without them the caller makes the streams one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dpreduce {

/// Words that one step takes: 32 blocks.
inline constexpr std::size_t kStreamStep = 64;

/// The 15 round keys of AES-256. As secret as the key.
struct alignas(64) AesSchedule {
  std::array<std::byte, 240> round_keys;
};

enum class StreamSign { kAdd, kSubtract };

struct CounterStream {
  const AesSchedule* schedule;
  StreamSign sign;
};

/// Returns whether this processor has the instructions that the two functions below need.
bool has_vector_aes();

/// Precondition: has_vector_aes().
AesSchedule expand_aes256_key(std::span<const std::byte, 32> key);

/// Preconditions (asserted): has_vector_aes(); |words| is a multiple of kStreamStep.
void apply_counter_streams(std::span<const CounterStream> streams, std::uint64_t first_block,
                           std::span<std::uint64_t> words);

}  // namespace dpreduce
