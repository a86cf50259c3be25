#include "fit/planned_fit.hpp"

#include "common/base/version.hpp"
#include "fit/plan_fit.hpp"

namespace dpreduce {

PlannedFit::PlannedFit(const FitOptions& stated, std::size_t input_dim, std::uint64_t public_rows,
                       std::uint64_t bytes_for_rank)
    : options_(resolved(stated, input_dim, public_rows, bytes_for_rank)),
      plan_(plan_fit(options_, input_dim, public_rows)),
      method_(make_method(options_)) {}

RunTerms PlannedFit::terms() const {
  const BudgetOptions& budget = options_.privacy.budget;
  const bool is_stated = budget.epsilon && !plan_.public_selection;
  return {.method = std::string(method_->name()),
          .accountant = budget.accountant,
          .unit = options_.data.unit(),
          .epsilon = is_stated ? budget.epsilon : std::nullopt,
          .delta = is_stated ? budget.delta : std::nullopt,
          .config_digest = plan_.config_digest,
          .version = version()};
}

StreamPlan PlannedFit::stream_over(const WorkerRows& rows, unsigned threads,
                                   std::optional<std::size_t> memory_bytes) const {
  return {.classes = options_.data.classes,
          .bad_rows = options_.data.train.bad_rows,
          .memory_bytes = memory_bytes.value_or(options_.machine.memory_mib.value() << 20),
          .threads = threads,
          .labels_per_row = rows.has_label_sets() ? options_.data.most_labels() : 1};
}

}  // namespace dpreduce
