#include "common/randomness/secure_bytes.hpp"

#include <algorithm>
#include <limits>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include "common/base/error.hpp"
#include "common/randomness/openssl_ptr.hpp"

namespace dpreduce {

bool openssl_private_bytes(std::span<std::byte> out) {
  constexpr std::size_t kMostAtOnce = std::numeric_limits<int>::max();
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kMostAtOnce);
    if (RAND_priv_bytes(openssl_bytes(out.data()), static_cast<int>(count)) != 1) return false;
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

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define DPREDUCE_FREED_BY(type, function)                     \
  void FreeOpenSsl::operator()(type* object) const noexcept { \
    function(object);                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)
DPREDUCE_FREED_BY(evp_pkey_st, EVP_PKEY_free)
DPREDUCE_FREED_BY(evp_pkey_ctx_st, EVP_PKEY_CTX_free)
DPREDUCE_FREED_BY(evp_md_ctx_st, EVP_MD_CTX_free)
DPREDUCE_FREED_BY(evp_cipher_ctx_st, EVP_CIPHER_CTX_free)
DPREDUCE_FREED_BY(evp_kdf_st, EVP_KDF_free)
DPREDUCE_FREED_BY(evp_kdf_ctx_st, EVP_KDF_CTX_free)
DPREDUCE_FREED_BY(evp_mac_st, EVP_MAC_free)
DPREDUCE_FREED_BY(evp_mac_ctx_st, EVP_MAC_CTX_free)
DPREDUCE_FREED_BY(bio_st, BIO_free_all)
DPREDUCE_FREED_BY(x509_st, X509_free)

}  // namespace dpreduce
