#include "network/tls_connection.hpp"

#include <algorithm>
#include <cstdint>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/endian/conversion.hpp>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/randomness/openssl_ptr.hpp"

namespace dpreduce {

std::string NetworkAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

NetworkAddress parse_address(std::string_view option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  NetworkAddress address;
  if (colon != std::string::npos) {
    address = {text.substr(0, colon), text.substr(colon + 1)};
    if (address.host.starts_with('[') && address.host.ends_with(']')) {
      address.host = address.host.substr(1, address.host.size() - 2);
    } else if (address.host.find(':') != std::string::npos) {
      address.host.clear();  // of IPv6, without brackets
    }
  }
  const bool is_host = !address.host.empty() && std::ranges::none_of(address.host, [](char character) {
    return character <= ' ' || character == '/' || character == '@';
  });
  if (is_host && plain_number<std::uint16_t>(address.port)) return address;
  throw UsageError(
      "{} {}: must be HOST:PORT, e.g. hub.example.org:7000, 0.0.0.0:7000 or [::]:7000, with a port to 65535", option,
      text);
}

namespace {

constexpr long kLargestCertificates = 2048;  // bytes; an Ed25519 certificate has 200

// Valid always: nobody looks at the dates.
OpenSslPtr<X509> certificate_of(EVP_PKEY* key) {
  OpenSslPtr<X509> certificate(X509_new());
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
  EVP_PKEY* const key = identity.openssl_key();
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

namespace {

// A record of TLS: its type, version (2 bytes) and length (2); in it a message of the handshake: its type and length
// (3).
constexpr std::size_t kRecordHeader = 5;
constexpr std::byte kHandshakeRecord{22};
constexpr std::byte kMajorVersion{3};
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::byte kClientHello{1};

constexpr std::size_t kReadAtOnce = std::size_t{16} << 10;  // a record of TLS holds no more

std::string remote_of(const TlsConnection::Socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "an address that no longer exists"
               : fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

}  // namespace

std::string words_of(const boost::system::error_code& error) {
  if (error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated) {
    return "the connection was closed";
  }
  return error.message();
}

TlsConnection::TlsConnection(Socket socket) : socket_(std::move(socket)), remote_(remote_of(*socket_)) {
  // Kernels ask each other, whatever the processes do: a machine that is gone is noticed in about 20 seconds.
  constexpr std::array<std::array<int, 3>, 5> kOptions{{{IPPROTO_TCP, TCP_NODELAY, 1},
                                                        {SOL_SOCKET, SO_KEEPALIVE, 1},
                                                        {IPPROTO_TCP, TCP_KEEPIDLE, 5},
                                                        {IPPROTO_TCP, TCP_KEEPINTVL, 3},
                                                        {IPPROTO_TCP, TCP_KEEPCNT, 5}}};
  for (const auto& [level, name, value] : kOptions) {
    ::setsockopt(socket_->native_handle(), level, name, &value, sizeof(value));
  }
}

void TlsConnection::read_hello(std::function<void(const std::string&)> then) {
  incoming_.resize(kRecordHeader);
  boost::asio::async_read(*socket_, boost::asio::buffer(incoming_),
                          [self = shared_from_this(), then = std::move(then)](auto error, std::size_t) {
                            if (self->is_closed_) return;
                            if (error) return then(words_of(error));
                            self->read_hello_body(then);
                          });
}

void TlsConnection::read_hello_body(std::function<void(const std::string&)> then) {
  const std::size_t length = boost::endian::load_big_u16(openssl_bytes(&incoming_[3]));
  if (incoming_[0] != kHandshakeRecord || incoming_[1] != kMajorVersion || length < kHandshakeHeader ||
      length > kLongestHello) {
    return then("its first bytes are not a TLS hello");
  }
  incoming_.resize(kRecordHeader + length);
  boost::asio::async_read(*socket_, boost::asio::buffer(incoming_) + kRecordHeader,
                          [self = shared_from_this(), then = std::move(then), length](auto error, std::size_t) {
                            if (self->is_closed_) return;
                            if (error) return then(words_of(error));
                            const std::byte* const hello = &self->incoming_[kRecordHeader];
                            const bool is_whole =
                                hello[0] == kClientHello &&
                                boost::endian::load_big_u24(openssl_bytes(hello + 1)) + kHandshakeHeader <= length;
                            then(is_whole ? "" : "its first record is not a complete TLS hello");
                          });
}

void TlsConnection::handshake(TlsIdentity& identity, Side side, std::function<void(const std::string&)> done) {
  if (is_closed_) return;
  stream_.emplace(std::move(*socket_), identity.context());
  socket_.reset();
  const auto end = [self = shared_from_this(), &identity, done = std::move(done)](auto error, std::size_t = 0) {
    if (self->is_closed_) return;
    const std::optional<PublicKey> refused = identity.take_refused();
    if (!error) return done({});
    done(refused ? fmt::format("identity {}... does not belong to an admissible party of --roster", short_hex(*refused))
                 : words_of(error));
  };
  if (side == Side::kClient) return stream_->async_handshake(boost::asio::ssl::stream_base::client, end);
  stream_->async_handshake(boost::asio::ssl::stream_base::server, boost::asio::buffer(incoming_), end);
}

PublicKey TlsConnection::peer() {
  const std::optional<PublicKey> key = ed25519_key_of(SSL_get0_peer_certificate(stream_->native_handle()));
  DPREDUCE_ASSERT(key.has_value());
  return *key;
}

ExportedSecret TlsConnection::secret() {
  constexpr std::string_view kLabel = "EXPORTER-dpreduce-line-v1";
  ExportedSecret secret{};
  require_openssl(SSL_export_keying_material(stream_->native_handle(), openssl_bytes(secret.data()), secret.size(),
                                             kLabel.data(), kLabel.size(), nullptr, 0, 0) == 1,
                  "no secret of a connection");
  return secret;
}

void TlsConnection::set_handlers(Handlers handlers) {
  const bool begins = handlers_ == nullptr;
  handlers_ = std::make_shared<Handlers>(std::move(handlers));
  if (begins) resume();
}

void TlsConnection::resume() {
  if (is_reading_ || is_closed_) return;
  incoming_.resize(kReadAtOnce);
  is_reading_ = true;
  stream_->async_read_some(boost::asio::buffer(incoming_.data(), incoming_.size()),
                           [self = shared_from_this()](auto error, std::size_t length) {
                             self->is_reading_ = false;
                             if (self->is_closed_) return;
                             if (error) return self->end(words_of(error));
                             const std::shared_ptr<Handlers> handlers = self->handlers_;  // it may set others
                             const bool goes_on = handlers->take({self->incoming_.data(), length});
                             self->flush();  // what it answers
                             if (goes_on) self->resume();
                           });
}

void TlsConnection::flush() {
  if (is_writing_ || is_closed_ || !handlers_) return;
  out_.clear();
  const std::shared_ptr<Handlers> handlers = handlers_;
  handlers->fill(out_);
  if (out_.empty() || is_closed_) return;
  is_writing_ = true;
  boost::asio::async_write(*stream_, boost::asio::buffer(out_), [self = shared_from_this()](auto error, std::size_t) {
    self->is_writing_ = false;
    if (self->is_closed_) return;
    if (error) return self->end(words_of(error));
    self->flush();
  });
}

void TlsConnection::write_last(std::vector<std::byte> bytes) {
  DPREDUCE_ASSERT(!is_writing_);
  if (is_closed_) return;
  handlers_ = std::make_shared<Handlers>(
      Handlers{[](auto) { return false; }, [](auto&) {}, [](const std::string&) {}});  // nothing is read any more
  out_ = std::move(bytes);
  is_writing_ = true;
  boost::asio::async_write(*stream_, boost::asio::buffer(out_),
                           [self = shared_from_this()](auto, std::size_t) { self->close(); });
}

void TlsConnection::end(const std::string& why) {
  const std::shared_ptr<Handlers> handlers = std::move(handlers_);
  close();
  if (handlers) handlers->ended(why);
}

void TlsConnection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  handlers_.reset();
  boost::system::error_code ignored;
  if (socket_) socket_->close(ignored);
  if (stream_) stream_->next_layer().close(ignored);
}

}  // namespace dpreduce
