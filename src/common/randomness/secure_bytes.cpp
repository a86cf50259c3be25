#include "common/randomness/secure_bytes.hpp"

#include <algorithm>
#include <limits>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "common/base/error.hpp"

namespace dpreduce {

bool openssl_private_bytes(std::span<std::byte> out) {
  constexpr std::size_t kMostAtOnce = std::numeric_limits<int>::max();
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kMostAtOnce);
    if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) != 1) return false;
    out = out.subspan(count);
  }
  return true;
}

void secure_bytes(std::span<std::byte> out, const EntropySource& source) {
  if (source(out)) return;
  cleanse(out.data(), out.size());
  throw EntropyFailure("no secure random bytes: the system's entropy source failed; nothing was released");
}

void cleanse(void* memory, std::size_t bytes) noexcept {
  OPENSSL_cleanse(memory, bytes);
}

}  // namespace dpreduce
