// A zip file (.npz), mapped into memory: its members, where they lie or unpacked.
//
//     members, each: local header | bytes  ...  central directory: one header a member  ...  its place, at the end
//
// Sizes are those of the central directory; numbers are little-endian. Source: PKWARE, APPNOTE.TXT, with zip64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/files/mapped_file.hpp"

namespace dpreduce {

/// Whether bytes begin as a zip file does.
bool is_zip(std::span<const std::byte> bytes);

/// Bytes of a file, or of a part of it: where they are mapped, or unpacked into memory.
struct StoredBytes {
  MappedFile file;
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
  std::span<const std::byte> file() const { return file_.bytes(); }

  /// The member's bytes; the mapping goes with them. Memory: of a packed member all of its bytes, at most 1032 times
  /// what the file has of it, which is deflate's best. Throws BadInput where it does not unpack to what it was.
  StoredBytes take(const Member& member) &&;

 private:
  [[noreturn]] void refuse(const std::string& fault) const;
  std::uint64_t number(std::size_t offset, std::size_t bytes) const;
  void read_directory();
  std::size_t read_member(std::size_t offset);
  std::vector<std::byte> unpacked(const Member& member) const;

  MappedFile file_;
  std::string name_;
  std::vector<Member> members_;
};

}  // namespace dpreduce
