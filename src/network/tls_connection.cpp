#include "network/tls_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

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

void TlsConnection::when_readable(std::function<void()> then) {
  socket_->async_wait(Socket::wait_read, [self = shared_from_this(), then = std::move(then)](auto error) {
    if (!error && !self->is_closed_) then();
  });
}

void TlsConnection::handshake(TlsIdentity& identity, Side side, std::function<void(const std::string&)> done) {
  if (is_closed_) return;
  stream_.emplace(std::move(*socket_), identity.context());
  socket_.reset();
  const auto type =
      side == Side::kServer ? boost::asio::ssl::stream_base::server : boost::asio::ssl::stream_base::client;
  stream_->async_handshake(type, [self = shared_from_this(), &identity, done = std::move(done)](auto error) {
    if (self->is_closed_) return;
    const std::optional<PublicKey> refused = identity.take_refused();
    if (!error) return done({});
    done(refused
             ? fmt::format("identity {}... is not that of a party in --roster which may be here", short_hex(*refused))
             : words_of(error));
  });
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
