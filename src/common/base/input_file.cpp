#include "common/base/input_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Place = 0x07064b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint64_t kIn64 = 0xffffffff;  // the number is in the extra field
constexpr std::uint64_t kDeflateBest = 1032;

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

// Returns whether a device belongs to a mount, not to a disk: Linux gives such a device the major number 0.
bool is_of_a_mount(std::uint64_t device) {
  return major(device) == 0;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  require_local(path);
  // O_NONBLOCK: a pipe must be refused, not waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw BadInput("{}: cannot be opened: {}; check the path and its permissions", path, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw BadInput("{}: {}", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw BadInput("{}: is a directory; name the files in it", path);
  if (!S_ISREG(status.st_mode)) throw BadInput("{}: is not a regular file; copy the data to one", path);
  if (status.st_size == 0) throw BadInput("{}: is empty; write it again", path);

  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) {
    throw BadInput("{}: cannot be mapped into memory: {}", path, std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(mapping);
  size_ = size;
  ::madvise(mapping, size, MADV_SEQUENTIAL);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::expect(std::size_t offset, std::size_t length) const {
  DPREDUCE_ASSERT(offset <= size_ && length <= size_ - offset);
  const std::size_t first = offset / page_size() * page_size();
  if (length > 0) ::madvise(data_ + first, offset + length - first, MADV_WILLNEED);
}

void MappedFile::release(std::size_t offset, std::size_t length) const {
  DPREDUCE_ASSERT(offset <= size_ && length <= size_ - offset);
  const std::size_t first = (offset + page_size() - 1) / page_size() * page_size();
  const std::size_t last = (offset + length) / page_size() * page_size();
  if (first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

bool is_zip(std::span<const std::byte> bytes) {
  constexpr std::string_view kMagic = "PK\x03\x04";
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(kMagic);
}

void ZipFile::refuse(const std::string& fault) const {
  throw BadInput("{}: damaged zip file: {}; write or copy it again", name_, fault);
}

std::uint64_t ZipFile::number(std::size_t offset, std::size_t bytes) const {
  const std::span<const std::byte> all = file_.bytes();
  if (offset > all.size() || bytes > all.size() - offset) refuse("it ends inside a header");
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < bytes; ++k) value |= std::to_integer<std::uint64_t>(all[offset + k]) << (8 * k);
  return value;
}

ZipFile::ZipFile(MappedFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  const std::size_t size = file_.bytes().size();
  if (size < kEndBytes) refuse("it is too short");
  const std::size_t first = size - kEndBytes - std::min(size - kEndBytes, kLongestComment);
  std::size_t end = size - kEndBytes;
  while (number(end, 4) != kEnd) {
    if (end-- == first) refuse("it has no directory of its members, so it was cut short");
  }
  std::uint64_t count = number(end + 10, 2);
  std::uint64_t offset = number(end + 16, 4);
  constexpr std::size_t kPlaceBytes = 20;
  if (end >= kPlaceBytes && number(end - kPlaceBytes, 4) == kEnd64Place) {
    const std::uint64_t end64 = number(end - kPlaceBytes + 8, 8);
    if (end64 >= size || number(end64, 4) != kEnd64) refuse("its directory is not at its stated offset");
    count = number(end64 + 32, 8);
    offset = number(end64 + 48, 8);
  }
  if (offset > end) refuse("its directory is not at its stated offset");
  for (std::uint64_t k = 0; k < count; ++k) offset += read_member(offset);
}

// Bytes of the central header.
std::size_t ZipFile::read_member(std::size_t offset) {
  constexpr std::size_t kHeader = 46;
  constexpr std::size_t kLocal = 30;
  if (number(offset, 4) != kCentralHeader) refuse("its directory is not at its stated offset");
  const std::size_t name_bytes = number(offset + 28, 2);
  const std::size_t extra_bytes = number(offset + 30, 2);
  const std::size_t header = kHeader + name_bytes + extra_bytes + number(offset + 32, 2);
  number(offset, 8);
  if (header > file_.bytes().size() - offset) refuse("it ends inside a header");

  Member member;
  member.name.assign(reinterpret_cast<const char*>(file_.bytes().data()) + offset + kHeader, name_bytes);
  std::uint64_t place[] = {number(offset + 24, 4), number(offset + 20, 4), number(offset + 42, 4)};
  const std::size_t extra_end = offset + kHeader + name_bytes + extra_bytes;
  for (std::size_t at = offset + kHeader + name_bytes; at + 4 <= extra_end;) {
    const std::size_t field_end = at + 4 + number(at + 2, 2);
    std::size_t next = at + 4;
    for (std::uint64_t& value : place) {  // zip64: those that do not fit 32 bits, in this order
      if (number(at, 2) != 1 || value != kIn64 || next + 8 > field_end) continue;
      value = number(next, 8);
      next += 8;
    }
    at = field_end;
  }
  const std::uint64_t method = number(offset + 10, 2);
  const bool is_encrypted = (number(offset + 8, 2) & 1) != 0;
  if (is_encrypted || (method != 0 && method != 8)) {
    refuse(fmt::format("member {} is {}", in_quotes(member.name),
                       is_encrypted ? "encrypted" : "packed by another method than deflate"));
  }
  const auto& [unpacked, stored, local] = place;
  if (number(local, 4) != kLocalHeader) refuse(fmt::format("member {} is missing", in_quotes(member.name)));
  member.is_packed = method == 8;
  member.unpacked = unpacked;
  member.crc = number(offset + 16, 4);
  member.stored = stored;
  member.offset = local + kLocal + number(local + 26, 2) + number(local + 28, 2);
  const std::size_t size = file_.bytes().size();
  if (member.offset > size || member.stored > size - member.offset) {
    refuse(fmt::format("member {} is cut short", in_quotes(member.name)));
  }
  const std::uint64_t most = member.is_packed ? kDeflateBest * (member.stored + 1) : member.stored;
  if (member.unpacked > most) refuse(fmt::format("member {} states an impossible size", in_quotes(member.name)));
  members_.push_back(std::move(member));
  return header;
}

std::vector<std::byte> ZipFile::unpacked(const Member& member) const {
  std::vector<std::byte> bytes(member.unpacked);
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw BadInput(name_ + ": not enough memory to unpack it");
  constexpr std::size_t kAtOnce = std::numeric_limits<uInt>::max();
  std::size_t read = 0;
  std::size_t written = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const auto in = static_cast<uInt>(std::min(kAtOnce, member.stored - read));
    const auto out = static_cast<uInt>(std::min(kAtOnce, bytes.size() - written));
    std::byte none{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file_.bytes().data())) + member.offset + read;
    stream.next_out = reinterpret_cast<Bytef*>(out > 0 ? bytes.data() + written : &none);
    stream.avail_in = in;
    stream.avail_out = out;
    state = ::inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  ::inflateEnd(&stream);
  const bool is_whole = state == Z_STREAM_END && written == bytes.size();
  if (!is_whole || ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != member.crc) {
    refuse(fmt::format("member {} fails its checksum", in_quotes(member.name)));
  }
  return bytes;
}

StoredBytes ZipFile::take(const Member& member) && {
  std::vector<std::byte> bytes;
  if (member.is_packed) bytes = unpacked(member);
  return {std::move(file_), member.offset, member.stored, std::move(bytes), member.is_packed};
}

FileIdentity file_identity(const std::string& file, std::uint64_t place) {
  static const std::string machine = running_machine();
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    throw BadInput("{}: {}; check the path", file, std::strerror(errno));
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
