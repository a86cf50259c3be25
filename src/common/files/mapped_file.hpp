// A whole file in memory, read-only, paged in as it is touched.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dpreduce {

/// Owns the mapping; the file descriptor is closed again at once, so that thousands of shards may be open.
///
/// The length is that of the moment of opening. A file that somebody cuts while it is mapped ends the process with
/// SIGBUS when the lost pages are touched: data sets must not change during a run.
class MappedFile {
 public:
  MappedFile() = default;  ///< of no bytes
  /// Throws BadInput with path and reason where the file is missing, unreadable, not a regular file, or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Asks the kernel to read these bytes soon. Advice only.
  void expect(std::size_t offset, std::size_t length) const;

  /// Drops whole pages inside these bytes from this process's memory (they stay in the page cache and come back when
  /// touched), so that resident memory is bounded by what is in use, not by the file.
  void release(std::size_t offset, std::size_t length) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dpreduce
