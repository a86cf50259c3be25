// Files that a run reads: mapped into memory, unpacked from archives, and distinguished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dpreduce {

// A whole file in memory, read-only, paged in as it is touched.

/// Owns the mapping; the file descriptor is closed again at once, so that thousands of shards may be open.
///
/// The length is that at opening. If a file is truncated while it is mapped, the process ends with SIGBUS when it
/// touches the lost pages: data sets must not change during a run.
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

  /// Drops whole pages inside these bytes from this process's memory, so that resident memory is bounded by the bytes
  /// in use, not by the file. The pages stay in the page cache, and are mapped again when touched.
  void release(std::size_t offset, std::size_t length) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A zip file (.npz), mapped into memory: its members, where they lie or unpacked.
//
//     members, each: local header | bytes  ...  central directory: one header a member  ...  its place, at the end
//
// Sizes are those of the central directory; numbers are little-endian. Source: PKWARE, APPNOTE.TXT, with zip64.

/// Returns whether the bytes begin as a zip file does.
bool is_zip(std::span<const std::byte> bytes);

/// Bytes of a file, or of a part of it: where they are mapped, or unpacked into memory.
struct StoredBytes {
  MappedFile file{};
  std::size_t offset = 0;  ///< of the first byte in the file
  std::size_t length = 0;
  std::vector<std::byte> unpacked{};  ///< instead, where the file has them packed
  bool is_packed = false;

  std::span<const std::byte> bytes() const {
    return is_packed ? std::span<const std::byte>(unpacked) : file.bytes().subspan(offset, length);
  }
};

/// All of a file.
inline StoredBytes whole(MappedFile file) {
  const std::size_t length = file.bytes().size();
  return {.file = std::move(file), .offset = 0, .length = length};
}

class ZipFile {
 public:
  struct Member {
    std::string name;
    bool is_packed = false;      ///< by deflate
    std::size_t offset = 0;      ///< of its first stored byte in the file
    std::size_t stored = 0;      ///< bytes in the file
    std::uint64_t unpacked = 0;  ///< bytes once unpacked
    std::uint64_t crc = 0;       ///< of those
  };

  /// Throws BadInput naming `name` where the file is no whole zip file, or has a member that is encrypted, or packed by
  /// anything but deflate, or outside of the file.
  ZipFile(MappedFile file, std::string name);

  const std::vector<Member>& members() const { return members_; }

  /// The member's bytes; the mapping goes with them. Memory: of a packed member all of its bytes, at most 1032 times
  /// what the file has of it, which is deflate's best. Throws BadInput where it does not unpack to what it was.
  StoredBytes take(const Member& member) &&;

 private:
  [[noreturn]] void refuse(const std::string& fault) const;
  std::uint64_t number(std::size_t offset, std::size_t bytes) const;
  std::size_t read_member(std::size_t offset);
  std::vector<std::byte> unpacked(const Member& member) const;

  MappedFile file_;
  std::string name_;
  std::vector<Member> members_;
};

// Comparison of two names, on one machine or on two: do they lead to the same array, whose records would then count
// twice? The same array means
//
//     one machine    the same device, inode and place in the file; or, on file systems without a disk of their own
//                    (network mounts, overlays, snapshots), whose devices are numbered by the mount, what holds for two
//     two machines   the same inode, size, time of change (to the nanosecond) and place in the file: device numbers of
//                    two kernels have nothing to do with each other
//    memory         bytes that overlap: of this process, or of a file that is mapped there, maybe by two processes
//
// The place is the object's address in an HDF5 file, whatever links lead to it, and 0 of a file that is one array.
// Not detected: a copy; a file system that numbers its files anew on each machine; a virtual HDF5 data set.

struct FileIdentity {
  std::string machine;           ///< the running kernel's; containers on one machine share it
  std::uint64_t device = 0;      ///< st_dev
  std::uint64_t inode = 0;       ///< st_ino
  std::uint64_t bytes = 0;       ///< st_size
  std::int64_t modified_ns = 0;  ///< st_mtim, since 1970
  std::uint64_t place = 0;       ///< in the file
  bool is_memory = false;        ///< `bytes` from `place` on: of the file that is mapped, or of this process (inode 0)
  bool operator==(const FileIdentity&) const = default;
};

/// The identity of the content at `place` of the file. Throws BadInput if the file does not exist.
FileIdentity file_identity(const std::string& file, std::uint64_t place);

/// The identity of those bytes of this process. Where a file is mapped there, it is the file's: another mapping of it
/// has other addresses.
FileIdentity identity_of_memory(const std::byte* first, std::uint64_t bytes);

/// Returns whether both are one array, as above; or whether their memory overlaps, where both are of one process or of
/// one mapped file. Symmetric.
bool is_same_array(const FileIdentity& a, const FileIdentity& b);

}  // namespace dpreduce
