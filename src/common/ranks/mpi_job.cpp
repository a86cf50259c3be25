#include "common/ranks/mpi_job.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <mpi.h>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"

namespace dpreduce {
namespace {

constexpr int kFailureTag = 1;
constexpr std::size_t kBytesPerMessage = std::size_t{1} << 27;

template <typename T, typename Transfer>
void in_messages(std::span<T> values, const Transfer& transfer) {
  constexpr std::size_t kElements = kBytesPerMessage / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += kElements) {
    const auto part = values.subspan(first, std::min(kElements, values.size() - first));
    transfer(part.data(), static_cast<int>(part.size()));
  }
}

// Reductions of MPI's own; the values of all ranks but the owner are zeroed at their end.
class MpiPendingSum final : public PendingSum {
 public:
  MpiPendingSum(MPI_Comm ranks, bool is_owner, int owner, std::span<std::uint64_t> values)
      : is_owner_(is_owner), values_(values) {
    in_messages(values, [&](std::uint64_t* part, int count) {
      const void* send = is_owner ? MPI_IN_PLACE : part;
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      require_mpi(MPI_Ireduce(send, part, count, MPI_UINT64_T, MPI_SUM, owner, ranks, &request), "MPI_Ireduce");
    });
  }
  ~MpiPendingSum() override {
    if (!requests_.empty()) MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void advance() override {
    int is_over = 0;
    require_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_over, MPI_STATUSES_IGNORE),
                "MPI_Testall");
  }

  void wait() override {
    require_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests_.clear();
    if (!is_owner_) std::fill(values_.begin(), values_.end(), 0);
  }

 private:
  bool is_owner_;
  std::span<std::uint64_t> values_;
  std::vector<MPI_Request> requests_;
};

