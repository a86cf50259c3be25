#include "dpreduce/transport/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "dpreduce/transport/lifetime.hpp"

namespace dpreduce {
namespace {

constexpr int kFailureTag = 1;
constexpr std::int64_t kNobodyFailed = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExitCodes = 256;

void check_mpi(int status, const char* routine) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw AggregationAborted(fmt::format("{} failed: {}; a rank may have been lost", routine, text.data()));
}

}  // namespace

struct Communicator::Job {
  MPI_Comm sums = MPI_COMM_NULL;    // collectives
  MPI_Comm alarms = MPI_COMM_NULL;  // failure announcements, point to point

  Job() {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &sums), "MPI_Comm_dup");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &alarms), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(sums, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(alarms, MPI_ERRORS_RETURN);
  }
  ~Job() { MPI_Finalize(); }
};

Communicator::Communicator(std::unique_ptr<Job> job, int rank, int size)
    : job_(std::move(job)), rank_(rank), size_(size) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::join() {
  if (!launched_by_mpi()) return {nullptr, 0, 1};
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  auto job = std::make_unique<Job>();
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(job->sums, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(job->sums, &size), "MPI_Comm_size");
  return {std::move(job), rank, size};
}

int Communicator::ranks_on_machine() {
  if (!job_) return 1;
  MPI_Comm machine = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(job_->sums, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
            "MPI_Comm_split_type");
  int ranks = 1;
  check_mpi(MPI_Comm_size(machine, &ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&machine), "MPI_Comm_free");
  return ranks;
}

void Communicator::announce_failure() {
  if (!job_) return;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(nullptr, 0, MPI_BYTE, peer, kFailureTag, job_->alarms, &request) == MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }
}

void Communicator::check_peers() {
  if (!job_) return;
  int announced = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, job_->alarms, &announced, &status), "MPI_Iprobe");
  // The code is agreed upon at the end of the phase; until then this rank only knows that there is nothing to wait for.
  if (announced != 0) throw PeerFailed(ExitCode::kInternal, status.MPI_SOURCE);
}

void Communicator::together(const std::function<void()>& work) {
  std::exception_ptr own_error;
  std::int64_t verdict = kNobodyFailed;  // rank * 256 + code of the failing rank; the smallest one is agreed upon
  try {
    work();
  } catch (const PeerFailed&) {
    // Not this rank's failure.
  } catch (const Error& error) {
    own_error = std::current_exception();
    verdict = rank_ * kExitCodes + static_cast<int>(error.code());
  } catch (...) {
    own_error = std::current_exception();
    verdict = rank_ * kExitCodes + static_cast<int>(ExitCode::kInternal);
  }
  if (!job_) {
    failure_agreed_ = own_error != nullptr;
    if (own_error) std::rethrow_exception(own_error);
    return;
  }
  if (own_error) announce_failure();
  std::int64_t agreed = kNobodyFailed;
  check_mpi(MPI_Allreduce(&verdict, &agreed, 1, MPI_INT64_T, MPI_MIN, job_->sums), "MPI_Allreduce");
  if (agreed == kNobodyFailed) return;
  failure_agreed_ = true;
  const int failed_rank = static_cast<int>(agreed / kExitCodes);
  if (failed_rank == rank_) std::rethrow_exception(own_error);
  throw PeerFailed(static_cast<ExitCode>(agreed % kExitCodes), failed_rank);
}

void Communicator::sum_to(int owner, std::span<std::uint64_t> values, std::size_t elements_per_message) {
  DPREDUCE_ASSERT(owner >= 0 && owner < size_);
  DPREDUCE_ASSERT(elements_per_message > 0 && elements_per_message <= std::numeric_limits<int>::max());
  if (!job_) return;
  for (std::size_t first = 0; first < values.size(); first += elements_per_message) {
    const auto part = values.subspan(first, std::min(elements_per_message, values.size() - first));
    const void* send = rank_ == owner ? MPI_IN_PLACE : part.data();
    check_mpi(MPI_Reduce(send, part.data(), static_cast<int>(part.size()), MPI_UINT64_T, MPI_SUM, owner, job_->sums),
              "MPI_Reduce");
  }
  if (rank_ != owner) std::fill(values.begin(), values.end(), 0);
}

