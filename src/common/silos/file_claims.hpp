// Makes sure that a file counts once among the silos of a run on one machine. Nobody else learns anything of it.
//
// Each silo claims its files: a socket of the kernel's abstract namespace for each, whose name is a digest of the run,
// the file's device, inode and place, and the silo's number. When all have claimed, each looks for the claims of silos
// with smaller numbers on the same files. Nothing is sent: neither the coordinator nor a silo elsewhere learns
// anything, and the names vanish with their processes. So files are compared where they can be known to be the same, on
// one machine (and in one network namespace: containers may have their own). A digest of the content, exchanged through
// the coordinator, would show two owners that they hold the same file, which they should not learn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/silos/key_agreement.hpp"

namespace dpreduce {

/// Identity of an array on a machine.
struct ClaimedArray {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t place = 0;  ///< in the file
};

class FileClaims {
 public:
  /// The claims of silo `silo` in that run.
  FileClaims(const RunId& run, std::uint32_t silo) : run_(run), silo_(silo) {}
  ~FileClaims();  ///< gives them up
  FileClaims(const FileClaims&) = delete;
  FileClaims& operator=(const FileClaims&) = delete;

  /// Claims the array. One descriptor an array. Throws BadInput where there are no more of these.
  void claim(const ClaimedArray& array);

  /// The silo of the smallest number, of those with smaller numbers than this one, that has claimed the array too.
  std::optional<std::uint32_t> earlier_claimant(const ClaimedArray& array) const;

 private:
  std::string name_of(const ClaimedArray& array, std::uint32_t silo) const;

  RunId run_;
  std::uint32_t silo_;
  std::vector<int> sockets_;
};

/// Raises the limit of descriptors of this process (ulimit -n) as far as it may.
void allow_most_descriptors();

}  // namespace dpreduce
