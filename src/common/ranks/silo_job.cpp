#include "common/ranks/silo_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace dpreduce {

SiloJob::SiloJob(Wire& wire, int rank, SiloEntry entry, CoordinatorSession::OnLost on_lost, const SessionMaker& maker) {
  if (rank == 0) {
    coordinator_ = maker.coordinator(wire, std::move(entry), std::move(on_lost));
    coordinator_->connect();
  } else {
    silo_ = maker.silo(wire, static_cast<std::uint32_t>(rank), std::move(entry));
    silo_->connect();
  }
}

void SiloJob::agree_on_plan(const PublicKey& plan) {
  coordinator_ ? coordinator_->agree_on_plan(plan) : silo_->agree_on_plan(plan);
  has_plan_ = true;
  if (entry().log != nullptr) {
    entry().log->line(fmt::format("noise plan {}: all that are left have made the same", short_hex(plan)));
  }
}

void SiloJob::check_peers() {
  if (silo_) silo_->check();
}

std::int64_t SiloJob::agree(std::int64_t verdict) {
  return coordinator_ ? coordinator_->agree(verdict) : silo_->agree(verdict);
}

void SiloJob::sum_to(int owner, std::span<std::uint64_t> values) {
  DPREDUCE_ASSERT(owner == 0 && has_plan_);
  if (values.empty()) return;
  if (coordinator_) return coordinator_->sum(values);
  silo_->sum(values);
  std::fill(values.begin(), values.end(), 0);
}

void SiloJob::sum_everywhere(std::span<std::uint64_t> values) {
  sum_to(0, values);
  broadcast(std::as_writable_bytes(values));
}

void SiloJob::sum_everywhere(std::span<double>) {
  throw std::logic_error("dpreduce: internal error: sums of doubles have no masks");
}

void SiloJob::broadcast(std::span<std::byte> bytes) {
  coordinator_ ? coordinator_->broadcast(bytes) : silo_->receive_broadcast(bytes);
}

double SiloJob::max_everywhere(double value) {
  return coordinator_ ? coordinator_->largest(value) : silo_->largest(value);
}

void SiloJob::gather_to_coordinator(std::span<const std::byte>, std::span<std::byte>) {
  throw std::logic_error("dpreduce: internal error: a silo's values leave it in sums alone");
}

Job::Messages SiloJob::exchange(Messages) {
  throw std::logic_error("dpreduce: internal error: silos have no messages for each other");
}

// In a simulation silos share a machine; the launcher knows how many.
int SiloJob::ranks_on_machine() {
  const char* count = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return count == nullptr ? 1 : std::max(1, std::atoi(count));
}

}  // namespace dpreduce
