#include "network/health_file.hpp"

#include <chrono>
#include <ctime>
#include <fstream>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"

namespace dpreduce {
namespace {

constexpr auto kPause = std::chrono::seconds(2);
constexpr auto kStale = std::chrono::seconds(10);

}  // namespace

HealthFile::HealthFile(std::string path, const NetworkWire& wire, std::string role, std::string name)
    : path_(std::move(path)), wire_(wire), role_(std::move(role)), name_(std::move(name)) {
  if (path_.empty()) return;
  require_none_but_health();
  AtomicFile::remove_when_ended(path_);  // before it is there
  try {
    write();
  } catch (const Error& fault) {
    throw BadInput("--health {}", fault.what());
  }
  thread_ = std::thread([this] { run(); });
}

HealthFile::~HealthFile() {
  {
    const std::lock_guard guard(lock_);
    has_ended_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HealthFile::set_state(std::string state, std::optional<int> exit_code) {
  const std::lock_guard guard(lock_);
  state_ = std::move(state);
  exit_code_ = exit_code;
  if (!path_.empty()) try_to_write();
}

// Refuses any other file under that name: a health file is replaced every two seconds.
void HealthFile::require_none_but_health() const {
  if (!is_file(path_)) return;
  std::ifstream file(path_);
  const nlohmann::json there = nlohmann::json::parse(file, nullptr, false);
  if (there.is_object() && there.contains("role") && there.contains("updated")) return;
  throw BadInput("--health {}: already exists, and is not a health file; give another name", path_);
}

void HealthFile::write() const {
  const std::time_t now = std::time(nullptr);
  nlohmann::json health{
      {"role", role_},
      {"name", name_},
      {"state", state_},
      {"pid", ::getpid()},
      {"address", wire_.address()},
      {"updated", static_cast<std::int64_t>(now)},
      {"note",
       fmt::format(
           "process {} wrote this at {:%Y-%m-%dT%H:%M:%SZ}, and updates it every {} s until it ends; if that is more "
           "than {} s ago and there is no exit code, the process was killed, and the rest is out of date",
           ::getpid(), fmt::gmtime(now), kPause.count(), kStale.count())}};
  if (exit_code_) health["exit_code"] = *exit_code_;
  for (const PartyStatus& party : wire_.status()) {
    const bool was_here = exit_code_ && party.state == LineState::kOpen;  // this party has left the line
    health["parties"][party.name] = to_string(was_here ? LineState::kLeft : party.state);
  }
  AtomicFile file(path_, Existing::kReplace, Readers::kOwnerOnly);
  file.commit(json_text(health, 2) + "\n");
}

// Ignores a failed write: the file then grows old, and its age is what a supervisor looks at.
void HealthFile::try_to_write() const {
  try {
    write();
  } catch (const Error&) {
    return;
  }
}

void HealthFile::run() {
  std::unique_lock guard(lock_);
  while (!ends_.wait_for(guard, kPause, [&] { return has_ended_; })) try_to_write();
}

}  // namespace dpreduce
