// Claims on files: a file counts once among the silos of a run on one machine. No other party learns anything of them.
//
// Each silo claims each of its files with a socket in the kernel's abstract namespace. The socket's name consists of a
// digest of the run and of the file's device, inode and place, and of the silo's number. When all silos have claimed,
// each silo looks for claims of silos with smaller numbers on the same files. Nothing is sent: neither the coordinator
// nor a silo elsewhere learns anything, and the names vanish with their processes. So files are compared only where
// they can be known to be the same: on one machine, and in one network namespace (containers may have their own). A
// digest of the content, exchanged through the coordinator, would show two owners that they hold the same file, which
// they should not learn.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "common/base/file_descriptor.hpp"
#include "common/base/input_file.hpp"
#include "common/silos/key_agreement.hpp"

namespace dpreduce {

/// Claims of one silo, which it gives up with this object.
class FileClaims {
 public:
  /// Starts without claims, for silo `silo` of the run.
  FileClaims(const RunId& run, std::uint32_t silo) : run_(run), silo_(silo) {}

  /// Claims the array. Cost: one descriptor an array. Throws BadInput if no descriptor is left, or the socket cannot be
  /// bound.
  void claim(const FileIdentity& array);

  /// Returns the smallest number of a silo that has claimed the array too, among silos with smaller numbers than this
  /// one; nullopt if no such silo has. Throws BadInput if no descriptor is left.
  std::optional<std::uint32_t> earlier_claimant(const FileIdentity& array) const;

 private:
  std::string name_of(const FileIdentity& array, std::uint32_t silo) const;

  RunId run_;
  std::uint32_t silo_;
  std::deque<FileDescriptor> sockets_;
};

/// Raises this process's limit of descriptors (ulimit -n) as far as the system allows.
void allow_most_descriptors();

}  // namespace dpreduce
