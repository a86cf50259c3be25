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
#include <string>
#include <string_view>

#include "common/ledger/ledger_record.hpp"

namespace dpreduce {

inline constexpr int kLedgerSchema = 2;
inline constexpr std::size_t kLongestLedgerLine = std::size_t{1} << 20;

/// The line of a record without its signature and newline: what is signed (ledger_key.hpp). Precondition:
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
