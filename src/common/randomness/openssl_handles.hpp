// OpenSSL's objects, owned. For sources that call OpenSSL, and for no other header.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "common/base/error.hpp"

namespace dpreduce {

struct FreeOpenSsl {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const noexcept { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_KDF* function) const noexcept { EVP_KDF_free(function); }
  void operator()(EVP_KDF_CTX* context) const noexcept { EVP_KDF_CTX_free(context); }
  void operator()(BIO* bio) const noexcept { BIO_free_all(bio); }
};

template <typename T>
using OpenSslPtr = std::unique_ptr<T, FreeOpenSsl>;

/// An operation that can fail only where OpenSSL itself does.
inline void require_openssl(bool done, const char* operation) {
  if (!done) throw EntropyFailure(std::string("OpenSSL failed: ") + operation);
}

template <typename Byte>
auto openssl_bytes(Byte* bytes) {
  if constexpr (std::is_const_v<Byte>) {
    return reinterpret_cast<const unsigned char*>(bytes);
  } else {
    return reinterpret_cast<unsigned char*>(bytes);
  }
}

}  // namespace dpreduce
