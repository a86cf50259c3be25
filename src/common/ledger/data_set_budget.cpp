#include "common/ledger/data_set_budget.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

// Adds releases up, one kind at a time.
class Sum {
 public:
  explicit Sum(Adjacency question) : question_(question) {}

  void add(SelectionTerms terms, Adjacency adjacency) {
    if (counts_twice(adjacency)) terms.epsilon *= 2;
    sum_.selections.push_back({loss_of(terms), 1});
  }

  // Adds the cost of one round, or of all of them together where they are charged as one.
  void add(double mu, double sampling_rate, std::uint64_t rounds, Adjacency adjacency) {
    if (sampling_rate < 1) {
      sum_.samples.push_back(sampled_rounds(mu, sampling_rate, rounds, adjacency, question_));
      return;
    }
    const HighPrecision counted = counts_twice(adjacency) ? 2 * HighPrecision(mu) : HighPrecision(mu);
    squared_mu_ += counted * counted * rounds;
  }

  Spending total() const {
    Spending sum = sum_;
    sum.mu = round_up(sqrt(squared_mu_) * (1 + kArithmeticError));
    return sum;
  }

 private:
  bool counts_twice(Adjacency adjacency) const {
    return question_ == Adjacency::kReplaceOne && adjacency == Adjacency::kAddRemove;
  }

  Adjacency question_;
  Spending sum_;
  HighPrecision squared_mu_ = 0;
};

bool is_nothing(const Spending& spending) {
  return spending.is_gaussian() && spending.mu == 0;
}

// Advice for a refusal that is due to what open runs have reserved: how to get that back.
std::string way_to_reserved(const LedgerState& state, const Reservation& reservation, const std::string& path) {
  std::vector<std::string> runs;
  for (const auto& [run_id, run] : state.open_runs()) {
    if (run_id != reservation.run_id && run_id != reservation.instead_of) runs.push_back(run_id);
  }
  return fmt::format("if {0} no longer running, {3}give it up: `dpreduce ledger release {1} --ledger {2}`",
                     runs.size() == 1 ? "that run is" : "one of those runs is", runs.size() == 1 ? runs.front() : "RUN",
                     path, reservation.terms.silos ? "" : "resume it by its own command with --resume, or ");
}

// The spending of all that open runs may still charge; but for the run that reserves, and the one that it replaces.
Spending reserved_by_others(const LedgerState& state, Adjacency adjacency, const Reservation& reservation) {
  Spending reserved;
  for (const auto& [run_id, run] : state.open_runs()) {
    if (run_id == reservation.run_id || run_id == reservation.instead_of) continue;
    reserved = composed(reserved, spending_of(run.remains, adjacency));
  }
  return reserved;
}

}  // namespace

Spending spending_of(std::span<const LedgerCharge> charges, Adjacency adjacency) {
  Sum sum(adjacency);
  for (const LedgerCharge& charge : charges) {
    const LedgerEntry& entry = charge.entry;
    if (!entry.terms.is_private) continue;
    if (entry.selection) {
      sum.add(*entry.selection, entry.terms.adjacency);
    } else {
      sum.add(entry.mu, entry.sampling_rate, 1, entry.terms.adjacency);
    }
  }
  return sum.total();
}

Adjacency strictest_adjacency(const LedgerState& state, Adjacency least) {
  const auto is_exchange = [](const RunTerms* terms) {
    return terms->is_private && terms->adjacency == Adjacency::kReplaceOne;
  };
  return std::ranges::any_of(state.all_terms(), is_exchange) ? Adjacency::kReplaceOne : least;
}

Spending spending_of(const Reservation& reservation, Adjacency adjacency) {
  Sum sum(adjacency);
  const RunTerms& terms = reservation.terms;
  if (terms.is_private) {
    for (const ReservedRelease& release : reservation.releases) {
      sum.add(release.mu, release.sampling_rate, release.rounds, terms.adjacency);
    }
    for (const PlannedSelection& selection : reservation.selections) sum.add(selection.terms, terms.adjacency);
  }
  return sum.total();
}

