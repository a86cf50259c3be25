#include "common/ranks/communicator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <numeric>

#include "common/ranks/lifetime.hpp"
#include "common/ranks/mpi_job.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

// The job of a rank that is alone.
class LoneJob final : public Job {
 public:
  std::int64_t agree(std::int64_t verdict) override { return verdict; }
  void sum_to(int, std::span<std::uint64_t>) override {}
  void sum_everywhere(std::span<std::uint64_t>) override {}
  void sum_everywhere(std::span<double>) override {}
  void broadcast(std::span<std::byte>) override {}
  double max_everywhere(double value) override { return value; }
  void gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) override {
    DPREDUCE_ASSERT(local.size() == all.size());
    std::ranges::copy(local, all.begin());
  }
  Messages exchange(Messages messages) override { return messages; }
  int ranks_on_machine() override { return 1; }
};

}  // namespace

Communicator::Communicator(std::unique_ptr<Job> job, int rank, int size)
    : job_(std::move(job)), rank_(rank), size_(size) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator Communicator::join(const std::string& doubt) {
  if (!launched_by_mpi()) {
    require_single_process();
    return alone();
  }
  JoinedJob joined = join_mpi_job(doubt);
  if (joined.size == 1) require_single_process();
  return {std::move(joined.job), joined.rank, joined.size};
}

Communicator Communicator::alone() {
  return {std::make_unique<LoneJob>(), 0, 1};
}

Communicator Communicator::among_silos(std::unique_ptr<SiloJob> job, int rank, int size) {
  SiloJob* silos = job.get();
  Communicator ranks(std::move(job), rank, size);
  ranks.silos_ = silos;
  return ranks;
}

void Communicator::together(const std::function<void()>& work) {
  std::exception_ptr own_error;
  std::exception_ptr of_peer;  // this rank has noticed that another has failed
  std::int64_t verdict = kNobodyFailed;
  try {
    work();
  } catch (const PeerFailed&) {
    of_peer = std::current_exception();
  } catch (const Error& error) {
    own_error = std::current_exception();
    verdict = failure_of(rank_, error.code());
  } catch (...) {
    own_error = std::current_exception();
    verdict = failure_of(rank_, ExitCode::kInternal);
  }
  if (own_error) job_->announce_failure();
  try {
    verdict = job_->agree(verdict);
  } catch (...) {
    if (own_error) std::rethrow_exception(own_error);
    if (of_peer) std::rethrow_exception(of_peer);
    throw;
  }
  if (verdict == kNobodyFailed && !own_error && !of_peer) return;
  // The verdict of the others can stop this rank, and decides whose error is printed. The verdict never undoes what has
  // happened here. A silo takes nobody's word: its own error counts, whichever rank is reported to have failed.
  failure_agreed_ = true;
  const bool is_of_another = verdict != kNobodyFailed && failed_party(verdict) != rank_;
  if (own_error && (!is_of_another || silos_ != nullptr)) std::rethrow_exception(own_error);
  if (verdict == kNobodyFailed) std::rethrow_exception(of_peer);
  throw PeerFailed(code_of(verdict), failed_party(verdict));
}

void Communicator::at_coordinator(const std::function<void()>& work) {
  together([&] {
    if (is_coordinator()) work();
  });
}

void Communicator::sum_to(int owner, std::span<std::uint64_t> values) {
  DPREDUCE_ASSERT(owner >= 0 && owner < owners());
  job_->sum_to(owner, values);
}

std::unique_ptr<PendingSum> Communicator::start_sum_to(int owner, std::span<std::uint64_t> values) {
  DPREDUCE_ASSERT(owner >= 0 && owner < owners());
  return job_->start_sum_to(owner, values);
}

void Communicator::sum_everywhere(std::span<double> values) {
  DPREDUCE_ASSERT(silos_ == nullptr);
  job_->sum_everywhere(values);
}

void Communicator::broadcast(std::span<double> values) {
  broadcast(std::as_writable_bytes(values));
  if (silos_ == nullptr || std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return;
  throw AggregationAborted("the coordinator's values are not finite");  // silos need not trust it
}

TrustedRanks Communicator::trusted() {
  DPREDUCE_ASSERT(silos_ == nullptr);
  return TrustedRanks(*this);
}

std::string TrustedRanks::broadcast(std::string message) {
  std::uint64_t length = message.size();
  ranks_.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  message.resize(length);
  ranks_.broadcast(std::as_writable_bytes(std::span(message)));
  return message;
}

// Length of each rank's values, at the coordinator.
std::vector<std::size_t> Communicator::lengths_of_ranks(std::size_t own) {
  std::vector<std::size_t> lengths(is_coordinator() ? static_cast<std::size_t>(size_) : 0);
  job_->gather_to_coordinator(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(lengths)));
  return lengths;
}

std::vector<std::int32_t> Communicator::gather_to_coordinator(std::span<const std::int32_t> local) {
  DPREDUCE_ASSERT(silos_ == nullptr);
  const std::vector<std::size_t> lengths = lengths_of_ranks(local.size());
  std::vector<std::int32_t> all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  job_->gather_to_coordinator(std::as_bytes(local), std::as_writable_bytes(std::span(all)));
  return all;
}

void Communicator::gather_to_coordinator(std::span<const std::byte> local, std::span<std::byte> all) {
  DPREDUCE_ASSERT(silos_ == nullptr);
  job_->gather_to_coordinator(local, all);
}

std::vector<std::string> TrustedRanks::gather(std::string_view message) {
  const std::vector<std::size_t> lengths = ranks_.lengths_of_ranks(message.size());
  std::string all(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), '\0');
  ranks_.gather_to_coordinator(std::as_bytes(std::span(message)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> messages;
  std::size_t first = 0;
  for (const std::size_t length : lengths) {
    messages.push_back(all.substr(first, length));
    first += length;
  }
  return messages;
}

Job::Messages Communicator::exchange(Job::Messages messages) {
  DPREDUCE_ASSERT(silos_ == nullptr && messages.size() == static_cast<std::size_t>(size_));
  return job_->exchange(std::move(messages));
}

void Communicator::abort(ExitCode code) {
  job_->abort(code);
  std::_Exit(static_cast<int>(code));
}

}  // namespace dpreduce
