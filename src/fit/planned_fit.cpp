#include "fit/planned_fit.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/version.hpp"
#include "fit/plan_archive.hpp"
#include "fit/plan_fit.hpp"

namespace dpreduce {
namespace {

// What travels of a PlannedFit.
struct DecidedFit {
  FitOptions options;
  FitPlan plan;
};

template <typename Archive>
void serialize(Archive& archive, DecidedFit& fit, unsigned) {
  auto& [options, plan] = fit;
  archive_all(archive, options, plan);
}

// The least of what ranks have. Collective.
std::uint64_t least_everywhere(std::uint64_t bytes, Communicator& ranks) {
  constexpr std::uint64_t kExactInDouble = std::uint64_t{1} << 53;
  return static_cast<std::uint64_t>(-ranks.max_everywhere(-static_cast<double>(std::min(bytes, kExactInDouble))));
}

}  // namespace

PlannedFit::PlannedFit(const FitOptions& stated, std::size_t input_dim, std::uint64_t public_rows,
                       std::uint64_t bytes_for_rank)
    : options_(resolved(stated, input_dim, public_rows, bytes_for_rank)),
      plan_(plan_fit(options_, input_dim, public_rows)),
      method_(make_method(options_)) {}

PlannedFit::PlannedFit(FitOptions resolved, FitPlan plan)
    : options_(std::move(resolved)), plan_(std::move(plan)), method_(make_method(options_)) {}

RunTerms PlannedFit::terms() const {
  const BudgetOptions& budget = options_.privacy.budget;
  const bool is_stated = budget.epsilon && !plan_.public_selection;
  return {.method = std::string(method_->name()),
          .accountant = budget.accountant,
          .unit = options_.data.unit(),
          .epsilon = is_stated ? budget.epsilon : std::nullopt,
          .delta = is_stated ? budget.delta : std::nullopt,
          .config_digest = plan_.config_digest,
          .version = version(),
          .forfeits = beside_seed(plan_.forfeits)};
}

StreamPlan PlannedFit::stream_over(const WorkerRows& rows, unsigned threads,
                                   std::optional<std::size_t> memory_bytes) const {
  return {.classes = options_.data.classes,
          .bad_rows = options_.data.train.bad_rows,
          .memory_bytes = memory_bytes.value_or(options_.machine.memory_mib.value() << 20),
          .threads = threads,
          .labels_per_row = rows.has_label_sets() ? options_.data.most_labels() : 1};
}

std::shared_ptr<const PlannedFit> fit_planned_for_job(const FitOptions& stated, std::size_t input_dim,
                                                      std::uint64_t public_rows, std::uint64_t bytes_for_rank,
                                                      Communicator& ranks) {
  const bool is_shared = ranks.size() > 1 && ranks.silos() == nullptr;
  if (is_shared) bytes_for_rank = least_everywhere(bytes_for_rank, ranks);
  std::shared_ptr<const PlannedFit> fit;
  std::string archive;
  ranks.together([&] {
    if (is_shared && !ranks.is_coordinator()) return;
    fit = std::make_shared<const PlannedFit>(stated, input_dim, public_rows, bytes_for_rank);
    if (is_shared) archive = archived(DecidedFit{fit->options(), fit->plan()});
  });
  if (!is_shared) return fit;
  archive = ranks.broadcast_message(std::move(archive));
  ranks.together([&] {
    if (ranks.is_coordinator()) return;
    DecidedFit decided = unarchived<DecidedFit>(archive);
    fit = std::make_shared<const PlannedFit>(std::move(decided.options), std::move(decided.plan));
  });
  return fit;
}

}  // namespace dpreduce
