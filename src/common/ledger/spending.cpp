#include "common/ledger/spending.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/high_precision.hpp"
#include "common/accounting/privacy_loss.hpp"
#include "common/base/error.hpp"
#include "common/base/floating_point.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

const GaussianMechanism& sampled(const RepeatedMechanism& rounds) {
  return std::get<GaussianMechanism>(rounds.mechanism);
}

// Less than half a step of 24 binary digits: noise for z (1 + this) is counted as z, however its mu was rounded.
constexpr double kAboveAccounted = 1e-8;

bool is_sampled(const ReleaseRequest& request) {
  return request.sampling_rate < 1;
}

// Rules of options refuse all else (fit_rules.cpp).
void check(const BudgetOptions& budget, Adjacency adjacency, const std::vector<ReleaseRequest>& releases) {
  DPREDUCE_ASSERT(budget.epsilon.has_value());
  DPREDUCE_ASSERT(budget.accountant == Accountant::kPld ||
                  (budget.accountant == Accountant::kRdp && adjacency == Adjacency::kAddRemove));
  DPREDUCE_ASSERT(std::ranges::count_if(releases, is_sampled) == 1);
  for (const ReleaseRequest& request : releases) DPREDUCE_ASSERT(request.share > 0 && std::isfinite(request.share));
}

// The sampled release, as noise_plan.hpp would plan it for rounds that see all rows with this z.
PlannedRelease planned_with(double z, Adjacency adjacency, ReleaseRequest request) {
  const double rate = std::exchange(request.sampling_rate, 1.0);
  const double changes = adjacency == Adjacency::kReplaceOne ? 2 : 1;
  const double mu = changes * std::sqrt(static_cast<double>(request.rounds)) / z;
  PlannedRelease release = make_noise_plan(mu, adjacency, {std::move(request)}).releases[0];
  release.sampling_rate = rate;
  return release;
}

