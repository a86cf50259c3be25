// What the relays of a job (relay.hpp) send each other: MPI messages, point to point. A peer's messages arrive in the
// order in which it sent them. Only the calling thread speaks MPI, and nothing here waits.
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
  kBeat = 3,     ///< a sign of life from the coordinator's relay
  kLeave = 4     ///< that relay leaves MPI without those that do not come
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
  /// Since when the oldest of those waits. Precondition: has_unsent().
  Clock::time_point oldest_unsent() const { return outgoing_.front().posted; }
  /// Gives up the receiver of the oldest, and all that it should have got. Returns its rank. Precondition:
  /// has_unsent().
  int abandon_oldest_receiver();

  /// Shows `take` the messages that have come, in the order of each peer. Begins to receive more while `may_begin`
  /// allows it for the bytes that are coming. Returns whether something came.
  bool receive(const std::function<bool(std::size_t coming)>& may_begin, const Take& take);
  /// The last sign of life from rank 0; while nothing may begin, each moment is one.
  Clock::time_point coordinator_heard() const { return coordinator_heard_; }

  /// Leaves MPI together with the other relays, as MPI demands: true. False where `is_left_alone`, asked with the time
  /// that was waited for them, says that they do not come; then this process must end without MPI. Collective.
  bool leave(const std::function<bool(Clock::duration waited)>& is_left_alone, const Take& take);

 private:
  struct Outgoing {
    int to;
    std::vector<std::byte> bytes;
    Clock::time_point posted;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    Arrived message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send_bytes(int to, PeerTag tag, int length);
  bool begin_receiving(const std::function<bool(std::size_t)>& may_begin);

  MPI_Comm job_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Clock::time_point coordinator_heard_ = Clock::now();
  std::byte end_mark_{0};
  std::list<Incoming> incoming_;  // in the order in which they began to come
  std::size_t incoming_bytes_ = 0;
  std::list<Outgoing> outgoing_;
  std::size_t outgoing_bytes_ = 0;
  std::list<Outgoing> abandoned_;  // MPI may still read them
};

}  // namespace dpreduce
