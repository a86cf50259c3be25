// Stands between silos and a coordinator, as a line that fails: it delays, cuts, drops, and keeps the bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

namespace dpreduce {

class LineProxy {
 public:
  explicit LineProxy(std::uint16_t port_of_coordinator)
      : target_(boost::asio::ip::make_address("127.0.0.1"), port_of_coordinator),
        acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    port_ = acceptor_.local_endpoint().port();
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~LineProxy() {
    io_.stop();
    thread_.join();
  }
  LineProxy(const LineProxy&) = delete;
  LineProxy& operator=(const LineProxy&) = delete;

  std::uint16_t port() const { return port_; }
  std::uint64_t connections() const { return connections_; }
  std::uint64_t bytes_to_coordinator() const { return to_coordinator_; }

  /// Ends all connections that there are: by a reset where `by_reset`.
  void cut(bool by_reset = false) {
    boost::asio::post(io_, [this, by_reset] {
      for (const auto& pipe : std::exchange(pipes_, {})) pipe->close(by_reset);
    });
  }
  /// From here on connections are cut once that many more bytes have gone to the coordinator, each time.
  void cut_every(std::uint64_t bytes) { cut_every_ = bytes; }
  /// From here on nothing is forwarded on the connections that there are and will be; they stay open.
  void set_silent(bool is_silent) { is_silent_ = is_silent; }
  /// From here on new connections are refused.
  void set_refusing(bool is_refusing) { is_refusing_ = is_refusing; }
  /// From here on each piece takes so long.
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }

 private:
  using Tcp = boost::asio::ip::tcp;

  struct Pipe : std::enable_shared_from_this<Pipe> {
    Pipe(LineProxy& of, Tcp::socket from_silo) : proxy(of), silo(std::move(from_silo)), coordinator(of.io_) {}

    void begin() {
      coordinator.async_connect(proxy.target_, [self = shared_from_this()](auto error) {
        if (error) return self->close(false);
        boost::system::error_code ignored;
        for (Tcp::socket* socket : {&self->silo, &self->coordinator}) {
          socket->set_option(Tcp::no_delay(true), ignored);
        }
        self->read(self->silo, self->coordinator, true);
        self->read(self->coordinator, self->silo, false);
      });
    }

    void read(Tcp::socket& from, Tcp::socket& to, bool to_coordinator) {
      const auto buffer = std::make_shared<std::vector<std::byte>>(65536);
      from.async_read_some(boost::asio::buffer(*buffer), [self = shared_from_this(), buffer, &from, &to,
                                                          to_coordinator](auto error, std::size_t length) {
        if (error) return self->close(false);
        buffer->resize(length);
        if (to_coordinator && self->proxy.is_cut_now(length)) return self->proxy.cut();
        const auto timer = std::make_shared<boost::asio::steady_timer>(self->proxy.io_, self->proxy.delay_.load());
        timer->async_wait([self, timer, buffer, &from, &to, to_coordinator](auto) {
          if (self->proxy.is_silent_) return;  // and reads no more
          boost::asio::async_write(to, boost::asio::buffer(*buffer),
                                   [self, buffer, &from, &to, to_coordinator](auto failed, std::size_t) {
                                     if (failed) return self->close(false);
                                     self->read(from, to, to_coordinator);
                                   });
        });
      });
    }

    void close(bool by_reset) {
      boost::system::error_code ignored;
      for (Tcp::socket* socket : {&silo, &coordinator}) {
        if (by_reset) socket->set_option(boost::asio::socket_base::linger(true, 0), ignored);
        socket->close(ignored);
      }
    }

    LineProxy& proxy;
    Tcp::socket silo;
    Tcp::socket coordinator;
  };

  bool is_cut_now(std::size_t length) {
    to_coordinator_ += length;
    if (cut_every_ == 0 || to_coordinator_ < cut_at_) return false;
    const bool is_first = cut_at_ == 0;
    cut_at_ = to_coordinator_ + cut_every_;
    return !is_first;
  }

  void accept() {
    acceptor_.async_accept([this](auto error, Tcp::socket socket) {
      if (error) return;
      ++connections_;
      if (!is_refusing_) {
        pipes_.push_back(std::make_shared<Pipe>(*this, std::move(socket)));
        pipes_.back()->begin();
      }
      accept();
    });
  }

  boost::asio::io_context io_;
  Tcp::endpoint target_;
  Tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::list<std::shared_ptr<Pipe>> pipes_;
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> to_coordinator_{0};
  std::atomic<std::uint64_t> cut_every_{0};
  std::uint64_t cut_at_ = 0;
  std::atomic<bool> is_silent_{false};
  std::atomic<bool> is_refusing_{false};
  std::atomic<std::chrono::milliseconds> delay_{std::chrono::milliseconds(0)};
  std::thread thread_;
};

}  // namespace dpreduce
