// Who takes part: names, public keys and what their rows look like. The same file at every party.
//
//     dim = 768                      # features a row
//     classes = 10                   # or, where rows have numbers to predict, how many a row has
//     [coordinator]
//     name = "hub"
//     key = "64 hex digits"          # as dpreduce keygen prints it
//     [silo.1]                       # silo 1 is rank 1, and so on without gaps
//     name = "north"
//     key = "64 hex digits"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/masking/identity.hpp"

namespace dpreduce {

struct Member {
  std::string name;
  PublicKey key{};
};

struct Roster {
  std::size_t dim = 0;          ///< 0: not stated, in a simulation
  std::size_t classes = 0;      ///< likewise
  std::vector<Member> members;  ///< [0] the coordinator, [i] silo i

  std::size_t silos() const { return members.size() - 1; }

  /// SHA-256 of everything in it: parties with different rosters find out.
  PublicKey digest() const;
};

inline constexpr std::size_t kMostSilos = 1024;

/// The roster that a TOML text is. Names are 1 to 64 of A-Z a-z 0-9 . _ -. Throws BadInput naming `path` and what is
/// missing, unknown, out of range or there twice (names, keys).
Roster parse_roster(const std::string& text, const std::string& path);

/// The same of a file of at most 1 MiB. Throws BadInput also where it cannot be read.
Roster read_roster(const std::string& path);

}  // namespace dpreduce
