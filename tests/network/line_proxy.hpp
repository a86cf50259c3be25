// Stands between silos and a coordinator, as a line that fails: it delays, halves the rate, cuts, goes silent, and
// counts what goes over it: bytes, and records of TLS, of which each message is one or more.
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
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

namespace dpreduce {

/// What happens to a line once, at a record of TLS.
struct LineFault {
  enum class Place { kBefore, kWithin, kAfter };
  enum class Kind { kClose, kReset, kSilence };  ///< silence: of the connection that there is, to its end
  bool to_coordinator = true;
  std::uint64_t record = 1;  ///< counted from 1, in that direction, over all connections
  Place place = Place::kBefore;
  Kind kind = Kind::kClose;
};

class LineProxy {
 public:
  /// Listens. Nobody is let through, and there is no thread, before begin().
  LineProxy() : acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    port_ = acceptor_.local_endpoint().port();
  }
  explicit LineProxy(std::uint16_t port_of_coordinator) : LineProxy() { begin(port_of_coordinator); }
  ~LineProxy() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }
  LineProxy(const LineProxy&) = delete;
  LineProxy& operator=(const LineProxy&) = delete;

  void begin(std::uint16_t port_of_coordinator) {
    target_ = {boost::asio::ip::make_address("127.0.0.1"), port_of_coordinator};
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  std::uint16_t port() const { return port_; }
  std::uint64_t connections() const { return connections_; }
  /// Records of TLS so far in that direction.
  std::uint64_t records(bool to_coordinator) const { return records_[to_coordinator ? 1 : 0]; }

  /// Ends all connections that there are: by a reset where `by_reset`.
  void cut(bool by_reset = false) {
    boost::asio::post(io_, [this, by_reset] { close_all(by_reset); });
  }
  /// From here on connections are cut once that many more bytes have gone to the coordinator, each time.
  void cut_every(std::uint64_t bytes) { cut_every_ = bytes; }
  /// From here on nothing is forwarded on the connections that there are and will be; they stay open.
  void set_silent(bool is_silent) { is_silent_ = is_silent; }
  /// From here on new connections are refused.
  void set_refusing(bool is_refusing) { is_refusing_ = is_refusing; }
  /// From here on what comes takes so long, one way.
  void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }
  /// From here on each direction carries so many bytes a second; 0: all at once.
  void set_rate(std::uint64_t bytes_a_second) { rate_ = bytes_a_second; }
  /// From here on it is an HTTP proxy: whoever connects asks for a tunnel first, and gets this answer; one of 2xx is
  /// then a tunnel to the coordinator, whatever was asked for. An empty answer is none.
  void set_http(std::string answer) {
    answer_ = std::move(answer);
    is_http_ = true;
  }
  /// What the last one asked for.
  std::string asked_for() {
    const std::lock_guard guard(asked_lock_);
    return asked_;
  }
  /// Set it before begin().
  void set_fault(const LineFault& fault) { fault_ = fault; }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Clock = std::chrono::steady_clock;

  // One direction of one connection.
  struct Way {
    Way(Tcp::socket& comes_from, Tcp::socket& goes_to, bool is_to_coordinator)
        : from(comes_from), to(goes_to), to_coordinator(is_to_coordinator), due(from.get_executor()) {}
    struct Piece {
      Clock::time_point arrives;
      std::vector<std::byte> bytes;
      bool is_last;  // then the fault happens
    };
    Tcp::socket& from;
    Tcp::socket& to;
    bool to_coordinator;
    std::vector<std::byte> come;  // less than a record
    std::vector<std::byte> space = std::vector<std::byte>(65536);
    std::deque<Piece> pieces;
    std::size_t waiting = 0;
    bool is_reading = false;
    Clock::time_point free_at{};
    boost::asio::steady_timer due;
  };

  struct Pipe : std::enable_shared_from_this<Pipe> {
    Pipe(LineProxy& of, Tcp::socket from_silo)
        : proxy(of),
          silo(std::move(from_silo)),
          coordinator(of.io_),
          up(silo, coordinator, true),
          down(coordinator, silo, false) {}

    void begin() {
      coordinator.async_connect(proxy.target_, [self = shared_from_this()](auto error) {
        if (error) return self->close(false);
        boost::system::error_code ignored;
        for (Tcp::socket* socket : {&self->silo, &self->coordinator}) {
          socket->set_option(Tcp::no_delay(true), ignored);
        }
        self->read(self->up);
        self->read(self->down);
      });
    }

    void take_request() {
      boost::asio::async_read_until(
          silo, boost::asio::dynamic_buffer(request), "\r\n\r\n", [self = shared_from_this()](auto error, std::size_t) {
            if (error) return self->close(false);
            {
              const std::lock_guard guard(self->proxy.asked_lock_);
              self->proxy.asked_ = self->request;
            }
            boost::asio::async_write(self->silo, boost::asio::buffer(self->proxy.answer_), [self](auto, std::size_t) {
              const std::string& answer = self->proxy.answer_;
              if (answer.find(" 2") == answer.find(' ') && !answer.empty()) return self->begin();
              if (!answer.empty()) self->close(false);
            });
          });
    }

    void read(Way& way) {
      constexpr std::size_t kMostOnItsWay = std::size_t{16} << 20;
      if (way.is_reading || way.waiting > kMostOnItsWay) return;
      way.is_reading = true;
      way.from.async_read_some(boost::asio::buffer(way.space),
                               [self = shared_from_this(), &way](auto error, std::size_t length) {
                                 way.is_reading = false;
                                 if (self->is_silent || self->is_over) return;
                                 if (error) return self->end(way);
                                 if (way.to_coordinator && self->proxy.is_cut_now(length)) {
                                   return self->proxy.close_all(false);
                                 }
                                 self->take(way, length);
                                 self->read(way);
                               });
    }

    // What comes goes on record by record: kind (1), version (2), length (2), then that many bytes.
    void take(Way& way, std::size_t length) {
      constexpr std::size_t kHeader = 5;
      proxy.bytes_[way.to_coordinator ? 1 : 0] += length;
      way.come.insert(way.come.end(), way.space.begin(), way.space.begin() + static_cast<std::ptrdiff_t>(length));
      std::size_t whole = 0;
      while (way.come.size() - whole >= kHeader) {
        const auto byte = [&](std::size_t place) { return std::to_integer<std::size_t>(way.come[whole + place]); };
        const std::size_t record = kHeader + 256 * byte(3) + byte(4);
        if (way.come.size() - whole < record) break;
        const std::uint64_t number = ++proxy.records_[way.to_coordinator ? 1 : 0];
        const std::optional<LineFault>& fault = proxy.fault_;
        if (fault && fault->to_coordinator == way.to_coordinator && fault->record == number) {
          const std::size_t last = fault->place == LineFault::Place::kBefore   ? 0
                                   : fault->place == LineFault::Place::kWithin ? record / 2
                                                                               : record;
          put(way, whole + last, true);
          way.come.clear();
          return;
        }
        whole += record;
      }
      if (whole == 0) return;
      put(way, whole, false);
      way.come.erase(way.come.begin(), way.come.begin() + static_cast<std::ptrdiff_t>(whole));
    }

    void put(Way& way, std::size_t length, bool is_last) {
      const auto now = Clock::now();
      const std::uint64_t rate = proxy.rate_;
      way.free_at = std::max(way.free_at, now);
      if (rate != 0) {
        way.free_at += std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(static_cast<double>(length) / static_cast<double>(rate)));
      }
      const bool is_first = way.pieces.empty();
      way.pieces.push_back({way.free_at + proxy.delay_.load(),
                            {way.come.begin(), way.come.begin() + static_cast<std::ptrdiff_t>(length)},
                            is_last});
      way.waiting += length;
      if (is_first) write(way);
    }

    void write(Way& way) {
      way.due.expires_at(way.pieces.front().arrives);
      way.due.async_wait([self = shared_from_this(), &way](auto) {
        if (self->is_over || self->proxy.is_silent_) return;
        boost::asio::async_write(way.to, boost::asio::buffer(way.pieces.front().bytes),
                                 [self, &way](auto error, std::size_t length) {
                                   if (error) return self->close(false);
                                   const bool is_last = way.pieces.front().is_last;
                                   way.waiting -= length;
                                   way.pieces.pop_front();
                                   if (is_last) return self->fail();
                                   if (!way.pieces.empty()) return self->write(way);
                                   if (self->is_ending) return self->close(false);
                                   self->read(way);
                                 });
      });
    }

    void fail() {
      is_silent = proxy.fault_->kind == LineFault::Kind::kSilence;
      if (!is_silent) close(proxy.fault_->kind == LineFault::Kind::kReset);
    }

    // One end has closed: what is on its way still arrives.
    void end(Way& way) {
      is_ending = true;
      if (way.pieces.empty()) close(false);
    }

    void close(bool by_reset) {
      is_over = true;
      boost::system::error_code ignored;
      for (Tcp::socket* socket : {&silo, &coordinator}) {
        if (by_reset) socket->set_option(boost::asio::socket_base::linger(true, 0), ignored);
        socket->close(ignored);
      }
      up.due.cancel();
      down.due.cancel();
    }

    LineProxy& proxy;
    std::string request;
    Tcp::socket silo;
    Tcp::socket coordinator;
    Way up;
    Way down;
    bool is_silent = false;
    bool is_ending = false;
    bool is_over = false;
  };

  void close_all(bool by_reset) {
    for (const auto& pipe : std::exchange(pipes_, {})) pipe->close(by_reset);
  }

  bool is_cut_now(std::size_t length) {
    const std::uint64_t so_far = bytes_[1] + length;
    if (cut_every_ == 0 || so_far < cut_at_) return false;
    const bool is_first = cut_at_ == 0;
    cut_at_ = so_far + cut_every_;
    return !is_first;
  }

  void accept() {
    acceptor_.async_accept([this](auto error, Tcp::socket socket) {
      if (error) return;
      ++connections_;
      if (!is_refusing_) {
        pipes_.push_back(std::make_shared<Pipe>(*this, std::move(socket)));
        is_http_ ? pipes_.back()->take_request() : pipes_.back()->begin();
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
  std::atomic<std::uint64_t> bytes_[2]{};
  std::atomic<std::uint64_t> records_[2]{};
  std::optional<LineFault> fault_;
  std::atomic<bool> is_http_{false};
  std::string answer_;
  std::mutex asked_lock_;
  std::string asked_;
  std::atomic<std::uint64_t> cut_every_{0};
  std::uint64_t cut_at_ = 0;
  std::atomic<bool> is_silent_{false};
  std::atomic<bool> is_refusing_{false};
  std::atomic<std::chrono::milliseconds> delay_{std::chrono::milliseconds(0)};
  std::atomic<std::uint64_t> rate_{0};
  std::thread thread_;
};

}  // namespace dpreduce
