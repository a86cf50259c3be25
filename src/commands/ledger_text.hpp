// A ledger in words.
#pragma once

#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// Prints what ledger show prints: a paragraph for each run, rounds that are alike in one line, then what all of them
/// have spent together, in epsilon at `delta`, and what open runs may still charge.
void print_ledger(const LedgerState& state, double delta);

/// Prints what a run has reserved and not charged.
void print_remains(const Reservation& remains);

}  // namespace dpreduce
