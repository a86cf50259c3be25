// A data set may have a budget over all runs on its ledger, which one more run has room in or not.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "common/accounting/budget.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/ledger_state.hpp"
#include "common/ledger/spending.hpp"

namespace dpreduce {

struct DataSetBudget {
  double epsilon;
  double delta;
};

/// Returns the stricter of `least` and of the relations of all private lines: replace-one where one of them has it.
Adjacency strictest_adjacency(const LedgerState& state, Adjacency least = Adjacency::kAddRemove);

/// The spending of the charges of private runs, as if all were about the same data. `adjacency` is that of the
/// question: a charge under add-remove counts twice (a group of two) where the question is replace-one. The other way
/// round it counts as it is: what protects an exchange here protects an addition as well (worker/statistics,
/// selection_charge.hpp). Rounds on samples count by the pair of their neighbors (sampled_rounds), both ways.
Spending spending_of(std::span<const LedgerCharge> charges, Adjacency adjacency);

/// The spending of all that a reservation may still charge, in the same way.
Spending spending_of(const Reservation& reservation, Adjacency adjacency);

/// The spending of all that open runs may still charge, in the same way; but for the run that reserves, and the one
/// that it replaces.
Spending reserved_by_others(const LedgerState& state, Adjacency adjacency, const Reservation& reservation);

/// The spending of all charges and of all that open runs may still charge.
Spending spending_of_all(const LedgerState& state, Adjacency adjacency);

/// Returns where the charges on file, what other open runs may still charge, and this reservation together stay within
/// the budget, under the strictest relation of them all. Reservations that are not private cost nothing, and always
/// have room.
///
/// With Gaussian releases alone, sqrt(sum mu^2) is compared with the mu that the budget allows: runs add up exactly,
/// also when chosen adaptively. As soon as a selection or a sampled round is on file or reserved, the upper bound of
/// epsilon at the budget's delta decides (spending.hpp, which says what that assumes). Preconditions: the budget is one
/// that gdp_mu takes; with selections or sampled rounds its delta is at least kSmallestPldDelta. Throws BudgetRefused,
/// naming `path` and the figures; UsageError naming the argument.
void require_room(const LedgerState& state, const Reservation& reservation, const DataSetBudget& limit,
                  const std::filesystem::path& path);

/// "epsilon 1.142 at delta 1e-06"; where no accountant reaches, "rho 12.5".
std::string spent_text(const Spending& spending, double delta);

/// Cost of the private charges on file together, and what the budget, if there is one, leaves of
/// that: "epsilon 0.6893 at delta 1e-06 is spent in all, of the data set's budget of epsilon 1; a run of epsilon 0.6892
/// has room". What open runs have reserved is no room; with selections or sampled rounds room is not told. The relation
/// is strictest_adjacency(state, least). Epsilons are told at the budget's delta, without one at `delta`. Throws
/// UsageError as require_room.
std::string balance_text(const LedgerState& state, Adjacency least, const std::optional<DataSetBudget>& limit,
                         double delta = kDeltaToTell);

/// Refuses to add up charges of different units: the cost of a row is no bound on that of a person with many rows.
/// Throws BudgetRefused if a line of the ledger has another unit than `unit`.
void require_one_unit(const LedgerState& state, PrivacyUnit unit, const std::filesystem::path& path);

/// "one row", or "one person with any number of rows".
std::string_view name_of(PrivacyUnit unit);

}  // namespace dpreduce
