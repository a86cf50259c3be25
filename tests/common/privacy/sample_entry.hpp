// A valid ledger entry for tests to vary.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "dpreduce/privacy/ledger_record.hpp"

namespace dpreduce {

inline LedgerEntry sample_entry(std::string release_id) {
  return {.release_id = std::move(release_id),
          .method = "mean",
          .adjacency = Adjacency::kAddRemove,
          .accountant = Accountant::kGdp,
          .is_private = true,
          .rounds = 1,
          .blocks = {{"sum", 7680, 32767, 122241.5}, {"count", 10, 1, 20.25}},
          .selection = std::nullopt,
          .mu = 0.25,
          .epsilon = 1,
          .delta = 1e-5,
          .config_digest = std::string(64, 'a'),
          .data_digest = std::string(64, '7'),
          .version = "0.1.0"};
}

/// The same of a selection of two of 1000 candidates, or with permute-and-flip of one, in 10 groups.
inline LedgerEntry sample_selection(std::string release_id, SelectionMechanism mechanism, double epsilon) {
  LedgerEntry entry = sample_entry(std::move(release_id));
  entry.blocks.clear();
  entry.mu = 0;
  entry.selection = SelectionTerms{.mechanism = mechanism,
                                   .epsilon = epsilon,
                                   .sensitivity = 3,
                                   .candidates = 1000,
                                   .groups = 10,
                                   .chosen = mechanism == SelectionMechanism::kExponential ? 2U : 1U};
  return entry;
}

}  // namespace dpreduce
