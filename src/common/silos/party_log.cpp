#include "common/silos/party_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr unsigned kOwnerOnly = 0600;
constexpr std::size_t kLongestLine = 2000;

std::string time_of_day() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(milliseconds / 1000), milliseconds % 1000);
}

// Returns whether the file begins as a log does: with the time of a line.
bool begins_as_log(int file) {
  std::array<std::byte, 24> read{};
  if (read_at(file, read) != read.size()) return false;
  const std::string_view time(reinterpret_cast<const char*>(read.data()), read.size());
  const std::string form = time_of_day();
  return std::ranges::equal(time, form, [](char one, char other) {
    return one == other ||
           (std::isdigit(static_cast<unsigned char>(one)) != 0 && std::isdigit(static_cast<unsigned char>(other)) != 0);
  });
}

}  // namespace

PartyLog::PartyLog(const std::string& path) {
  if (path.empty()) return;
  const auto refuse = [&](const std::string& why) { throw BadInput("--log {}: {}", path, why); };
  struct stat before {};
  const bool is_file = ::stat(path.c_str(), &before) != 0 || S_ISREG(before.st_mode);
  file_ = std::make_unique<FileDescriptor>(
      ::open(path.c_str(), (is_file ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kOwnerOnly));
  struct stat status {};
  if (file_->get() < 0 || ::fstat(file_->get(), &status) != 0) {
    refuse(fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) return;
  if (status.st_size > 0 && !begins_as_log(file_->get())) {
    refuse("already exists and is not a log of dpreduce; give another name");
  }
  if (const std::string fault = forced_mode(file_->get()); !fault.empty()) refuse(fault);
}

void PartyLog::line(std::string_view text) {
  if (!file_) return;
  std::string whole = fmt::format("{} {}", time_of_day(), text.substr(0, kLongestLine));
  for (char& character : whole) {
    if (static_cast<unsigned char>(character) < ' ' || character == '\x7f') character = '?';
  }
  whole += '\n';
  [[maybe_unused]] const ssize_t written = ::write(file_->get(), whole.data(), whole.size());
}

void PartyLog::end_phase(std::string_view name, double seconds) {
  line(fmt::format("phase {}: {:.3f} s, {} bytes sent, {} received", name, seconds, std::exchange(sent_, 0),
                   std::exchange(received_, 0)));
}

void LoggedWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  log_.sent_ += bytes.size();
  wire_.send(to, std::move(bytes));
}

std::optional<Message> LoggedWire::receive(WireClock::time_point until) {
  std::optional<Message> message = wire_.receive(until);
  if (message) log_.received_ += message->bytes.size();
  return message;
}

}  // namespace dpreduce
