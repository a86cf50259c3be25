#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "common/ranks/communicator.hpp"

namespace dpreduce {
namespace {

// Meeting point of the threads. Data that a rank shows there may be read between two meetings.
class Meeting {
 public:
  explicit Meeting(int size) : shown_(static_cast<std::size_t>(size), nullptr) {}

  // Returns when all ranks have come. Throws PeerFailed if one has left.
  void wait() {
    std::unique_lock lock(mutex_);
    require_all();
    const std::uint64_t own = round_;
    if (++arrived_ == shown_.size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != own || gone_ >= 0; });
    if (round_ == own) require_all();
  }

  // Between two meetings read(what rank r shows, r) is called for every rank, in their order.
  template <typename Shown, typename Read>
  void visit(int rank, const Shown& shown, const Read& read) {
    shown_[static_cast<std::size_t>(rank)] = &shown;
    wait();
    for (std::size_t peer = 0; peer < shown_.size(); ++peer) {
      read(*static_cast<const Shown*>(shown_[peer]), static_cast<int>(peer));
    }
    wait();
  }

  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (gone_ < 0) gone_ = rank;
    changed_.notify_all();
  }

  int size() const { return static_cast<int>(shown_.size()); }

 private:
  void require_all() const {
    if (gone_ >= 0) throw PeerFailed(ExitCode::kInternal, gone_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  int gone_ = -1;                   // the first rank that has left
  std::vector<const void*> shown_;  // by each rank
};

class ThreadJob final : public Job {
 public:
  ThreadJob(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  ~ThreadJob() override { meeting_.leave(rank_); }

  std::int64_t agree(std::int64_t verdict) override {
    std::int64_t least = verdict;
    meeting_.visit(rank_, verdict, [&](std::int64_t of_rank, int) { least = std::min(least, of_rank); });
    return least;
  }

  void sum_to(int owner, std::span<std::uint64_t> values) override { add(values, rank_ == owner); }
  void sum_everywhere(std::span<std::uint64_t> values) override { add(values, true); }
  void sum_everywhere(std::span<double> values) override { add(values, true); }

  void broadcast(std::span<std::byte> bytes) override {
    const std::span<const std::byte> own = bytes;
    meeting_.visit(rank_, own, [&](std::span<const std::byte> of_rank, int peer) {
      DPREDUCE_ASSERT(of_rank.size() == bytes.size());
      if (peer == 0 && rank_ != 0) std::copy(of_rank.begin(), of_rank.end(), bytes.begin());
    });
  }

  double max_everywhere(double value) override {
    double most = value;
    meeting_.visit(rank_, value, [&](double of_rank, int) { most = std::max(most, of_rank); });
    return most;
  }

  void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) override {
    std::size_t gathered = 0;
    meeting_.visit(rank_, local, [&](std::span<const std::byte> of_rank, int) {
      if (rank_ != 0) return;
      DPREDUCE_ASSERT(of_rank.size() <= all.size() - gathered);
      std::ranges::copy(of_rank, all.subspan(gathered).begin());
      gathered += of_rank.size();
    });
    DPREDUCE_ASSERT(rank_ != 0 || gathered == all.size());
  }

  Messages exchange(Messages messages) override {
    Messages received;
    meeting_.visit(rank_, messages,
                   [&](const Messages& of_rank, int) { received.push_back(of_rank[static_cast<std::size_t>(rank_)]); });
    return received;
  }

  int ranks_on_machine() override { return meeting_.size(); }

 private:
  // values <- sum over ranks, at an owner; elsewhere zeros.
  template <typename T>
  void add(std::span<T> values, bool is_owner) {
    std::vector<T> sum(is_owner ? values.size() : 0, T{});
    const std::span<const T> own = values;
    meeting_.visit(rank_, own, [&](std::span<const T> of_rank, int) {
      DPREDUCE_ASSERT(of_rank.size() == own.size());
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += of_rank[e];
    });
    if (!is_owner) return std::fill(values.begin(), values.end(), T{});
    std::copy(sum.begin(), sum.end(), values.begin());
  }

  Meeting& meeting_;
  int rank_;
};

}  // namespace

void Communicator::on_threads(int size, const std::function<void(Communicator&)>& work) {
  DPREDUCE_ASSERT(size >= 1);
  Meeting meeting(size);
  std::vector<std::exception_ptr> own_errors(static_cast<std::size_t>(size));
  std::exception_ptr of_peer;  // that of a rank which fell with another; rank 0's alone
  const auto run = [&](int rank) {
    Communicator ranks(std::make_unique<ThreadJob>(meeting, rank), rank, size);
    try {
      work(ranks);
    } catch (const PeerFailed&) {
      if (rank == 0) of_peer = std::current_exception();
    } catch (...) {
      own_errors[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int rank = 1; rank < size; ++rank) others.emplace_back(run, rank);
    run(0);
  }
  for (const std::exception_ptr& error : own_errors) {
    if (error) std::rethrow_exception(error);
  }
  if (of_peer) std::rethrow_exception(of_peer);
}

}  // namespace dpreduce