class MpiJob final : public Job {
 public:
  explicit MpiJob(bool has_started_mpi) : has_started_mpi_(has_started_mpi) {
    require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &sums_), "MPI_Comm_dup");
    require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &alarms_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(sums_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(alarms_, MPI_ERRORS_RETURN);
    require_mpi(MPI_Comm_rank(sums_, &rank_), "MPI_Comm_rank");
    require_mpi(MPI_Comm_size(sums_, &size_), "MPI_Comm_size");
  }
  ~MpiJob() override {
    if (has_started_mpi_) {
      end_mpi();
      return;
    }
    int has_ended = 0;
    if (MPI_Finalized(&has_ended) != MPI_SUCCESS || has_ended != 0) return;
    MPI_Comm_free(&alarms_);
    MPI_Comm_free(&sums_);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  void announce_failure() override {
    const std::uint64_t& phase = announced_.emplace_back(phase_);
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(&phase, 1, MPI_UINT64_T, peer, kFailureTag, alarms_, &request) == MPI_SUCCESS) {
        MPI_Request_free(&request);
      }
    }
  }

  void check_peers() override {
    // A failure of an earlier phase was agreed upon at its end, though its announcement may come only now.
    while (!failed_ || failed_->phase < phase_) {
      int is_announced = 0;
      MPI_Status status;
      require_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, alarms_, &is_announced, &status), "MPI_Iprobe");
      if (is_announced == 0) return;
      failed_ = FailedPeer{.rank = status.MPI_SOURCE};
      require_mpi(MPI_Recv(&failed_->phase, 1, MPI_UINT64_T, failed_->rank, kFailureTag, alarms_, MPI_STATUS_IGNORE),
                  "MPI_Recv");
    }
    // The code is agreed upon at the end of the phase; until then this rank only knows that there is nothing to wait
    // for.
    throw PeerFailed(ExitCode::kInternal, failed_->rank);
  }

  std::int64_t agree(std::int64_t verdict) override {
    std::int64_t agreed = verdict;
    require_mpi(MPI_Allreduce(&verdict, &agreed, 1, MPI_INT64_T, MPI_MIN, sums_), "MPI_Allreduce");
    ++phase_;
    return agreed;
  }

  void sum_to(int owner, std::span<std::uint64_t> values) override {
    in_messages(values, [&](std::uint64_t* part, int count) {
      const void* send = rank_ == owner ? MPI_IN_PLACE : part;
      require_mpi(MPI_Reduce(send, part, count, MPI_UINT64_T, MPI_SUM, owner, sums_), "MPI_Reduce");
    });
    if (rank_ != owner) std::fill(values.begin(), values.end(), 0);
  }

  std::unique_ptr<PendingSum> start_sum_to(int owner, std::span<std::uint64_t> values) override {
    return std::make_unique<MpiPendingSum>(sums_, rank_ == owner, owner, values);
  }

  void sum_everywhere(std::span<std::uint64_t> values) override {
    in_messages(values, [&](std::uint64_t* part, int count) {
      require_mpi(MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_UINT64_T, MPI_SUM, sums_), "MPI_Allreduce");
    });
  }

  void sum_everywhere(std::span<double> values) override {
    in_messages(values, [&](double* part, int count) {
      require_mpi(MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_DOUBLE, MPI_SUM, sums_), "MPI_Allreduce");
    });
  }

  void broadcast(std::span<std::byte> bytes) override {
    in_messages(bytes, [&](std::byte* part, int count) {
      require_mpi(MPI_Bcast(part, count, MPI_BYTE, 0, sums_), "MPI_Bcast");
    });
  }

  double max_everywhere(double value) override {
    require_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, sums_), "MPI_Allreduce");
    return value;
  }

  // First the lengths, then one rank after the other, in messages of bounded length.
  void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) override {
    const auto length = static_cast<std::int64_t>(local.size());
    std::vector<std::int64_t> lengths(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
    require_mpi(MPI_Gather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, 0, sums_), "MPI_Gather");
    if (rank_ != 0) {
      in_messages(local, [&](const std::byte* part, int count) {
        require_mpi(MPI_Send(part, count, MPI_BYTE, 0, 0, sums_), "MPI_Send");
      });
      return;
    }
    DPREDUCE_ASSERT(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == std::ssize(all));
    std::copy(local.begin(), local.end(), all.begin());
    std::size_t offset = local.size();
    for (int peer = 1; peer < size_; ++peer) {
      const auto of_peer = static_cast<std::size_t>(lengths[static_cast<std::size_t>(peer)]);
      in_messages(all.subspan(offset, of_peer), [&](std::byte* part, int count) {
        require_mpi(MPI_Recv(part, count, MPI_BYTE, peer, 0, sums_, MPI_STATUS_IGNORE), "MPI_Recv");
      });
      offset += of_peer;
    }
  }

  // Lengths first, then step by step with the rank that is so far ahead and the one that is so far behind.
  Messages exchange(Messages messages) override {
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<std::uint64_t> lengths(ranks);
    std::vector<std::uint64_t> lengths_of_peers(ranks);
    for (std::size_t peer = 0; peer < ranks; ++peer) lengths[peer] = messages[peer].size();
    require_mpi(MPI_Alltoall(lengths.data(), 1, MPI_UINT64_T, lengths_of_peers.data(), 1, MPI_UINT64_T, sums_),
                "MPI_Alltoall");
    Messages received(ranks);
    received[static_cast<std::size_t>(rank_)] = std::move(messages[static_cast<std::size_t>(rank_)]);
    for (int step = 1; step < size_; ++step) {
      const int ahead = (rank_ + step) % size_;
      const int behind = (rank_ + size_ - step) % size_;
      std::vector<std::uint64_t>& from = received[static_cast<std::size_t>(behind)];
      from.resize(lengths_of_peers[static_cast<std::size_t>(behind)]);
      std::vector<MPI_Request> requests;
      in_messages(std::span(from), [&](std::uint64_t* part, int count) {
        require_mpi(MPI_Irecv(part, count, MPI_UINT64_T, behind, 0, sums_, &requests.emplace_back()), "MPI_Irecv");
      });
      in_messages(std::span(messages[static_cast<std::size_t>(ahead)]), [&](std::uint64_t* part, int count) {
        require_mpi(MPI_Send(part, count, MPI_UINT64_T, ahead, 0, sums_), "MPI_Send");
      });
      require_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
      messages[static_cast<std::size_t>(ahead)] = {};
    }
    return received;
  }

  int ranks_on_machine() override {
    MPI_Comm machine = MPI_COMM_NULL;
    require_mpi(MPI_Comm_split_type(sums_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
                "MPI_Comm_split_type");
    int ranks = 1;
    require_mpi(MPI_Comm_size(machine, &ranks), "MPI_Comm_size");
    require_mpi(MPI_Comm_free(&machine), "MPI_Comm_free");
    return ranks;
  }

  void abort(ExitCode code) override { MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code)); }

 private:
  struct FailedPeer {
    int rank = 0;
    std::uint64_t phase = 0;
  };

  std::uint64_t phase_ = 0;              // of work that ranks do together; ends with their agreement
  std::deque<std::uint64_t> announced_;  // phases in which this rank has failed; MPI may still read them
  std::optional<FailedPeer> failed_;     // whose announcement came last
  bool has_started_mpi_;                 // else it is the program's to end
  MPI_Comm sums_ = MPI_COMM_NULL;        // collectives
  MPI_Comm alarms_ = MPI_COMM_NULL;      // failure announcements, point to point
  int rank_ = 0;
  int size_ = 1;
};

