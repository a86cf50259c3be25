// A keyed function of many messages at once: AES-256-CBC-MAC, one block of every message a call.
//
//     state_0 = 0        state_t = AES-256_key(state_{t-1} xor block_t)
//
// For messages of one fixed number of blocks the last state is a pseudorandom function of the message: no attack tells
// q of them from random with advantage above about (blocks q)^2 / 2^128 plus what it has against AES-256
// [bellare2000]. Callers must never mix lengths under one key.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "common/randomness/block_source.hpp"

namespace dpreduce {

class BlockMac {
 public:
  /// Throws EntropyFailure if OpenSSL has no AES-256-ECB.
  explicit BlockMac(std::span<const std::byte, 32> key);

  /// states[m] <- AES(states[m] xor blocks[m]) for every message m. Words are little-endian, as in block_source.hpp.
  /// Precondition (asserted): equal lengths. One thread at a time.
  void chain(std::span<RandomBlock> states, std::span<const RandomBlock> blocks) const;

 private:
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_cipher_ctx_st, FreeCipher> cipher_;
};

}  // namespace dpreduce
