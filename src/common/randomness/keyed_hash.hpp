// Keyed functions: of names, and of many messages at once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "common/randomness/openssl_ptr.hpp"
#include "common/randomness/random_stream.hpp"

namespace dpreduce {

// Numbers that distinguish names, and reveal nothing else without the key.
//
//     hash(name) = the first 16 bytes of HMAC-SHA256(key, name)
//
// If the names were chosen without knowledge of the key, two of n names collide with probability below n^2 2^-(b+1)
// when b bits are compared, plus the advantage of an attack on HMAC-SHA256.

/// One thread at a time.
class KeyedHash {
 public:
  /// Throws EntropyFailure where OpenSSL has no HMAC-SHA256.
  explicit KeyedHash(std::span<const std::byte, 32> key);

  /// hash(name). Throws EntropyFailure where OpenSSL fails. About a microsecond.
  RandomBlock of(std::string_view name) const;

 private:
  OpenSslPtr<evp_mac_ctx_st> mac_;
};

// A keyed function of many messages at once: AES-256-CBC-MAC, one block of every message a call.
//
//     state_0 = 0        state_t = AES-256_key(state_{t-1} xor block_t)
//
// For messages of one fixed number of blocks the last state is a pseudorandom function of the message: no attack
// distinguishes q of them from random with advantage above about (blocks q)^2 / 2^128 plus what it has against AES-256
// [bellare2000]. Callers must never mix lengths under one key.

class BlockMac {
 public:
  /// Throws EntropyFailure if OpenSSL has no AES-256-ECB.
  explicit BlockMac(std::span<const std::byte, 32> key);

  /// states[m] <- AES(states[m] xor blocks[m]) for every message m. Words are little-endian, as in random_stream.hpp.
  /// Precondition (asserted): equal lengths. One thread at a time.
  void chain(std::span<RandomBlock> states, std::span<const RandomBlock> blocks) const;

 private:
  OpenSslPtr<evp_cipher_ctx_st> cipher_;
};

}  // namespace dpreduce