Spending spending_of_all(const LedgerState& state, Adjacency adjacency) {
  return composed(spending_of(state.charges(), adjacency), reserved_by_others(state, adjacency, {}));
}

void require_room(const LedgerState& state, const Reservation& reservation, const DataSetBudget& limit,
                  const std::filesystem::path& path) {
  if (!reservation.terms.is_private) return;
  const Adjacency adjacency = strictest_adjacency(state, reservation.terms.adjacency);
  const Spending on_file = spending_of(state.charges(), adjacency);
  const Spending reserved = reserved_by_others(state, adjacency, reservation);
  const Spending planned = spending_of(reservation, adjacency);
  const Spending total = composed(composed(on_file, reserved), planned);

  const bool is_gaussian = total.is_gaussian();
  const double most = is_gaussian ? gdp_mu(limit.epsilon, limit.delta) : limit.epsilon;
  const auto cost = [&](const Spending& spending) {
    return is_gaussian ? spending.mu : epsilon_of(spending, limit.delta);
  };
  const double sum = cost(total);
  if (sum <= most) return;
  const auto told = [&](const Spending& spending) { return upper_figure(epsilon_of(spending, limit.delta)); };
  const std::string others =
      is_nothing(reserved) ? "" : fmt::format(", open runs may still charge {} (dpreduce ledger show)", told(reserved));
  const std::string way_out = is_nothing(reserved) ? "" : "; " + way_to_reserved(state, reservation, path.string());
  throw BudgetRefused(
      "{}: recorded runs have spent epsilon {}{}; with this run's {} the total would be {}, above the data "
      "set's budget of epsilon {} at delta {:g}; use a smaller budget for this run, or stop here{}",
      path.string(), told(on_file), others, told(planned), told(total), lower_figure(limit.epsilon), limit.delta,
      way_out);
}

std::string spent_text(const Spending& spending, double delta) {
  const double epsilon = epsilon_of(spending, delta);
  if (!std::isfinite(epsilon)) return "rho " + upper_figure(rho_of(spending));
  return fmt::format("epsilon {} at delta {}", upper_figure(epsilon), upper_figure(delta));
}

std::string balance_text(const LedgerState& state, Adjacency least, const std::optional<DataSetBudget>& limit,
                         double delta) {
  const Adjacency adjacency = strictest_adjacency(state, least);
  const Spending spent = spending_of(state.charges(), adjacency);
  const std::string balance =
      fmt::format("{}{} is spent in total", spent_text(spent, limit ? limit->delta : delta),
                  adjacency == Adjacency::kAddRemove ? "" : fmt::format(" ({})", to_string(adjacency)));
  if (!limit) return balance + ", no budget is set";
  const std::string of_budget = fmt::format(", of the data set's budget of epsilon {}", lower_figure(limit->epsilon));
  const Spending reserved = reserved_by_others(state, adjacency, {});
  const Spending taken = composed(spent, reserved);
  if (!taken.is_gaussian())
    return balance + of_budget;  // what has room beside a distribution of losses has no closed form
  const double most = gdp_mu(limit->epsilon, limit->delta);
  const double left = std::sqrt(std::max(0.0, most * most - taken.mu * taken.mu));
  return fmt::format("{}{}; room for a run of epsilon {}{}", balance, of_budget,
                     left < kSmallestMu ? "0" : lower_figure(gdp_epsilon(left, limit->delta)),
                     is_nothing(reserved) ? "" : " beside open runs");
}

std::string_view name_of(PrivacyUnit unit) {
  return unit == PrivacyUnit::kPerson ? "one person with any number of rows" : "one row";
}

void require_one_unit(const LedgerState& state, PrivacyUnit unit, const std::filesystem::path& path) {
  for (const RunTerms* terms : state.all_terms()) {
    if (terms->unit == unit) continue;
    throw BudgetRefused(
        "{}: has charges for {}, and this run's are for {}: costs of the two do not add up; give it a --ledger of its "
        "own",
        path.string(), name_of(terms->unit), name_of(unit));
  }
}

}  // namespace dpreduce
