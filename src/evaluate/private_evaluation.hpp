// A model on test rows, told with noise: one release, charged on a ledger as those of a fit are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "common/accounting/budget.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/ledger/data_set_budget.hpp"
#include "common/ranks/communicator.hpp"
#include "evaluate/metric_counts.hpp"
#include "evaluate/private_figures.hpp"

namespace dpreduce {

/// What an evaluation may spend, and where that is written down.
struct EvaluationBudget {
  BudgetOptions budget{};
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<std::uint64_t> seed{};  ///< repeatable noise; the evaluation is then not private
  std::string ledger = "ledger.jsonl";
  std::optional<DataSetBudget> limit{};  ///< of the data set, over all runs on the ledger
};

/// Shows a row: its class, its K scores, and K probabilities where terms need them.
using OnScoredRow =
    std::function<void(std::int32_t label, std::span<const double> scores, std::span<const double> probabilities)>;

struct PrivateEvaluation {
  PrivateFigures figures;
  Guarantee guarantee;
};

/// Releases what `terms` ask for of all ranks' rows, which `visit` shows one after the other, and tells it at `level`:
/// at the coordinator alone `keep` is shown it, before the run ends on the ledger. Nothing is charged before `visit`
/// has returned on every rank. Collective. Throws UsageError for terms and budgets that cannot be, what `visit` and
/// `keep` throw, and as Releaser::release.
void evaluate_privately(const EvaluationTerms& terms, const EvaluationBudget& budget, double level, Communicator& ranks,
                        const std::function<void(const OnScoredRow&)>& visit,
                        const std::function<void(const PrivateEvaluation&)>& keep);

}  // namespace dpreduce
