// One line of the ledger, as canonical JSON, chained to the line before by its hash, and signed.
//
//   {"schema":2,"kind":"ledger","time":...,"previous":...,"public_key":...,"version":...,"signature":...}
//   {"schema":2,"kind":"reservation","time":...,"previous":...,"run":...,[TERMS],"releases":[{"name":...,"rounds":...,
//    ["sampling_rate":...,]"mu":...},...],"selections":[{"name":...,[SELECTION]},...],["instead_of":...,]
//    "signature":...}
//   {"schema":2,"kind":"charge","time":...,"previous":...,"release":...,[TERMS],"blocks":[{"name":...,"elements":...,
//    "sensitivity":...,"sigma":...},...],["sampling_rate":...,]"mu":...,"rho":...,"signature":...}
//   {"schema":2,"kind":"end","time":...,"previous":...,"run":...,"outcome":"finished"|"stopped"|"released",
//    "signature":...}
//
//   TERMS      "method":...,["asked":...,]"adjacency":...,"accountant":...,"private":...,["forfeited_by":[...],]
//              ["public_by_word":[...],]["silos":{"noise":"central"|"distributed",
//              "left":...,"threshold":...,"colluding":...},]"unit":"record","epsilon":...,"delta":...,
//              "config_digest":...,"version":...
//   SELECTION  "mechanism":...,"epsilon":...,"sensitivity":...,"candidates":...,"groups":...,"chosen":...
//
// The charge of a private selection has "blocks":[] and, behind it, "selection":{SELECTION}; its mu is null, and its
// rho epsilon^2 / 8 for the exponential mechanism, epsilon^2 / 2 for another. Other charges have no such key.
//
// The charge of a round on a Poisson sample has "sampling_rate":q, 0 < q < 1. Its mu and rho are those of a row that is
// drawn: true without the gain from sampling, which composition knows (spending.hpp). Under replace-one they are of two
// records that are drawn, each as much as one more or less: twice the mu of one.
//
// "forfeited_by" of a run that is not private: the reason (base/privacy_terms.hpp), beside a seed; without it, it was a
// seed.
//
// "public_by_word": inputs of the run that are public by the word of whoever ran it (base/privacy_terms.hpp).
//
// "asked": the method that was requested, if "method" was chosen for it. It binds nothing: it is for readers.
//
// "silos" of a run among silos: the number of silos left when the line was written, and the number that stay at least.
// With distributed noise the release has a share of each silo that stayed, and sigma is what threshold - colluding
// shares make.
//
// "previous" is the SHA-256 of the previous line without its newline, 64 zeros on the first line. Canonical: a line is
// read only if printing what was read gives the same bytes, so keys, order, spelling of numbers and spaces are fixed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "common/ledger/ledger_record.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {

// Key that signs the lines of a ledger, so that a reader finds every edit.
//
// The key lies beside the ledger, "<ledger>.signing-key" (PEM, Ed25519, 0600), made with the first signed line. It
// protects the ledger from others than its owner, and has nothing to do with noise.

/// The name of a key is the ledger's with this behind it.
inline constexpr std::string_view kSigningKeyEnding = ".signing-key";

std::filesystem::path signing_key_path(const std::filesystem::path& ledger);

/// The ledger's key; nullopt if there is no such file. Throws BadInput naming the file where it is no Ed25519 key, not
/// exactly 0600, another user's, or cannot be read.
std::optional<SigningKey> find_signing_key(const std::filesystem::path& ledger);

/// The ledger's key; if absent, a new one, on the disk before it is returned. Two processes that meet an absent file
/// get one and the same key. Throws as find_signing_key, and where it cannot be made; EntropyFailure.
SigningKey find_or_make_signing_key(const std::filesystem::path& ledger);

/// {...,"signature":"..."} Precondition: unsigned_line ends with "}" and has a member.
std::string with_signature(const std::string& unsigned_line, std::string_view signature);

/// The same with the key's signature of the line, in 128 hex digits.
std::string sign_line(const std::string& unsigned_line, const SigningKey& key);

/// Returns whether the owner of the key `signer` made that signature of that line.
bool is_signed_by(const std::string& unsigned_line, std::string_view signature, const PublicKey& signer);

inline constexpr int kLedgerSchema = 2;
inline constexpr std::size_t kLongestLedgerLine = std::size_t{1} << 20;

/// The line of a record without its signature and newline: what is signed. Precondition:
/// fault_of(record's content) is empty.
std::string print_unsigned(const LedgerRecord& record);

/// A line that was read.
struct LedgerLine {
  LedgerRecord record;
  std::string signature;  ///< as it stands there
};

/// The line without newline. Neither chain nor signature is checked: LedgerState does that. Throws LedgerCorrupt naming
/// where ("ledger.jsonl:7") and what is wrong with the line.
LedgerLine parse_line(std::string_view line, const std::string& where);

/// "previous" of a first line.
inline const std::string kNoPrevious(64, '0');

}  // namespace dpreduce
