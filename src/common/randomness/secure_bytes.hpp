// Secure random bytes, and memory that is erased after use.
//
// All unpredictable values come from here, and only from OpenSSL's private generator. There is no second source, no
// retry and no fallback: a run without entropy ends.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/base/huge_pages.hpp"

namespace dpreduce {

/// Fills the whole span with independent uniform bytes and returns true, or returns false.
using EntropySource = std::function<bool(std::span<std::byte>)>;

/// OpenSSL's RAND_priv_bytes: the generator that OpenSSL keeps for values that stay secret.
bool openssl_private_bytes(std::span<std::byte> out);

/// out = |out| independent uniform bytes of `source`.
///
/// Throws EntropyFailure if the source fails; it is asked once, and `out` then holds zeros.
void secure_bytes(std::span<std::byte> out, const EntropySource& source = openssl_private_bytes);

/// Overwrites with zeros, in a way that the compiler may not leave out (OPENSSL_cleanse).
void cleanse(void* memory, std::size_t bytes) noexcept;

/// Hands out memory and overwrites it before giving it back.
template <class T>
struct CleansingAllocator {
  using value_type = T;

  CleansingAllocator() = default;
  template <class U>
  CleansingAllocator(const CleansingAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) { return HugePageAllocator<T>().allocate(count); }
  void deallocate(T* memory, std::size_t count) noexcept {
    cleanse(memory, count * sizeof(T));
    HugePageAllocator<T>().deallocate(memory, count);
  }
  friend bool operator==(const CleansingAllocator&, const CleansingAllocator&) { return true; }
};

/// For keys and for noise that is still secret.
template <class T>
using SecretVector = std::vector<T, CleansingAllocator<T>>;

}  // namespace dpreduce
