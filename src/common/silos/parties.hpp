// Parties: the key pair that each keeps over all runs, and the roster of all participants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/randomness/signing_key.hpp"

namespace dpreduce {

// Identity of a party: an Ed25519 key pair that it keeps over all runs.
//
// The private half stays in one file of its owner (PEM, 0600); the public half is in the roster.

/// First digits of a key or digest in hex: enough for people to compare.
std::string short_hex(const PublicKey& digest);

/// Key pair of a party.
using Identity = SigningKey;

/// Loads the identity from its file. Throws BadInput naming `option`, path and reason if the file is no regular file
/// with an Ed25519 private key, belongs to another user, or has permissions other than 0600.
Identity load_identity(const std::filesystem::path& path, std::string_view option);

/// Writes the file, which must not exist: mode 0600, synced. Throws BadInput naming option, path and reason.
void save_new_identity(const Identity& identity, const std::filesystem::path& path, std::string_view option);

// Roster of the parties: names, public keys and the shape of their rows. The file is the same at every party.
//
//     dim = 768                      # features a row
//     classes = 10                   # or, if rows have numbers to predict, their number in a row
//     [coordinator]
//     name = "hub"
//     key = "64 hex digits"          # as dpreduce keygen prints it
//     [silo.1]                       # silo 1 is rank 1, and so on without gaps
//     name = "north"
//     key = "64 hex digits"

struct Member {
  std::string name;
  PublicKey key{};
};

struct Roster {
  std::size_t dim = 0;          ///< 0: not declared, in a simulation
  std::size_t classes = 0;      ///< likewise
  std::vector<Member> members;  ///< [0] the coordinator, [i] silo i

  std::size_t silos() const { return members.size() - 1; }

  /// Text "the coordinator" or "silo 3"; with the party's name, if it has one: "silo 3 (north)".
  std::string party_text(std::uint32_t party) const;

  /// SHA-256 of all fields: parties with different rosters find out.
  PublicKey digest() const;
};

inline constexpr std::size_t kMostSilos = 1024;

/// Parses a roster from TOML. Names are 1 to 64 of A-Z a-z 0-9 . _ -. Throws BadInput naming `path` and the entry that
/// is missing, unknown, out of range or there twice (names, keys).
Roster parse_roster(const std::string& text, const std::string& path);

/// Parses the roster in a file of at most 1 MiB. Throws as parse_roster, and BadInput also if the file cannot be read.
Roster read_roster(const std::string& path);

}  // namespace dpreduce