void Communicator::sum_to_coordinator(std::span<std::uint64_t> values, std::size_t elements_per_message) {
  sum_to(0, values, elements_per_message);
}

void Communicator::sum_everywhere(std::span<std::uint64_t> values, std::size_t elements_per_message) {
  DPREDUCE_ASSERT(elements_per_message > 0 && elements_per_message <= std::numeric_limits<int>::max());
  if (!job_) return;
  for (std::size_t first = 0; first < values.size(); first += elements_per_message) {
    const auto part = values.subspan(first, std::min(elements_per_message, values.size() - first));
    check_mpi(
        MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_UINT64_T, MPI_SUM, job_->sums),
        "MPI_Allreduce");
  }
}

void Communicator::sum_everywhere(std::span<double> values) {
  if (!job_) return;
  for (std::size_t first = 0; first < values.size(); first += kElementsPerMessage) {
    const auto part = values.subspan(first, std::min(kElementsPerMessage, values.size() - first));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_DOUBLE, MPI_SUM, job_->sums),
              "MPI_Allreduce");
  }
}

void Communicator::broadcast(std::span<double> values) {
  if (!job_) return;
  for (std::size_t first = 0; first < values.size(); first += kElementsPerMessage) {
    const auto part = values.subspan(first, std::min(kElementsPerMessage, values.size() - first));
    check_mpi(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_DOUBLE, 0, job_->sums), "MPI_Bcast");
  }
}

void Communicator::broadcast(std::span<std::byte> bytes) {
  if (!job_) return;
  for (std::size_t first = 0; first < bytes.size(); first += kElementsPerMessage) {
    const auto part = bytes.subspan(first, std::min(kElementsPerMessage, bytes.size() - first));
    check_mpi(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, 0, job_->sums), "MPI_Bcast");
  }
}

double Communicator::max_everywhere(double value) {
  if (!job_) return value;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, job_->sums), "MPI_Allreduce");
  return value;
}

std::vector<std::int32_t> Communicator::gather_to_coordinator(std::span<const std::int32_t> local) {
  if (!job_) return {local.begin(), local.end()};
  // One rank after the other, in messages of bounded length: the lengths first, then the values.
  std::int64_t length = static_cast<std::int64_t>(local.size());
  std::vector<std::int64_t> lengths(is_coordinator() ? static_cast<std::size_t>(size_) : 0);
  check_mpi(MPI_Gather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, 0, job_->sums), "MPI_Gather");
  std::vector<std::int32_t> all;
  if (is_coordinator()) all.assign(local.begin(), local.end());
  const auto for_each_message = [](std::size_t elements, const auto& transfer) {
    for (std::size_t first = 0; first < elements; first += kElementsPerMessage) {
      transfer(first, static_cast<int>(std::min(kElementsPerMessage, elements - first)));
    }
  };
  if (!is_coordinator()) {
    for_each_message(local.size(), [&](std::size_t first, int count) {
      check_mpi(MPI_Send(local.data() + first, count, MPI_INT32_T, 0, 0, job_->sums), "MPI_Send");
    });
    return {};
  }
  for (int peer = 1; peer < size_; ++peer) {
    const std::size_t offset = all.size();
    all.resize(offset + static_cast<std::size_t>(lengths[static_cast<std::size_t>(peer)]));
    for_each_message(all.size() - offset, [&](std::size_t first, int count) {
      check_mpi(MPI_Recv(all.data() + offset + first, count, MPI_INT32_T, peer, 0, job_->sums, MPI_STATUS_IGNORE),
                "MPI_Recv");
    });
  }
  return all;
}

void Communicator::abort(ExitCode code) {
  if (job_) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace dpreduce
