#include "network/tls_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// A record of TLS: its type, version (2 bytes) and length (2); in it a message of the handshake: its type and length
// (3).
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kHandshakeRecord = 22;
constexpr std::size_t kMajorVersion = 3;
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::size_t kClientHello = 1;

// In the order of a network.
std::size_t number_at(const std::vector<std::byte>& bytes, std::size_t place, std::size_t length) {
  std::size_t number = 0;
  for (std::size_t end = place + length; place < end; ++place)
    number = 256 * number + std::to_integer<std::size_t>(bytes[place]);
  return number;
}

constexpr std::size_t kReadAtOnce = std::size_t{16} << 10;  // a record of TLS holds no more

std::string remote_of(const TlsConnection::Socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "an address that is gone" : fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

}  // namespace

std::string words_of(const boost::system::error_code& error) {
  if (error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated) {
    return "the connection was closed";
  }
  return error.message();
}

TlsConnection::TlsConnection(Socket socket) : socket_(std::move(socket)), remote_(remote_of(*socket_)) {
  boost::system::error_code error;
  socket_->set_option(boost::asio::ip::tcp::no_delay(true), error);
}

void TlsConnection::read_hello(std::function<void(const std::string&)> then) {
  come_.resize(kRecordHeader);
  boost::asio::async_read(*socket_, boost::asio::buffer(come_),
                          [self = shared_from_this(), then = std::move(then)](auto error, std::size_t) {
                            if (self->is_closed_) return;
                            if (error) return then(words_of(error));
                            self->read_hello_body(then);
                          });
}

void TlsConnection::read_hello_body(std::function<void(const std::string&)> then) {
  const std::size_t length = number_at(come_, 3, 2);
  if (number_at(come_, 0, 1) != kHandshakeRecord || number_at(come_, 1, 1) != kMajorVersion ||
      length < kHandshakeHeader || length > kLongestHello) {
    return then("its first words are no hello of TLS");
  }
  come_.resize(kRecordHeader + length);
  boost::asio::async_read(*socket_, boost::asio::buffer(come_) + kRecordHeader,
                          [self = shared_from_this(), then = std::move(then), length](auto error, std::size_t) {
                            if (self->is_closed_) return;
                            if (error) return then(words_of(error));
                            const bool is_whole =
                                number_at(self->come_, kRecordHeader, 1) == kClientHello &&
                                number_at(self->come_, kRecordHeader + 1, 3) + kHandshakeHeader <= length;
                            then(is_whole ? "" : "its first record is no whole hello of TLS");
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
    done(refused
             ? fmt::format("identity {}... is not that of a party in --roster which may be here", short_hex(*refused))
             : words_of(error));
  };
  if (side == Side::kClient) return stream_->async_handshake(boost::asio::ssl::stream_base::client, end);
  stream_->async_handshake(boost::asio::ssl::stream_base::server, boost::asio::buffer(come_), end);
}

void TlsConnection::set_handlers(Handlers handlers) {
  const bool begins = handlers_ == nullptr;
  handlers_ = std::make_shared<Handlers>(std::move(handlers));
  if (begins) resume();
}

void TlsConnection::resume() {
  if (is_reading_ || is_closed_) return;
  come_.resize(kReadAtOnce);
  read();
}

void TlsConnection::read() {
  is_reading_ = true;
  stream_->async_read_some(boost::asio::buffer(come_.data(), come_.size()),
                           [self = shared_from_this()](auto error, std::size_t length) {
                             self->is_reading_ = false;
                             if (self->is_closed_) return;
                             if (error) return self->end(words_of(error));
                             const std::shared_ptr<Handlers> handlers = self->handlers_;  // it may set others
                             const bool goes_on = handlers->take({self->come_.data(), length});
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
