#include "network/tls_identity.hpp"

#include <algorithm>
#include <string_view>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/randomness/openssl_handles.hpp"

namespace dpreduce {
namespace {

constexpr long kLargestCertificates = 2048;  // bytes; an Ed25519 certificate has 200

struct FreeCertificate {
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};

// Valid always: nobody looks at the dates.
std::unique_ptr<X509, FreeCertificate> certificate_of(EVP_PKEY* key) {
  std::unique_ptr<X509, FreeCertificate> certificate(X509_new());
  require_openssl(certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                      ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1) == 1 &&
                      ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), "19700101000000Z") == 1 &&
                      ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), "99991231235959Z") == 1 &&
                      X509_set_pubkey(certificate.get(), key) == 1 && X509_sign(certificate.get(), key, nullptr) != 0,
                  "no certificate");
  return certificate;
}

std::optional<PublicKey> ed25519_key_of(X509* certificate) {
  EVP_PKEY* const key = certificate == nullptr ? nullptr : X509_get0_pubkey(certificate);
  if (key == nullptr || EVP_PKEY_id(key) != EVP_PKEY_ED25519) return std::nullopt;
  PublicKey raw{};
  std::size_t length = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, openssl_bytes(raw.data()), &length) != 1 || length != raw.size()) {
    return std::nullopt;
  }
  return raw;
}

}  // namespace

TlsIdentity::TlsIdentity(const Identity& identity, std::vector<PublicKey> accepted)
    : context_(boost::asio::ssl::context::tls), accepted_(std::move(accepted)) {
  SSL_CTX* const context = context_.native_handle();
  EVP_PKEY* const key = identity.key().openssl_key();
  require_openssl(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_use_certificate(context, certificate_of(key).get()) == 1 &&
                      SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_set1_sigalgs_list(context, "ed25519") == 1 &&
                      SSL_CTX_set1_groups_list(context, "X25519") == 1 && SSL_CTX_set_num_tickets(context, 0) == 1,
                  "no TLS 1.3 for this identity");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kLargestCertificates);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const auto accepts = [](X509_STORE_CTX* shown, void* self) -> int {
    auto* const own = static_cast<TlsIdentity*>(self);
    const std::optional<PublicKey> peer = ed25519_key_of(X509_STORE_CTX_get0_cert(shown));
    if (peer && std::ranges::find(own->accepted_, *peer) != own->accepted_.end()) return 1;
    own->refused_ = peer;
    X509_STORE_CTX_set_error(shown, X509_V_ERR_CERT_REJECTED);
    return 0;
  };
  SSL_CTX_set_cert_verify_callback(context, accepts, this);
}

PublicKey peer_key(ssl_st* tls) {
  const std::optional<PublicKey> key = ed25519_key_of(SSL_get0_peer_certificate(tls));
  DPREDUCE_ASSERT(key.has_value());
  return *key;
}

ExportedSecret exported_secret(ssl_st* tls) {
  constexpr std::string_view kLabel = "EXPORTER-dpreduce-line-v1";
  ExportedSecret secret{};
  require_openssl(SSL_export_keying_material(tls, openssl_bytes(secret.data()), secret.size(), kLabel.data(),
                                             kLabel.size(), nullptr, 0, 0) == 1,
                  "no secret of a connection");
  return secret;
}

}  // namespace dpreduce
