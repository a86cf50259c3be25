#include "tests/cli/process_watch.hpp"

#include <cctype>
#include <cstdlib>

#include "tests/cli/program_run.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce {
namespace {

// Value of a variable in /proc/PID/environ, whose entries end with a zero byte.
std::optional<std::string> variable(const std::string& environment, const std::string& name) {
  const std::string all = std::string(1, '\0') + environment;
  const std::size_t at = all.find(std::string(1, '\0') + name + "=");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t value = at + name.size() + 2;
  return all.substr(value, all.find('\0', value) - value);
}

// The fourth field of /proc/PID/stat; the second, in brackets, may hold anything.
pid_t parent_of(pid_t process) {
  const std::string status = read_bytes("/proc/" + std::to_string(process) + "/stat");
  std::istringstream after_name(status.substr(std::min(status.size(), status.rfind(')') + 1)));
  std::string state;
  pid_t parent = -1;
  after_name >> state >> parent;
  return parent;
}

std::string name_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::vector<ProcessEntry> processes_with(const std::string& mark) {
  const std::string name = mark.substr(0, mark.find('='));
  const std::string value = mark.substr(mark.find('=') + 1);
  std::vector<ProcessEntry> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string environment = read_bytes(entry.path().string() + "/environ");
    if (variable(environment, name) != value) continue;
    const std::string rank = variable(environment, "OMPI_COMM_WORLD_RANK").value_or("-1");
    found.push_back({pid, parent_of(pid), name_of(pid), std::atoi(rank.c_str())});
  }
  return found;
}

std::optional<pid_t> worker_of_rank(const std::string& mark, int rank) {
  for (const ProcessEntry& process : processes_with(mark)) {
    if (process.rank == rank && process.name.starts_with("dpreduce") && name_of(process.parent) == "dpreduce-guard") {
      return process.pid;
    }
  }
  return std::nullopt;
}

std::optional<pid_t> awaited_worker(const std::string& mark, int rank, double seconds) {
  std::optional<pid_t> worker;
  is_so_within(seconds, [&] { return (worker = worker_of_rank(mark, rank)).has_value(); });
  return worker;
}

std::size_t bytes_read_of(pid_t process, const std::string& file) {
  std::istringstream maps(read_bytes("/proc/" + std::to_string(process) + "/smaps"));
  bool in_file = false;
  std::size_t most = 0;  // it may be mapped twice
  for (std::string line; std::getline(maps, line);) {
    const bool is_of_mapping = !line.empty() && std::isupper(static_cast<unsigned char>(line.front())) == 0;
    if (is_of_mapping) in_file = line.ends_with(" " + file);
    if (in_file && line.starts_with("Rss:")) {
      most = std::max(most, std::size_t{std::strtoull(line.c_str() + 4, nullptr, 10)} << 10);
    }
  }
  return most;
}

bool all_gone(const std::string& mark, double seconds) {
  return is_so_within(seconds, [&] { return processes_with(mark).empty(); });
}

}  // namespace dpreduce
