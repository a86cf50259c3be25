// A party's TLS 1.3: its certificate's key is its identity.
//
// Every party makes a certificate when it starts, signed by itself, for the Ed25519 key that stands in the roster. So
// TLS proves who is at the other end, in both directions, and no authority is needed. Of a certificate only the key is
// looked at: no name, no date, so that a wrong clock does not matter. Sessions are not resumed, and nothing is sent
// before both ends have proved themselves.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/ssl/context.hpp>

#include "common/masking/identity.hpp"

namespace dpreduce {

class TlsIdentity {
 public:
  /// Accepts these keys, and no others, at the other end.
  TlsIdentity(const Identity& identity, std::vector<PublicKey> accepted);
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  boost::asio::ssl::context& context() { return context_; }

  /// The key that the last handshake has been refused for; nothing where there was another reason. Asked once.
  std::optional<PublicKey> take_refused() { return std::exchange(refused_, std::nullopt); }

 private:
  boost::asio::ssl::context context_;
  std::vector<PublicKey> accepted_;
  std::optional<PublicKey> refused_;
};

/// The key of the certificate that the other end has proved to hold. Precondition: the handshake is done.
PublicKey peer_key(ssl_st* tls);

/// 32 bytes that only the two ends of this connection know (RFC 8446, section 7.5). Precondition as above.
using ExportedSecret = std::array<std::byte, 32>;
ExportedSecret exported_secret(ssl_st* tls);

}  // namespace dpreduce
