#include "network/health_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {

HealthFile::HealthFile(std::string path, const NetworkWire& wire, std::string role, std::string name)
    : path_(std::move(path)), wire_(wire), role_(std::move(role)), name_(std::move(name)) {
  if (path_.empty()) return;
  if (!write()) throw BadInput(fmt::format("--health {}: cannot be written: {}", path_, std::strerror(errno)));
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
  if (!path_.empty()) write();
}

bool HealthFile::write() {
  nlohmann::json health{{"role", role_},
                        {"name", name_},
                        {"state", state_},
                        {"pid", ::getpid()},
                        {"address", wire_.address()},
                        {"updated", static_cast<std::int64_t>(std::time(nullptr))}};
  if (exit_code_) health["exit_code"] = *exit_code_;
  for (const PartyStatus& party : wire_.status()) health["parties"][party.name] = to_string(party.state);
  const std::string whole = path_ + ".new";
  {
    std::ofstream file(whole, std::ios::trunc);
    file << json_text(health, 2) << '\n';
    if (!file.flush()) return false;
  }
  return std::rename(whole.c_str(), path_.c_str()) == 0;
}

void HealthFile::run() {
  constexpr auto kPause = std::chrono::seconds(2);
  std::unique_lock guard(lock_);
  while (!ends_.wait_for(guard, kPause, [&] { return has_ended_; })) write();
}

}  // namespace dpreduce
