#include "common/ranks/peer_messages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <unistd.h>

#include "common/base/error.hpp"
#include "common/ranks/mpi_job.hpp"
#include "common/silos/frame.hpp"

namespace dpreduce {

PeerMessages::PeerMessages() {
  begin_mpi(MPI_THREAD_SINGLE);
  try {
    require_one_kind(JobKind::kSilos);
  } catch (const Error&) {
    end_mpi();  // no rank ends before this is told
    throw;
  }
  require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &job_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(job_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(job_, &rank_);
  MPI_Comm_size(job_, &size_);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && (peer == 0 || rank_ == 0)) listened_.push_back(peer);
  }
  is_refused_.assign(static_cast<std::size_t>(size_), false);
  heard_.assign(static_cast<std::size_t>(size_), Clock::now());
}

void PeerMessages::send(int to, std::vector<std::byte> bytes) {
  if (to < 0 || to >= size_ || to == rank_) return;
  outgoing_bytes_ += bytes.size();
  outgoing_.push_back({to, std::move(bytes)});
  Outgoing& message = outgoing_.back();
  if (MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, to,
                static_cast<int>(PeerTag::kMessage), job_, &message.request) != MPI_SUCCESS) {
    outgoing_bytes_ -= message.bytes.size();
    outgoing_.pop_back();
  }
}

void PeerMessages::send_bytes(int to, PeerTag tag, int length) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(&end_mark_, length, MPI_BYTE, to, static_cast<int>(tag), job_, &request) == MPI_SUCCESS) {
    MPI_Request_free(&request);
  }
}

void PeerMessages::send_mark(int to, PeerTag tag) {
  send_bytes(to, tag, 0);
}

void PeerMessages::send_end(int to, int exit_code) {
  end_mark_ = static_cast<std::byte>(exit_code);
  send_bytes(to, PeerTag::kEnd, 1);
}

bool PeerMessages::free_sent() {
  bool moved = false;
  for (auto message = outgoing_.begin(); message != outgoing_.end();) {
    int is_done = 0;
    if (MPI_Test(&message->request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) {
      ++message;
      continue;
    }
    outgoing_bytes_ -= message->bytes.size();
    message = outgoing_.erase(message);
    moved = true;
  }
  return moved;
}

void PeerMessages::give_up(int peer) {
  listened_.erase(std::remove(listened_.begin(), listened_.end(), peer), listened_.end());
  for (auto message = outgoing_.begin(); message != outgoing_.end();) {
    const auto next = std::next(message);
    if (message->to == peer) {
      outgoing_bytes_ -= message->bytes.size();
      abandoned_.splice(abandoned_.end(), outgoing_, message);
    }
    message = next;
  }
}

bool PeerMessages::receive(const std::function<bool(std::size_t)>& may_begin, const Take& take) {
  bool moved = begin_receiving(may_begin);
  // Many at once: a peer that is slow to send the rest of a message does not keep the others waiting.
  std::vector<bool> is_behind(static_cast<std::size_t>(size_), false);
  for (auto incoming = incoming_.begin(); incoming != incoming_.end();) {
    int is_done = 0;
    const auto from = static_cast<std::size_t>(incoming->message.from);
    if (!is_behind[from] && MPI_Test(&incoming->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) is_done = 1;
    if (is_done == 0) {
      is_behind[from] = true;  // a peer's messages stay in their order
      ++incoming;
      continue;
    }
    moved = true;
    incoming_bytes_ -= incoming->message.bytes.size();
    heard_[from] = Clock::now();
    take(incoming->message);
    incoming = incoming_.erase(incoming);
  }
  return moved;
}

// The oldest message of somebody who is listened to. It stays where it is.
bool PeerMessages::find_next(MPI_Status& status) {
  const bool is_from_all = listened_.size() + 1 == static_cast<std::size_t>(size_);
  int is_there = 0;
  for (std::size_t place = 0; place < (is_from_all ? 1 : listened_.size()) && is_there == 0; ++place) {
    const int from = is_from_all ? MPI_ANY_SOURCE : listened_[place];
    if (MPI_Iprobe(from, MPI_ANY_TAG, job_, &is_there, &status) != MPI_SUCCESS) is_there = 0;
  }
  return is_there != 0;
}

bool PeerMessages::is_due(int from, PeerTag tag, int length) {
  switch (tag) {
    case PeerTag::kMessage:
      return length >= 0 && static_cast<std::size_t>(length) >= kHeaderBytes + kTagBytes &&
             static_cast<std::size_t>(length) <= kLargestFrame;
    case PeerTag::kEnd:
      return length == 1;
    case PeerTag::kBeat:
      return length == 0;
    case PeerTag::kLeave:
      return length == 0 && from == 0;
  }
  return false;
}

bool PeerMessages::begin_receiving(const std::function<bool(std::size_t)>& may_begin) {
  bool moved = false;
  MPI_Status status;
  for (;;) {
    if (!may_begin(incoming_bytes_)) {
      heard_.assign(heard_.size(), Clock::now());  // who does not listen cannot call anybody silent
      break;
    }
    if (!find_next(status)) break;
    const int from = status.MPI_SOURCE;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    if (!is_due(from, static_cast<PeerTag>(status.MPI_TAG), length)) {
      is_refused_[static_cast<std::size_t>(from)] = true;
      give_up(from);
      continue;
    }
    incoming_.push_back(
        {{from, static_cast<PeerTag>(status.MPI_TAG), std::vector<std::byte>(static_cast<std::size_t>(length))}});
    Incoming& begun = incoming_.back();
    moved = true;
    heard_[static_cast<std::size_t>(from)] = Clock::now();
    if (MPI_Irecv(begun.message.bytes.data(), length, MPI_BYTE, from, status.MPI_TAG, job_, &begun.request) !=
        MPI_SUCCESS) {
      incoming_.pop_back();
      break;
    }
    incoming_bytes_ += begun.message.bytes.size();
  }
  return moved;
}

bool PeerMessages::leave(const std::function<bool(Clock::duration)>& is_left_alone, const Take& take) {
  constexpr useconds_t kPause = 1000;
  MPI_Request all = MPI_REQUEST_NULL;
  const auto since = Clock::now();
  int is_done = 0;
  if (outgoing_.empty() && abandoned_.empty() && MPI_Ibarrier(job_, &all) == MPI_SUCCESS) {
    while ((is_done == 0 || !incoming_.empty()) && !is_left_alone(Clock::now() - since)) {
      if (is_done == 0 && MPI_Test(&all, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
      receive([](std::size_t) { return true; }, take);
      ::usleep(kPause);
    }
  }
  if (is_done == 0 || !incoming_.empty()) return false;
  end_mpi();
  return true;
}

}  // namespace dpreduce
