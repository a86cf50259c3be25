// Memory of this process, and the refusal of what does not fit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Bytes that new allocations on this machine may use: MemAvailable, or what is left of the memory limit of this
/// process's control group (version 1 or 2) or of one around it, files' pages counted as free; the least of them.
/// Nullopt where /proc/meminfo does not name it. `root` is prefixed to /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

/// Bytes that this process may still map: what is left of its limits of address space (ulimit -v) and of data (ulimit
/// -d), the least of them. Nullopt where it has no such limit. `root` is prefixed to /proc.
std::optional<std::uint64_t> left_of_process(const std::filesystem::path& root = "/");

/// Remedy named where a fit does not fit into memory.
inline constexpr std::string_view kCureOfFit =
    "lower --memory, reduce features with --pool, --pca or --select, or use a method without Gram matrices";

/// Throws UsageError, naming the remedy, where ranks_on_machine times bytes_of_rank is more than `available`.
/// Precondition: ranks_on_machine >= 1.
void require_memory(std::uint64_t bytes_of_rank, int ranks_on_machine, std::uint64_t available,
                    std::string_view cure = kCureOfFit);

/// This rank's part of its machine.
struct MachineShare {
  int ranks = 1;                           ///< on the machine
  std::optional<std::uint64_t> available;  ///< bytes, for all of these ranks; none where the machine does not say
  std::optional<std::uint64_t> left{};     ///< left_of_process, of this rank

  /// available / ranks, or what is left, the less of them; or no bound.
  std::uint64_t bytes_for_rank() const;
  /// Calls require_memory, where available memory is known. Throws UsageError where bytes_of_rank, and `mapped_bytes`
  /// of files beside, are more than this process may still map.
  void require(std::uint64_t bytes_of_rank, std::uint64_t mapped_bytes = 0, std::string_view cure = kCureOfFit) const;
};

/// The share of this rank as things are now, once BLAS has what it works in. Collective. Throws as take_blas_memory.
MachineShare machine_share(Communicator& ranks);

}  // namespace dpreduce
