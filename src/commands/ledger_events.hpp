// A ledger as events of Google's accounting library, dp_accounting, so that others can check our figures with theirs.
//
//     Gaussian release of mu              GaussianDpEvent(noise_multiplier = 1 / mu, rounded down)
//     round on a Poisson sample           PoissonSampledDpEvent(sampling_probability, GaussianDpEvent)
//     private selection of epsilon        EpsilonDeltaDpEvent(epsilon, delta = 0): a bound, which is loose
//     the same several times              SelfComposedDpEvent(event, count)
//     one after the other                 ComposedDpEvent(events)
//
// A noise multiplier is sigma over the whole distance between neighbors (worker/statistics), as that of a sum is in
// dp_accounting under ADD_OR_REMOVE_ONE. So all events are for an accountant of that relation, whatever the adjacency.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/base/choices.hpp"
#include "common/ledger/ledger_state.hpp"

namespace dpreduce {

/// What ledger export --dp-events prints (docs/reference/schemas/dp-events.schema.json): what private runs have charged
/// and, apart from it, what open ones may still charge. Each charge counts as in spending_of for neighbors by
/// `adjacency` (data_set_budget.hpp): one under add-remove twice where the question is replace-one.
nlohmann::json dp_events_of(const LedgerState& state, Adjacency adjacency);

}  // namespace dpreduce
