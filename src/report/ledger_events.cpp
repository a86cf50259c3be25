// A ledger as events of Google's accounting library, dp_accounting, so that others can check our figures with theirs.
//
//     Gaussian release of mu              GaussianDpEvent(noise_multiplier = 1 / mu, rounded down)
//     round on a Poisson sample           PoissonSampledDpEvent(sampling_probability, GaussianDpEvent)
//     selection, exponential mechanism    ExponentialMechanismDpEvent(epsilon), whose range is epsilon
//     selection, permute-and-flip         PermuteAndFlipDpEvent(epsilon)
//     the same several times              SelfComposedDpEvent(event, count)
//     one after the other                 ComposedDpEvent(events)
//
// A noise multiplier is sigma over the whole distance between neighbors (worker/statistics), as that of a sum is in
// dp_accounting under ADD_OR_REMOVE_ONE. So events are for an accountant of that relation, whatever the adjacency, but
// for an exchange where there are rounds on samples: for these alone the relation is REPLACE_ONE, under which a
// multiplier is sigma over what one record adds, and neighbors are twice that apart.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/accounting/high_precision.hpp"
#include "common/base/version.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/plan/spending.hpp"
#include "report/ledger_text.hpp"

namespace dpreduce {
namespace {

nlohmann::json composed_event(nlohmann::json events) {
  return {{"class", "ComposedDpEvent"}, {"events", std::move(events)}};
}

nlohmann::json repeated_event(nlohmann::json event, std::uint64_t count) {
  if (count == 1) return event;
  return {{"class", "SelfComposedDpEvent"}, {"event", std::move(event)}, {"count", count}};
}

nlohmann::json gaussian_event(double noise_multiplier) {
  return {{"class", "GaussianDpEvent"}, {"noise_multiplier", noise_multiplier}};
}

nlohmann::json selection_event(const char* event_class, double epsilon) {
  return {{"class", event_class}, {"epsilon", epsilon}};
}

nlohmann::json event_of(const Mechanism& mechanism) {
  if (const auto* sampled = std::get_if<SubsampledGaussian>(&mechanism)) {
    return {{"class", "PoissonSampledDpEvent"},
            {"sampling_probability", sampled->sampling_rate},
            {"event", gaussian_event(sampled->noise_multiplier)}};
  }
  if (const auto* exponential = std::get_if<ExponentialMechanism>(&mechanism)) {
    return selection_event("ExponentialMechanismDpEvent", exponential->epsilon);
  }
  return selection_event("PermuteAndFlipDpEvent", std::get<PureMechanism>(mechanism).epsilon);
}

// The neighbors that events are for.
struct EventTerms {
  Adjacency question;
  bool is_replace_one;  // the accountant's relation

  // 1 / mu is rounded down: no event promises more than the charge.
  nlohmann::json event_of(const Spending& spent) const {
    if (!spent.samples.empty()) {
      return repeated_event(dpreduce::event_of(spent.samples.front().mechanism), spent.samples.front().count);
    }
    if (!spent.selections.empty()) return dpreduce::event_of(spent.selections.front().mechanism);
    return gaussian_event(round_down((1 - kArithmeticError) * (is_replace_one ? 2 : 1) / HighPrecision(spent.mu)));
  }

  // Why the event is more than the charge costs; empty where it is what it costs.
  const char* looseness_of(const RunTerms& terms, double sampling_rate) const {
    const bool counts_twice = question == Adjacency::kReplaceOne && terms.adjacency == Adjacency::kAddRemove;
    return counts_twice && sampling_rate == 1 ? "charged under add-remove: an exchange counts as a group of two" : "";
  }
};

bool has_samples(const LedgerState& state) {
  const auto is_sampled = [](const auto& one) { return one.sampling_rate < 1; };
  return std::ranges::any_of(state.charges(), is_sampled, &LedgerCharge::entry) ||
         std::ranges::any_of(state.open_runs(), [&](const auto& run) {
           return std::ranges::any_of(run.second.remains.releases, is_sampled);
         });
}

// Charges in their order, those that are alike in one.
class EventList {
 public:
  void add(const std::string& name, nlohmann::json event, std::uint64_t count, const std::string& loose) {
    if (items_.empty() || items_.back().event != event || items_.back().loose != loose) {
      items_.push_back({name, name, std::move(event), loose, count});
    } else {
      items_.back().last = name;
      items_.back().count += count;
    }
  }

