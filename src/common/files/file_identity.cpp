#include "common/files/file_identity.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <tuple>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;  // a second

// Drawn when the kernel starts. /etc/machine-id would be the same on cloned machines. Without /proc the machine's name.
std::string running_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (file >> id) return id;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Of a mount, not of a disk: Linux gives such a device the major number 0.
bool is_of_a_mount(std::uint64_t device) {
  return major(device) == 0;
}

}  // namespace

FileIdentity file_identity(const std::string& file, std::uint64_t place) {
  static const std::string machine = running_machine();
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    throw BadInput(fmt::format("{}: {}; check the path", file, std::strerror(errno)));
  }
  return {.machine = machine,
          .device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec,
          .place = place};
}

FileIdentity identity_of_memory(const std::byte* first, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  FileIdentity identity{.machine = fmt::format("process {} of {}", ::getpid(), running_machine()),
                        .bytes = bytes,
                        .place = address,
                        .is_memory = true};
  std::ifstream maps("/proc/self/maps");  // "first-end rwxp offset major:minor inode name"
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(line.c_str(), "%lx-%lx %*s %lx %x:%x %lu", &begin, &end, &offset, &major_number,
                                   &minor_number, &inode);
    if (fields != 6 || address < begin || address >= end) continue;
    if (inode == 0) break;
    identity.machine = running_machine();
    identity.device = makedev(major_number, minor_number);
    identity.inode = inode;
    identity.place = offset + (address - begin);
    break;
  }
  return identity;
}

bool is_same_array(const FileIdentity& a, const FileIdentity& b) {
  if (a.is_memory != b.is_memory) return false;
  if (a.is_memory) {
    const bool is_one_space = a.machine == b.machine && a.device == b.device && a.inode == b.inode;
    return is_one_space && a.bytes > 0 && b.bytes > 0 && a.place < b.place + b.bytes && b.place < a.place + a.bytes;
  }
  if (a.inode != b.inode || a.place != b.place) return false;
  const bool on_one_machine = a.machine == b.machine;
  if (on_one_machine && a.device == b.device) return true;
  if (on_one_machine && !(is_of_a_mount(a.device) && is_of_a_mount(b.device))) return false;
  return a.bytes == b.bytes && a.modified_ns == b.modified_ns;
}

}  // namespace dpreduce
