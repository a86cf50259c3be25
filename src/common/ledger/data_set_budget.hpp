// Budget of a data set for all runs on its ledger, and whether it has room for one more run.
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

using DataSetBudget = EpsilonAtDelta;

/// Returns the stricter of `least` and of the relations of all private lines: replace-one where one of them has it.
Adjacency strictest_adjacency(const LedgerState& state, Adjacency least = Adjacency::kAddRemove);

/// The spending of the charges of private runs, as if all were about the same data. `adjacency` is that of the result:
/// a charge under add-remove counts twice (a group of two) for replace-one. A charge under replace-one counts once for
/// add-remove: noise that protects a replacement here also protects an addition (worker/statistics,
/// selection_charge.hpp). Rounds on samples count by the pair of their neighbors (sampled_rounds), both ways.
Spending spending_of(std::span<const LedgerCharge> charges, Adjacency adjacency);

/// The spending of all that a reservation may still charge, in the same way.
Spending spending_of(const Reservation& reservation, Adjacency adjacency);

/// The spending of all charges and of all that open runs may still charge.
Spending spending_of_all(const LedgerState& state, Adjacency adjacency);

/// Returns if the recorded charges, the reservations of other open runs, and this reservation together stay within the
/// budget, under the strictest relation of them all. Reservations of runs that are not private cost nothing.
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

/// Cost of the private charges on file together, and what the budget, if there is one, leaves of that: "epsilon 0.6893
/// at delta 1e-06 is spent in total, of the data set's budget of epsilon 1; room for a run of epsilon 0.6892".
/// Reservations of open runs are subtracted; with selections or sampled rounds the room is not reported. The relation
/// is strictest_adjacency(state, least). Epsilons are reported at the budget's delta, or at `delta` without a budget.
/// Throws UsageError as require_room.
std::string balance_text(const LedgerState& state, Adjacency least, const std::optional<DataSetBudget>& limit,
                         double delta = kReportedDelta);

/// Refuses to add up charges of different units: the cost of a row is no bound on that of a person with many rows.
/// Throws BudgetRefused if a line of the ledger has another unit than `unit`.
void require_one_unit(const LedgerState& state, PrivacyUnit unit, const std::filesystem::path& path);

/// "one row", or "one person with any number of rows".
std::string_view name_of(PrivacyUnit unit);

}  // namespace dpreduce
