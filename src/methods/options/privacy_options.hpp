// What a fit may spend, and where that is written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/accounting/budget.hpp"
#include "common/base/archive_all.hpp"
#include "common/base/privacy_terms.hpp"

namespace dpreduce {

struct PrivacyOptions {
  BudgetOptions budget{};
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<std::uint64_t> seed{};
  std::string ledger = "ledger.jsonl";
  std::optional<double> limit_epsilon{};  ///< of the data set, over all runs on the ledger; with limit_delta
  std::optional<double> limit_delta{};
  bool resume = false;  ///< go on with a killed run, where there is one
  bool operator==(const PrivacyOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, PrivacyOptions& options, unsigned) {
  auto& [budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume] = options;
  archive_all(archive, budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume);
}

/// Throws UsageError where the part contradicts itself or is out of range. (The budget itself is checked where it
/// becomes noise.)
void check(const PrivacyOptions& privacy);

}  // namespace dpreduce
