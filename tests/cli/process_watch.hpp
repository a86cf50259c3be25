// The processes of one run, as /proc shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dpreduce {

struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  std::string name;
  int rank;  ///< -1 where no launcher gave it one
};

/// Every living process whose environment holds `mark` ("NAME=value").
std::vector<ProcessEntry> processes_with(const std::string& mark);

/// The process that works for `rank`: not mpirun, not a guard.
std::optional<pid_t> worker_of_rank(const std::string& mark, int rank);
/// The same, waited for.
std::optional<pid_t> awaited_worker(const std::string& mark, int rank, double seconds);

/// Bytes of the mapped `file` (its absolute path) that the process has read; 0 where it has none mapped.
std::size_t bytes_read_of(pid_t process, const std::string& file);

/// Waits until no process has the mark. Whether that was so within the time.
bool all_gone(const std::string& mark, double seconds);

}  // namespace dpreduce
