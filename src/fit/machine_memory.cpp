#include "fit/machine_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "aggregator/solvers/blas.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Returns the number behind `beginning` in the first line that has one there; nullopt where that line has a word
// instead, "max" or "unlimited".
std::optional<std::uint64_t> number_after(const std::filesystem::path& file, const std::string& beginning) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(beginning)) continue;
    std::istringstream rest(line.substr(beginning.size()));
    std::uint64_t number = 0;
    return rest >> number ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> left_of_group(const std::filesystem::path& group, const char* limit_file,
                                           const char* use_file, const std::string& file_pages) {
  const auto limit = number_after(group / limit_file, "");
  const auto use = number_after(group / use_file, "");
  if (!limit || !use) return std::nullopt;
  const std::uint64_t pages = std::min(*use, number_after(group / "memory.stat", file_pages + " ").value_or(0));
  return *limit - std::min(*limit, *use - pages);
}

// The group's path below the mount: "0::/a/b" of version 2, "4:memory:/a/b" of version 1.
std::string path_of_group(const std::filesystem::path& file, bool is_version_2) {
  const std::string_view controllers = is_version_2 ? "::" : ":memory:";
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = std::min(line.find(':'), line.size());
    if (line.compare(first, controllers.size(), controllers) == 0) return line.substr(first + controllers.size());
  }
  return "/";
}

}  // namespace

std::optional<std::uint64_t> available_memory(const std::filesystem::path& root) {
  const auto kibibytes = number_after(root / "proc/meminfo", "MemAvailable:");
  if (!kibibytes) return std::nullopt;
  std::uint64_t least = *kibibytes << 10;
  for (const bool is_version_2 : {true, false}) {
    const std::filesystem::path mount = root / (is_version_2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    const std::filesystem::path own = path_of_group(root / "proc/self/cgroup", is_version_2);
    // In a container the group itself may be mounted here. Then the longer paths do not exist, and are passed over.
    for (std::filesystem::path below = own.relative_path();; below = below.parent_path()) {
      const auto left = is_version_2 ? left_of_group(mount / below, "memory.max", "memory.current", "inactive_file")
                                     : left_of_group(mount / below, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                                     "total_inactive_file");
      if (left) least = std::min(least, *left);
      if (below.empty()) break;
    }
  }
  return least;
}

std::optional<std::uint64_t> left_of_process(const std::filesystem::path& root) {
  const std::filesystem::path self = root / "proc/self";
  std::optional<std::uint64_t> least;
  for (const auto& [limit, use] : {std::pair{"Max address space", "VmSize:"}, std::pair{"Max data size", "VmData:"}}) {
    const std::optional<std::uint64_t> most = number_after(self / "limits", limit);
    if (!most) continue;
    const std::uint64_t used = number_after(self / "status", use).value_or(0) << 10;
    least = std::min(least.value_or(*most), *most - std::min(*most, used));
  }
  return least;
}

std::uint64_t MachineShare::bytes_for_rank() const {
  constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();
  return std::min(available.value_or(kNoBound) / static_cast<std::uint64_t>(ranks), left.value_or(kNoBound));
}

void MachineShare::require(std::uint64_t bytes_of_rank, std::uint64_t mapped_bytes, std::string_view cure) const {
  if (available && bytes_of_rank > *available / static_cast<std::uint64_t>(ranks)) {
    throw UsageError(
        "not enough memory: a rank needs up to {} MiB, and {} {} on this machine have {} MiB in all; use fewer "
        "ranks a machine, {}",
        (bytes_of_rank >> 20) + 1, ranks, ranks == 1 ? "rank" : "ranks", *available >> 20, cure);
  }
  if (!left || (bytes_of_rank <= *left && mapped_bytes <= *left - bytes_of_rank)) return;
  throw UsageError(
      "not enough memory: a rank needs up to {} MiB, and maps {} MiB of files, but this process can "
      "allocate {} MiB more; raise its limits (ulimit -v, ulimit -d), {}",
      (bytes_of_rank >> 20) + 1, (mapped_bytes >> 20) + 1, *left >> 20, cure);
}

MachineShare machine_share(Communicator& ranks) {
  ranks.together([] { take_blas_memory(); });
  return {ranks.ranks_on_machine(), available_memory(), left_of_process()};
}

}  // namespace dpreduce
