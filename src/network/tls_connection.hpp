// Connections under TLS: addresses, certificates, and the bytes sent and received.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "common/silos/parties.hpp"

namespace dpreduce {

// Address of the coordinator: HOST:PORT.

struct NetworkAddress {
  std::string host;  ///< a name, or an address of IPv4 or IPv6
  std::string port;  ///< 0 to 65535; 0: one that is free

  /// Text such as "host:7000" or "[::1]:7000".
  std::string text() const;
};

/// Parses "hub.example.org:7000", "0.0.0.0:7000" or "[::]:7000". Throws UsageError naming the option if the text has no
/// such form.
NetworkAddress parse_address(std::string_view option, const std::string& text);

// A party's TLS 1.3: its certificate's key is its identity.
//
// Every party makes a self-signed certificate when it starts, for its Ed25519 key in the roster. So TLS proves the
// identity of the other end, in both directions, and no certificate authority is needed. Only the key of a certificate
// is used: no name, no date, so that a wrong clock does not matter. Sessions are not resumed, and nothing is sent
// before both ends have proved themselves.

class TlsIdentity {
 public:
  /// Makes the certificate of `identity`. Accepts only the keys `accepted` at the other end.
  TlsIdentity(const Identity& identity, std::vector<PublicKey> accepted);
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  boost::asio::ssl::context& context() { return context_; }

  /// Returns, once, the key for which the last handshake was refused; nullopt if there was another reason.
  std::optional<PublicKey> take_refused() { return std::exchange(refused_, std::nullopt); }

 private:
  boost::asio::ssl::context context_;
  std::vector<PublicKey> accepted_;
  std::optional<PublicKey> refused_;
};

/// 32 bytes that only the two ends of a connection know (RFC 8446, section 7.5).
using ExportedSecret = std::array<std::byte, 32>;

// One TLS connection: bytes in, bytes out. All of it runs on the thread of the sockets.
//
// The end of a connection, for any reason, does not imply that the party at the other end is gone.

class TlsConnection : public std::enable_shared_from_this<TlsConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class Side { kServer, kClient };

  struct Handlers {
    /// Takes received bytes. Returns whether to read on; if false, reading pauses until resume().
    std::function<bool(std::span<const std::byte>)> take;
    /// Adds to `out` the bytes to be written next; if none, writing pauses until flush().
    std::function<void(std::vector<std::byte>& out)> fill;
    /// Receives the reason when nothing more comes or goes. Called at most once, and not after close().
    std::function<void(const std::string& why)> ended;
  };

  explicit TlsConnection(Socket socket);

  /// Address of the other end.
  const std::string& remote() const { return remote_; }

  /// Longest first record that is read, in bytes. A silo's first record has some 300 bytes.
  static constexpr std::size_t kLongestHello = 4096;

  /// Reads the visitor's first record, a whole ClientHello, before anything else costs memory or time. Then calls
  /// `then` with the fault, or with an empty text: the handshake may begin. For the server's end.
  void read_hello(std::function<void(const std::string& fault)> then);

  /// Makes the handshake, and then calls `done` with the fault, or with an empty text. `identity` outlives this object.
  void handshake(TlsIdentity& identity, Side side, std::function<void(const std::string& fault)> done);
  /// Key of the certificate that the other end has proved to hold, and secret of the connection. Precondition: the
  /// handshake is done.
  PublicKey peer();
  ExportedSecret secret();

  /// Sets the handlers that are called from here on. Reading begins with the first call.
  void set_handlers(Handlers handlers);
  void resume();
  void flush();
  /// Writes these bytes, and closes.
  void write_last(std::vector<std::byte> bytes);
  void close();

 private:
  void read_hello_body(std::function<void(const std::string& fault)> then);
  void end(const std::string& why);

  std::optional<Socket> socket_;  // until there is a stream
  std::optional<boost::asio::ssl::stream<Socket>> stream_;
  std::string remote_;
  std::shared_ptr<Handlers> handlers_;
  std::vector<std::byte> incoming_;  // before the handshake: the hello
  std::vector<std::byte> out_;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_closed_ = false;
};

/// Description in words of a connection's error.
std::string words_of(const boost::system::error_code& error);

}  // namespace dpreduce
