// Whether two names, on one machine or on two, lead to one and the same array: then its records would count twice.
//
//     one machine    the same device, inode and place in the file; or, on file systems without a disk of their own
//                    (network mounts, overlays, snapshots), whose devices are numbered by the mount, what holds for two
//     two machines   the same inode, size, time of change (to the nanosecond) and place in the file: device numbers of
//                    two kernels have nothing to do with each other
//    memory         bytes that overlap: of this process, or of a file that is mapped there, maybe by two processes
//
// The place is the object's address in an HDF5 file, whatever links lead to it, and 0 of a file that is one array.
// What this cannot see: a copy; a file system that numbers its files anew on each machine; a virtual HDF5 data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dpreduce {

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

/// The identity of what stands at `place` of the file. Throws BadInput where the file is not there.
FileIdentity file_identity(const std::string& file, std::uint64_t place);

/// The identity of those bytes of this process. Where a file is mapped there, it is the file's: another mapping of it
/// has other addresses.
FileIdentity identity_of_memory(const std::byte* first, std::uint64_t bytes);

/// Whether both are one array, as above; or memory that overlaps, where both are of one process or one mapped
/// file. Symmetric.
bool is_same_array(const FileIdentity& a, const FileIdentity& b);

}  // namespace dpreduce
