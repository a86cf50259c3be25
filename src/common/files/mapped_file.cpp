#include "common/files/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/local_path.hpp"

namespace dpreduce {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  require_local(path);
  // O_NONBLOCK: a pipe must be refused, not waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw BadInput(
        fmt::format("{}: cannot be opened: {}; check the path and its permissions", path, std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw BadInput(fmt::format("{}: {}", path, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw BadInput(fmt::format("{}: is a directory; name the files in it", path));
  if (!S_ISREG(status.st_mode)) throw BadInput(fmt::format("{}: is not a regular file; copy the data to one", path));
  if (status.st_size == 0) throw BadInput(fmt::format("{}: is empty; write it again", path));

  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) {
    throw BadInput(fmt::format("{}: cannot be mapped into memory: {}", path, std::strerror(errno)));
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

}  // namespace dpreduce
