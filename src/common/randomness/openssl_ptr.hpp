// Owners of OpenSSL's objects, for headers, which include nothing of OpenSSL but the names of its types; and what all
// callers of OpenSSL share.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include <openssl/types.h>

#include "common/base/error.hpp"

namespace dpreduce {

struct FreeOpenSsl {
  void operator()(evp_pkey_st* object) const noexcept;
  void operator()(evp_pkey_ctx_st* object) const noexcept;
  void operator()(evp_md_ctx_st* object) const noexcept;
  void operator()(evp_cipher_ctx_st* object) const noexcept;
  void operator()(evp_kdf_st* object) const noexcept;
  void operator()(evp_kdf_ctx_st* object) const noexcept;
  void operator()(evp_mac_st* object) const noexcept;
  void operator()(evp_mac_ctx_st* object) const noexcept;
  void operator()(bio_st* object) const noexcept;
  void operator()(x509_st* object) const noexcept;
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
