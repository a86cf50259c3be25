// What a rank may take of its machine.
#pragma once

#include <cstddef>
#include <optional>

#include "common/base/archive_all.hpp"

namespace dpreduce {

struct MachineOptions {
  unsigned threads = 0;                     ///< 0: every core alone, one under a launcher
  std::optional<std::size_t> memory_mib{};  ///< for the row buffers of a rank; empty: as the method likes it
  bool operator==(const MachineOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, MachineOptions& options, unsigned) {
  auto& [threads, memory_mib] = options;
  archive_all(archive, threads, memory_mib);
}

/// Throws UsageError where the part is out of range.
void check(const MachineOptions& machine);

}  // namespace dpreduce
