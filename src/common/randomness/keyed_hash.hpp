// Names to numbers that tell them apart, and tell nobody without the key anything else.
//
//     hash(name) = the first 16 bytes of HMAC-SHA256(key, name)
//
// Under a key that whoever chose the names did not know, two names of n have one hash with probability below
// n^2 2^-(b+1) where b bits are compared, plus what an attack has against HMAC-SHA256.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "common/randomness/block_source.hpp"

struct evp_mac_ctx_st;

namespace dpreduce {

/// One thread at a time.
class KeyedHash {
 public:
  /// Throws EntropyFailure where OpenSSL has no HMAC-SHA256.
  explicit KeyedHash(std::span<const std::byte, 32> key);

  /// hash(name). Throws EntropyFailure where OpenSSL fails. About a microsecond.
  RandomBlock of(std::string_view name) const;

 private:
  struct FreeMac {
    void operator()(evp_mac_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_mac_ctx_st, FreeMac> mac_;
};

}  // namespace dpreduce
