// AES-256-GCM: bytes that nobody without the key can read, or change without being noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/randomness/secure_bytes.hpp"

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX

namespace dpreduce {

inline constexpr std::size_t kTagBytes = 16;

/// One key. Every message needs a number of its own: the nonce. Message numbers must not repeat under a key.
class SealingKey {
 public:
  /// Throws EntropyFailure.
  explicit SealingKey(std::span<const std::byte> key);
  SealingKey(SealingKey&&) noexcept = default;
  SealingKey& operator=(SealingKey&&) noexcept = default;
  ~SealingKey();

  /// sealed = encryption of plain, then the tag over it and `associated`.
  /// Precondition (asserted): |sealed| = |plain| + kTagBytes, at most 2^31 - 1. They may begin at the same place.
  void seal(std::uint64_t number, std::span<const std::byte> associated, std::span<const std::byte> plain,
            std::span<std::byte> sealed) const;

  /// The reverse. False, and zeros in `plain`, unless the very same key, number and `associated` sealed these bytes.
  /// Precondition (asserted): |plain| + kTagBytes = |sealed|.
  [[nodiscard]] bool open(std::uint64_t number, std::span<const std::byte> associated,
                          std::span<const std::byte> sealed, std::span<std::byte> plain) const;

 private:
  struct FreeCipher {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  using Cipher = std::unique_ptr<evp_cipher_ctx_st, FreeCipher>;
  Cipher encryption_;
  Cipher decryption_;
};

}  // namespace dpreduce
