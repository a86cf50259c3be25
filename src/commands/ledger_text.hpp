// A ledger in words.
#pragma once

#include <string>

#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// The terms of a run among silos in words: on the coordinator's ledger those of the run, on a silo's own ledger
/// against whom its charge holds.
std::string silos_text(const LedgerSilos& silos);

/// "gradient/1" of the release id "<run id>/gradient/1".
std::string label_of(const LedgerEntry& entry);

/// Prints what ledger show prints: a paragraph for each run, rounds that are alike in one line, then what all of them
/// have spent together, in epsilon at `delta`, and what open runs may still charge.
void print_ledger(const LedgerState& state, double delta);

/// Prints what a run has reserved and not charged.
void print_remains(const Reservation& remains);

}  // namespace dpreduce