  // [{"name", "event", "loose"}]; appends the events to `all`.
  nlohmann::json write(nlohmann::json& all) const {
    nlohmann::json list = nlohmann::json::array();
    for (const Item& item : items_) {
      list.push_back({{"name", item.first == item.last ? item.first : item.first + " to " + item.last},
                      {"event", repeated_event(item.event, item.count)}});
      if (!item.loose.empty()) list.back()["loose"] = item.loose;
      all.push_back(list.back()["event"]);
    }
    return list;
  }

 private:
  struct Item {
    std::string first;
    std::string last;
    nlohmann::json event;
    std::string loose;
    std::uint64_t count;
  };
  std::vector<Item> items_;
};

EventList events_of(const std::vector<LedgerCharge>& charges, const EventTerms& terms) {
  EventList events;
  for (const LedgerCharge& charge : charges) {
    const LedgerEntry& entry = charge.entry;
    const Spending spent = spending_of(std::span(&charge, 1), terms.question);
    events.add(label_of(entry), terms.event_of(spent), 1, terms.looseness_of(entry.terms, entry.sampling_rate));
  }
  return events;
}

// A release's rounds are counted, not composed, so that each is seen.
EventList events_of(const Reservation& remains, const EventTerms& terms) {
  EventList events;
  const auto add = [&](const std::string& name, Reservation one, double sampling_rate, std::uint64_t count) {
    one.terms = remains.terms;
    events.add(name, terms.event_of(spending_of(one, terms.question)), count,
               terms.looseness_of(one.terms, sampling_rate));
  };
  for (ReservedRelease release : remains.releases) {
    const std::uint64_t rounds = std::exchange(release.rounds, 1);
    add(release.name, {.run_id = {}, .terms = {}, .releases = {release}, .selections = {}}, release.sampling_rate,
        rounds);
  }
  for (const PlannedSelection& selection : remains.selections) {
    add(selection.name, {.run_id = {}, .terms = {}, .releases = {}, .selections = {selection}}, 1, 1);
  }
  return events;
}

// The unit of all lines: a ledger has charges of one unit (require_one_unit).
PrivacyUnit unit_of(const LedgerState& state) {
  if (!state.charges().empty()) return state.charges().front().entry.terms.unit;
  return state.open_runs().empty() ? PrivacyUnit::kRecord : state.open_runs().begin()->second.remains.terms.unit;
}

}  // namespace

nlohmann::json dp_events_of(const LedgerState& state, Adjacency adjacency) {
  const EventTerms terms_of_events{adjacency, adjacency == Adjacency::kReplaceOne && has_samples(state)};
  nlohmann::json spent = nlohmann::json::array();
  nlohmann::json reserved = nlohmann::json::array();
  nlohmann::json runs = nlohmann::json::array();
  nlohmann::json not_private = nlohmann::json::array();
  const auto add_run = [&](const std::string& run, const RunTerms& terms, const std::vector<LedgerCharge>& charges) {
    if (!terms.is_private) {
      not_private.push_back(run);
      return;
    }
    const OpenRun* open = state.open_run(run);
    nlohmann::json json{{"run", run},
                        {"method", terms.method},
                        {"adjacency", to_string(terms.adjacency)},
                        {"spent", nlohmann::json::array()},
                        {"reserved", nlohmann::json::array()}};
    json["spent"] = events_of(charges, terms_of_events).write(spent);
    if (open != nullptr) json["reserved"] = events_of(open->remains, terms_of_events).write(reserved);
    if (terms.silos) json["silos"] = silos_text(*terms.silos);
    runs.push_back(std::move(json));
  };
  const std::vector<ChargesOfRun> charged = charges_by_run(state);
  for (const auto& [run, charges] : charged) add_run(run, charges.front().entry.terms, charges);
  for (const auto& [run, open] : state.open_runs()) {
    const auto is_of_run = [&id = run](const ChargesOfRun& one) { return one.run == id; };
    if (std::ranges::none_of(charged, is_of_run)) add_run(run, open.remains.terms, {});
  }
  return {{"format", "dpreduce-dp-events"},
          {"format_version", 1},
          {"version", version()},
          {"adjacency", to_string(adjacency)},
          {"neighboring_relation", terms_of_events.is_replace_one ? "REPLACE_ONE" : "ADD_OR_REMOVE_ONE"},
          {"unit", to_string(unit_of(state))},
          {"spent", composed_event(std::move(spent))},
          {"reserved", composed_event(std::move(reserved))},
          {"runs", std::move(runs)},
          {"not_private", std::move(not_private)}};
}

}  // namespace dpreduce
