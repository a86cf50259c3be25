// Small file that reports the state of a party, for a supervisor: JSON, replaced as a whole every two seconds.
//
//     {"role": "coordinator", "name": "hub", "state": "waiting" | "running" | "ended", "exit_code": 0, "pid": 42,
//      "address": "0.0.0.0:7000", "updated": 1767225600, "note": "process 42 wrote this at ...",
//      "parties": {"north": "here", ...}}
//
// The file has "exit_code" once the party has ended. SIGTERM and Ctrl-C remove the file. A file that is older than ten
// seconds and has no exit code is from a process that was killed, as its note says. Only its owner may read the file
// (mode 0600), since an exit code may depend on rows.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "network/network_wire.hpp"

namespace dpreduce {

class HealthFile {
 public:
  /// Writes the file at `path`; no file if `path` is empty. `wire` outlives this object. Throws BadInput with the path
  /// and the system's reason, or if the file exists and is no health file.
  HealthFile(std::string path, const NetworkWire& wire, std::string role, std::string name);
  ~HealthFile();
  HealthFile(const HealthFile&) = delete;
  HealthFile& operator=(const HealthFile&) = delete;

  void set_state(std::string state, std::optional<int> exit_code = std::nullopt);

 private:
  void require_none_but_health() const;
  void write() const;
  void try_to_write() const;
  void run();

  std::string path_;
  const NetworkWire& wire_;
  std::string role_;
  std::string name_;
  std::string state_ = "waiting";
  std::optional<int> exit_code_;
  std::mutex lock_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace dpreduce
