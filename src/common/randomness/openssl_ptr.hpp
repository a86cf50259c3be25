// Owners of OpenSSL's objects, for headers, which do not include OpenSSL's.
#pragma once

#include <memory>

struct evp_pkey_st;
struct evp_pkey_ctx_st;
struct evp_md_ctx_st;
struct evp_cipher_ctx_st;
struct evp_kdf_st;
struct evp_kdf_ctx_st;
struct evp_mac_st;
struct evp_mac_ctx_st;
struct bio_st;
struct x509_st;

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
