// Memory that this process may use, and the refusal of work that does not fit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/ranks/communicator.hpp"

namespace dpreduce {

/// Bytes that new allocations on this machine may use: the least of MemAvailable and of what is left of the memory
/// limit of this process's control group (version 1 or 2) and of each group around it. Files' pages count as free.
/// Nullopt if /proc/meminfo does not name MemAvailable. `root` is prefixed to /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

/// Bytes that this process may still map: the least of what is left of its limits of address space (ulimit -v) and of
/// data (ulimit -d). Nullopt if the process has no such limit. `root` is prefixed to /proc.
std::optional<std::uint64_t> left_of_process(const std::filesystem::path& root = "/");

/// Remedy that the message names if a fit does not fit into memory.
inline constexpr std::string_view kCureOfFit =
    "lower --memory, reduce features with --pool, --pca or --select, or use a method without Gram matrices";

/// Share of its machine that a rank has.
struct MachineShare {
  int ranks = 1;                           ///< on the machine, at least 1
  std::optional<std::uint64_t> available;  ///< bytes, for all of these ranks; nullopt if the machine reports none
  std::optional<std::uint64_t> left{};     ///< left_of_process, of this rank

  /// Returns the smaller of available / ranks and `left`, of those that are known; no bound if neither is.
  std::uint64_t bytes_for_rank() const;
  /// Throws UsageError, naming the remedy `cure`, if bytes_of_rank on every rank are more than is available, if that is
  /// known; and if they, and `mapped_bytes` of files beside them, are more than this process may still map.
  void require(std::uint64_t bytes_of_rank, std::uint64_t mapped_bytes = 0, std::string_view cure = kCureOfFit) const;
};

/// Returns this rank's current share, once BLAS has its working memory. Collective. Throws as take_blas_memory.
MachineShare machine_share(Communicator& ranks);

}  // namespace dpreduce
