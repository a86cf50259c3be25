// One TLS connection: bytes in, bytes out. All of it runs on the thread of the sockets.
//
// An end of it, however it comes, says nothing about the party at the other end.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "network/tls_identity.hpp"

namespace dpreduce {

class TlsConnection : public std::enable_shared_from_this<TlsConnection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class Side { kServer, kClient };

  struct Handlers {
    /// Gets what has come. Returns whether more is read; else until resume().
    std::function<bool(std::span<const std::byte>)> take;
    /// Adds to `out` what is to be written next; nothing: until flush().
    std::function<void(std::vector<std::byte>& out)> fill;
    /// Called at most once, and not after close(): nothing more comes or goes, and why.
    std::function<void(const std::string& why)> ended;
  };

  explicit TlsConnection(Socket socket);

  /// Who is connected, as an address.
  const std::string& remote() const { return remote_; }

  /// The longest first record that is read. A silo's has some 300 bytes.
  static constexpr std::size_t kLongestHello = 4096;

  /// Reads the visitor's first record, a whole ClientHello, before anything else costs memory or time; then calls
  /// `then`, with what was wrong, or with an empty text: the handshake may begin. At the server's end.
  void read_hello(std::function<void(const std::string& fault)> then);

  /// Calls `done` at the end of the handshake, with what was wrong, or with an empty text. `identity` outlives it.
  void handshake(TlsIdentity& identity, Side side, std::function<void(const std::string& fault)> done);
  /// Preconditions: the handshake is done.
  PublicKey peer() { return peer_key(stream_->native_handle()); }
  ExportedSecret secret() { return exported_secret(stream_->native_handle()); }

  /// From here on these are called; reading begins with the first call.
  void set_handlers(Handlers handlers);
  void resume();
  void flush();
  /// Writes that, and closes.
  void write_last(std::vector<std::byte> bytes);
  void close();

 private:
  void read_hello_body(std::function<void(const std::string& fault)> then);
  void read();
  void end(const std::string& why);

  std::optional<Socket> socket_;  // until there is a stream
  std::optional<boost::asio::ssl::stream<Socket>> stream_;
  std::string remote_;
  std::shared_ptr<Handlers> handlers_;
  std::vector<std::byte> come_;  // before the handshake: the hello
  std::vector<std::byte> out_;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_closed_ = false;
};

/// What an error of a connection comes to, in words.
std::string words_of(const boost::system::error_code& error);

}  // namespace dpreduce