void require_one_kind(JobKind kind, const std::string& doubt) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool is_of_silos = kind == JobKind::kSilos;
  // The lowest rank of either kind, and the lowest in doubt.
  std::array<int, 3> least{is_of_silos ? rank : kNobody, is_of_silos ? kNobody : rank, doubt.empty() ? kNobody : rank};
  require_mpi(
      MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(least.size()), MPI_INT, MPI_MIN, MPI_COMM_WORLD),
      "MPI_Allreduce");
  const int in_doubt = least[2];
  if (in_doubt != kNobody) {  // said before any rank ends: a launcher stops the others when one has failed
    if (in_doubt == rank)
      fmt::print(stderr, "dpreduce: {}{}\n", rank == 0 ? "" : fmt::format("rank {}: ", rank), doubt);
    throw PeerFailed(ExitCode::kUsage, in_doubt);
  }
  const auto [of_silos, of_others, unused] = least;
  if (of_silos == kNobody || of_others == kNobody) return;
  if (rank == 0) {
    fmt::print(
        stderr,
        "dpreduce: --secure-aggregation: is given to some ranks of this job, but not to others (rank {} is a party "
        "of a run among silos, and rank {} is not); give it to all of them, on the command line or in a --config that "
        "each can read\n",
        of_silos, of_others);
  }
  throw PeerFailed(ExitCode::kUsage, 0);
}

std::optional<PrivateFolder> shared_segments;

void start_mpi(int threads) {
  // Names of Open MPI 4, and of 5. Set whoever starts the ranks: a launcher need not be mpirun.
  constexpr std::array kFolderOfSegments{"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"};
  setenv("HOME", "/nonexistent", 0);
  const bool is_chosen =
      std::ranges::any_of(kFolderOfSegments, [](const char* name) { return std::getenv(name) != nullptr; });
  const bool makes_folder = !shared_segments && !is_chosen;
  if (makes_folder) {
    shared_segments.emplace();
    for (const char* name : kFolderOfSegments) setenv(name, shared_segments->path().c_str(), 1);
  }
  int provided = MPI_THREAD_SINGLE;
  require_mpi(MPI_Init_thread(nullptr, nullptr, threads, &provided), "MPI_Init_thread");
  if (!makes_folder) return;
  for (const char* name : kFolderOfSegments) unsetenv(name);  // programs that this one starts have folders of their own
}

}  // namespace

void require_mpi(int status, const char* routine) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw AggregationAborted("{} failed: {}; a rank may have been lost", routine, text.data());
}

void begin_mpi(int threads, JobKind kind, const std::string& doubt) {
  start_mpi(threads);
  try {
    require_one_kind(kind, doubt);
  } catch (const Error&) {
    end_mpi();  // no rank ends before this is told
    throw;
  }
}

void end_mpi() {
  MPI_Finalize();
  shared_segments.reset();
}

JoinedJob join_mpi_job(const std::string& doubt) {
  int has_ended = 0;
  require_mpi(MPI_Finalized(&has_ended), "MPI_Finalized");
  if (has_ended != 0) {
    throw AggregationAborted("this process has left its MPI job; join once per process, and keep the Communicator");
  }
  int has_begun = 0;
  require_mpi(MPI_Initialized(&has_begun), "MPI_Initialized");
  if (has_begun == 0) {
    begin_mpi(MPI_THREAD_FUNNELED, JobKind::kTrustedRanks, doubt);
  } else {
    require_one_kind(JobKind::kTrustedRanks, doubt);
  }
  auto job = std::make_unique<MpiJob>(has_begun == 0);
  const int rank = job->rank();
  const int size = job->size();
  return {std::move(job), rank, size};
}

}  // namespace dpreduce
