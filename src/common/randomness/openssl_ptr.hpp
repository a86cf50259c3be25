// Owners of OpenSSL's objects, for headers, which include nothing of OpenSSL but the names of its types.
#pragma once

#include <memory>

#include <openssl/types.h>

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

}  // namespace dpreduce
