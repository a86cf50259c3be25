// Class means or chosen public rows as prototypes, whichever serve better: decided by public knowledge alone. Both are
// centered by public rows, unless --center says otherwise.
#include "methods/prototypes.hpp"

#include <cmath>
#include <numeric>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/data/long_tail.hpp"

namespace dpreduce {
namespace {

constexpr double kLogsOfCandidates = 7.0;

// Figures that both rules use.
struct Outlook {
  double mu;
  double smallest;         // mu n_s: the smallest class in standard deviations of the noise
  bool choice_can_decide;  // epsilon N / K >= 7 log m
};

Outlook outlook_of(const FitOptions& options, std::uint64_t public_rows) {
  const BudgetOptions& budget = options.privacy.budget;
  const auto candidates = static_cast<double>(public_rows);
  const auto classes = static_cast<double>(options.data.classes);
  const std::vector<double> shares = long_tail_shares(options.data.classes, options.data.imbalance_ratio);
  const double rows = options.method.expected_rows.value_or(candidates);  // before they are thinned
  const double of_class = rows / classes;
  const double of_smallest =
      options.method.smallest_share ? rows * *options.method.smallest_share : of_class * shares.back();
  const double of_mean_class = of_class * std::accumulate(shares.begin(), shares.end(), 0.0) / classes;
  const double mu = mu_of(budget);
  return {mu, mu * of_smallest,
          selection_epsilon_of(budget) * of_mean_class >= kLogsOfCandidates * std::log(candidates)};
}

bool is_pure(const BudgetOptions& budget) {
  return !budget.non_private && budget.epsilon && !budget.delta;
}

}  // namespace

bool prefers_means(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  DPREDUCE_ASSERT(public_rows >= 1);
  if (options.privacy.budget.non_private) return true;
  if (is_pure(options.privacy.budget)) return false;
  const Outlook outlook = outlook_of(options, public_rows);
  return outlook.smallest >= std::sqrt(static_cast<double>(dim)) || !outlook.choice_can_decide;
}

bool prefers_prototypes(const FitOptions& options, std::uint64_t public_rows) {
  if (public_rows == 0 || options.privacy.budget.non_private) return false;
  if (is_pure(options.privacy.budget)) return true;
  const Outlook outlook = outlook_of(options, public_rows);
  const double largest_of_noises = 2.0 * std::sqrt(std::log(static_cast<double>(options.data.classes)));
  return outlook.smallest < largest_of_noises && outlook.choice_can_decide;
}

bool noise_exceeds_sampling(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  if (public_rows == 0 || options.privacy.budget.non_private) return false;
  const Outlook outlook = outlook_of(options, public_rows);
  return outlook.mu * outlook.smallest < static_cast<double>(dim);
}

std::vector<RefusedOption> refused_by_public_choice() {
  return {{"--normalize none", "rows are compared by their cosine; use l2"},
          {"--feature-range private", "noised ranges would end the pure guarantee; give them as LO,HI"},
          {"--center dp", "a noised mean would end the pure guarantee; use --center public"},
          {"--select",
           "features are ranked by noised sums, which would end the pure guarantee; use --pca, which takes --public-x"},
          {"--max-labels above 1", "a row counts for the prototypes of one class"}};
}

namespace {

FitOptions resolve_prototypes(FitOptions options, const RowsAhead& rows) {
  options.method.name =
      prefers_means(options, rows.kept_features, rows.public_rows) ? mean_method.name : public_method.name;
  if (!options.rows.center) options.rows.center = Centering::kPublic;
  return options;
}

}  // namespace

const MethodEntry prototypes_method{
    .name = "prototypes",
    .help = "class means or public rows, chosen by public knowledge",
    .takes = {{"--auto"}, {"--expected-rows"}, {"--smallest-share"}},
    .refuses = refused_by_public_choice(),
    .resolve = resolve_prototypes,
    .resolved_by = "budget, classes, features, --expected-rows and --smallest-share: public knowledge",
    .chooses_public_rows = true};

}  // namespace dpreduce
