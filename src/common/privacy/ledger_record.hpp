// One line of the ledger: what a release cost, as canonical JSON, chained to the line before by its hash.
//
//   {"schema":1,"release":...,"time":...,"previous":...,"method":...,"adjacency":...,"accountant":...,"private":...,
//    "rounds":...,"blocks":[{"name":...,"elements":...,"sensitivity":...,"sigma":...},...],"mu":...,"rho":...,
//    "epsilon":...,"delta":...,"config_digest":...,"data_digest":...,"version":...}
//
// The line of a private selection has "blocks":[] and, behind it, "selection":{"mechanism":...,"epsilon":...,
// "sensitivity":...,"candidates":...,"groups":...,"chosen":...}; its mu is null, and its rho epsilon^2 / 8 for the
// exponential mechanism, epsilon^2 / 2 for permute-and-flip. Other lines have no such key.
//
// The line of a round on a Poisson sample has "sampling_rate":q behind its blocks, 0 < q < 1. Its mu and rho are those
// of a row that is drawn: true without the gain from sampling, which composition knows (spending.hpp).
//
// The line of a run among silos has, behind "private",
// "silos":{"noise":"central"|"distributed","left":...,"threshold":..., "colluding":...}: how many were left when it was
// charged, and how many stay at least. With distributed noise the release has a share of each silo that stayed, and
// sigma is what threshold - colluding shares make.
//
// "previous" is the SHA-256 of the previous line without its newline, 64 zeros on the first line. Canonical: a line is
// read only if printing what was read gives the same bytes, so keys, order, spelling of numbers and spaces are fixed.
// A line holds public constants only: nothing in it may depend on the records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dpreduce/privacy/budget.hpp"
#include "dpreduce/privacy/selection_terms.hpp"

namespace dpreduce {

inline constexpr int kLedgerSchema = 1;
inline constexpr std::size_t kLongestLedgerLine = std::size_t{1} << 20;

struct LedgerBlock {
  std::string name;
  std::uint64_t elements = 0;
  double sensitivity = 0;  ///< L2, lattice units
  double sigma = 0;        ///< noise standard deviation of one round, lattice units

  bool operator==(const LedgerBlock&) const = default;
};

/// Who made the noise of a release among silos.
struct LedgerSilos {
  NoiseSource noise = NoiseSource::kCentral;
  std::uint64_t left = 0;       ///< when it was charged
  std::uint64_t threshold = 0;  ///< with fewer nothing is released
  std::uint64_t colluding = 0;  ///< of them, as the noise allows for

  bool operator==(const LedgerSilos&) const = default;
};

/// A charge, as its caller states it. Names are 1 to 128 of A-Z a-z 0-9 . _ : + / @ - and space.
struct LedgerEntry {
  std::string release_id;
  std::string method;
  Adjacency adjacency = Adjacency::kAddRemove;
  Accountant accountant = Accountant::kGdp;
  bool is_private = false;  ///< false for a run that a seed makes repeatable
  std::uint64_t rounds = 1;
  std::vector<LedgerBlock> blocks;
  std::optional<SelectionTerms> selection{};  ///< with one: no blocks, mu 0, one round
  double mu = 0;                              ///< of all rounds together (sampled: of each); the line's rho is mu^2 / 2
  double sampling_rate = 1;                   ///< below 1 only for Gaussian releases under add-remove
  std::optional<double> epsilon;              ///< the budget as stated; both or neither
  std::optional<double> delta;
  std::string config_digest;  ///< lower-case hex, 16 to 128 digits
  std::string data_digest;    ///< of the data manifest; lower-case hex, 16 to 128 digits
  std::string version;        ///< of this library
  std::optional<LedgerSilos> silos{};

  bool operator==(const LedgerEntry&) const = default;
};

/// An entry with its place in the chain.
struct LedgerRecord {
  LedgerEntry entry;
  std::string utc_time;         ///< 2026-01-31T23:59:59Z
  std::string previous_sha256;  ///< 64 hex digits

  bool operator==(const LedgerRecord&) const = default;
};

/// Why an entry cannot be written, naming the field, and its value where it is a number; empty if it can.
std::string fault_of(const LedgerEntry& entry);

/// The line of a record, without newline.
/// @pre fault_of(record.entry) is empty.
std::string print_record(const LedgerRecord& record);

/// The record of a line without newline; print_record of it is the line again.
/// @throws LedgerCorrupt naming where ("ledger.jsonl:7") and what is wrong with the line.
LedgerRecord parse_record(std::string_view line, const std::string& where);

/// All records of a ledger's text, oldest first, the chain checked from its start.
///
/// Finds every edit, insertion, removal or exchange of lines before the last one, an edit of the last line that breaks
/// its form, and a torn last line. What no chain can show by itself: whole lines cut off at the end, or a ledger
/// rewritten from some line on.
/// @throws LedgerCorrupt naming source, line and fault.
std::vector<LedgerRecord> parse_ledger(std::string_view text, const std::string& source);

/// Reads the lines of text behind its first verified_length bytes, whose records are given, and appends theirs.
/// @pre verified_length is 0 or the end of a line; records are those of parse_ledger on that part.
/// @throws as parse_ledger; records then hold the lines before the fault.
void extend_records(std::vector<LedgerRecord>& records, std::string_view text, std::size_t verified_length,
                    const std::string& source);

/// "previous" of the line after these: the hash of the last line, or 64 zeros if there is none.
/// @pre text is empty or ends with a newline.
std::string next_previous_sha256(std::string_view text);

/// SHA-256, as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace dpreduce