// z rounded up to 24 binary digits.
double rounded_up(double z) {
  const auto rounded = static_cast<float>(z);
  return rounded >= z ? rounded : std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

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

double accounted_noise_multiplier(double mu) {
  const double most = 1 / mu;
  if (most >= kLargestNoiseMultiplier) return kLargestNoiseMultiplier;
  const auto rounded = static_cast<float>(most);
  return rounded < most ? rounded : std::nextafter(rounded, 0.0F);
}

RepeatedMechanism sampled_rounds(double mu, double sampling_rate, std::uint64_t rounds, Adjacency charged,
                                 Adjacency question) {
  const double mu_of_record = charged == Adjacency::kReplaceOne ? mu / 2 : mu;
  return {
      GaussianMechanism{accounted_noise_multiplier(mu_of_record), sampling_rate, question == Adjacency::kReplaceOne},
      rounds};
}

Spending spending_of(const NoisePlan& plan) {
  Spending planned;
  planned.mu = plan.mu;
  for (const PlannedRelease& release : plan.releases) {
    if (!release.is_sampled()) continue;
    planned.samples.push_back(sampled_rounds(mu_of_rounds(release, 1), release.sampling_rate, release.rounds,
                                             plan.adjacency, plan.adjacency));
  }
  for (const PlannedSelection& selection : plan.selections) planned.selections.push_back({loss_of(selection.terms), 1});
  return planned;
}

Spending composed(const Spending& one, const Spending& other) {
  Spending both = one;
  both.mu = gdp_compose(std::array{one.mu, other.mu});
  both.selections.insert(both.selections.end(), other.selections.begin(), other.selections.end());
  both.samples.insert(both.samples.end(), other.samples.begin(), other.samples.end());
  return both;
}

double epsilon_of(const Spending& spending, double delta) {
  if (spending.is_gaussian()) {
    if (spending.mu == 0) return 0;
    return spending.mu <= kLargestMu ? gdp_epsilon(spending.mu, delta) : kInfinity;
  }
  std::vector<RepeatedMechanism> run = spending.selections;
  for (const RepeatedMechanism& selection : run) {
    if (pure_epsilon(selection.mechanism) > kLargestPureEpsilon) return kInfinity;
  }
  // Equal rounds are counted together, in one order.
  std::map<std::tuple<std::optional<double>, double, bool>, std::uint64_t> counts;
  for (const RepeatedMechanism& rounds : spending.samples) {
    const auto& [z, sampling_rate, is_exchange] = sampled(rounds);
    if (z < kSmallestNoiseMultiplier) return kInfinity;
    counts[{sampling_rate, z, is_exchange}] += rounds.count;
  }
  for (const auto& [round, count] : counts) {
    const auto& [sampling_rate, z, is_exchange] = round;
    run.push_back({GaussianMechanism{z, sampling_rate, is_exchange}, count});
  }
  if (spending.mu > 0) {
    const double z = accounted_noise_multiplier(spending.mu);
    if (z < kSmallestNoiseMultiplier) return kInfinity;
    run.push_back({GaussianMechanism{z}, 1});
  }
  return pld_epsilon_upper(run, delta);
}

double rho_of(const Spending& spending) {
  HighPrecision total = HighPrecision(spending.mu) * spending.mu / 2;
  for (const RepeatedMechanism& selection : spending.selections) {
    const HighPrecision epsilon(pure_epsilon(selection.mechanism));
    const int divisor = std::holds_alternative<ExponentialMechanism>(selection.mechanism) ? 8 : 2;
    total += epsilon * epsilon / divisor * selection.count;
  }
  for (const RepeatedMechanism& rounds : spending.samples) {
    const HighPrecision z(sampled(rounds).noise_multiplier);
    total += (sampled(rounds).is_exchange ? 4 : 1) * HighPrecision(rounds.count) / (2 * z * z);
  }
  return round_up(total * (1 + kArithmeticError));
}

double mu_of(const Spending& spending) {
  constexpr double kAboveRoot = 1 + 1e-15;  // more than the rounding of a root
  return spending.is_gaussian() ? spending.mu : kAboveRoot * std::sqrt(2 * rho_of(spending));
}

NoisePlan make_sampled_noise_plan(const BudgetOptions& budget, Adjacency adjacency,
                                  std::vector<ReleaseRequest> releases) {
  const double budget_mu = mu_of(budget);
  check(budget, adjacency, releases);
  const auto sampled = std::find_if(releases.begin(), releases.end(), is_sampled);
  const auto place = sampled - releases.begin();
  const ReleaseRequest request = *sampled;
  double all_shares = 0;
  for (const ReleaseRequest& release : releases) all_shares += release.share;
  releases.erase(sampled);

  CalibrationTarget target{.epsilon = *budget.epsilon,
                           .delta = *budget.delta,
                           .steps = request.rounds,
                           .sampling_rate = request.sampling_rate,
                           .is_exchange = adjacency == Adjacency::kReplaceOne};
  NoisePlan plan{.adjacency = adjacency};
  if (!releases.empty()) {
    const double plain_share = 1 - request.share / all_shares;
    plan = make_noise_plan(budget_mu * std::sqrt(plain_share), adjacency, std::move(releases));
    target.beside.push_back({GaussianMechanism{accounted_noise_multiplier(plan.mu)}, 1});
  }
  plan.budget_mu = budget_mu;
  double z = rounded_up(calibrated_noise_multiplier(target, budget.accountant));
  plan.releases.insert(plan.releases.begin() + place, planned_with(z * (1 + kAboveAccounted), adjacency, request));
  // An accountant's bound is checked at its own z; what a ledger counts, at the one that rounding left.
  while (epsilon_of(spending_of(plan), target.delta) > target.epsilon) {
    z = rounded_up(z * (1 + 1e-7));
    plan.releases[static_cast<std::size_t>(place)] = planned_with(z * (1 + kAboveAccounted), adjacency, request);
  }
  return plan;
}

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
