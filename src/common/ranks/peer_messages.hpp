// The relays of a job (relay.hpp) send each other MPI messages, point to point. A peer's messages arrive in the
// order in which it sent them. Only the calling thread speaks MPI, and nothing here waits.
//
// Who has sent a message, its tag and its length are looked at before there is memory for it. A silo's relay listens to
// rank 0 alone. A peer that sends what no relay sends is refused: it is not listened to any more. What it has sent
// stays where it is, at the peer itself where it is longer than what MPI sends unasked.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <vector>

#include <mpi.h>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// The tags of messages.
enum class PeerTag : int {
  kMessage = 1,  ///< of the sender's party, a sealed frame
  kEnd = 2,      ///< the sender's party has ended: its exit code, a byte
  kBeat = 3,     ///< a sign of life from the sender's relay, whatever its party does
  kLeave = 4     ///< the coordinator's relay leaves MPI without those that do not come
};

class PeerMessages {
 public:
  using Clock = WireClock;
  struct Arrived {
    int from;
    PeerTag tag;
    std::vector<std::byte> bytes;
  };
  using Take = std::function<void(Arrived&)>;

  /// Starts MPI. Collective. Throws as require_one_kind, after MPI has ended, where some process of the job is no
  /// relay.
  PeerMessages();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Nothing is sent to this process itself, or to ranks that there are not.
  void send(int to, std::vector<std::byte> bytes);
  /// A message without bytes. Precondition: `tag` is kBeat or kLeave.
  void send_mark(int to, PeerTag tag);
  /// The end of this relay's party. Precondition: the same exit code in each call.
  void send_end(int to, int exit_code);

  /// Bytes of messages that their receivers have not taken yet.
  std::size_t unsent_bytes() const { return outgoing_bytes_; }
  bool has_unsent() const { return !outgoing_.empty(); }
  /// Frees the messages that were taken. Returns whether there were any.
  bool free_sent();
  /// Gives up a peer: nothing that it should have got is waited for, and it is not listened to any more.
  void give_up(int peer);

  /// Shows `take` the messages that have come, in the order of each peer. Begins to receive more while `may_begin`
  /// allows it for the bytes that are coming. Returns whether something came.
  bool receive(const std::function<bool(std::size_t coming)>& may_begin, const Take& take);
  /// The last sign of life from that peer; while nothing may begin, each moment is one.
  Clock::time_point heard(int peer) const { return heard_[static_cast<std::size_t>(peer)]; }
  /// Whether it has sent what no relay sends, and was not listened to from then on.
  bool is_refused(int peer) const { return is_refused_[static_cast<std::size_t>(peer)]; }

  /// Whether relays send such a message: rank `from`, with that tag, of so many bytes.
  static bool is_due(int from, PeerTag tag, int length);

  /// Leaves MPI together with the other relays, as MPI demands: true. False where `is_left_alone`, asked with the time
  /// that was waited for them, says that they do not come; then this process must end without MPI. Collective.
  bool leave(const std::function<bool(Clock::duration waited)>& is_left_alone, const Take& take);

 private:
  struct Outgoing {
    int to;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    Arrived message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send_bytes(int to, PeerTag tag, int length);
  bool begin_receiving(const std::function<bool(std::size_t)>& may_begin);
  bool find_next(MPI_Status& status);

  MPI_Comm job_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> listened_;  // to whom, and no longer to those that were refused or given up
  std::vector<bool> is_refused_;
  std::vector<Clock::time_point> heard_;
  std::byte end_mark_{0};
  std::list<Incoming> incoming_;  // in the order in which they began to come
  std::size_t incoming_bytes_ = 0;
  std::list<Outgoing> outgoing_;
  std::size_t outgoing_bytes_ = 0;
  std::list<Outgoing> abandoned_;  // MPI may still read them
};

}  // namespace dpreduce
