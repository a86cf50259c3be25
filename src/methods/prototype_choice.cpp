#include "dpreduce/methods/prototype_choice.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "dpreduce/config/error.hpp"
#include "dpreduce/data/long_tail.hpp"
#include "dpreduce/privacy/guarantee.hpp"

namespace dpreduce {
namespace {

constexpr double kLogsOfCandidates = 7.0;

/// What both rules look at.
struct Outlook {
  double mu;
  double smallest;       // mu n_s: the smallest class in standard deviations of the noise
  bool choice_can_tell;  // epsilon N / K >= 7 log m
};

Outlook outlook_of(const FitOptions& options, std::uint64_t public_rows) {
  DPREDUCE_ASSERT(public_rows >= 1);
  const BudgetOptions& budget = options.budget;
  const auto candidates = static_cast<double>(public_rows);
  const auto classes = static_cast<double>(options.classes);
  const std::vector<double> shares = long_tail_shares(options.classes, options.imbalance_ratio);
  const double rows = options.expected_rows.value_or(candidates);  // before they are thinned
  const double of_class = rows / classes;
  const double of_smallest = options.smallest_share ? rows * *options.smallest_share : of_class * shares.back();
  const double of_mean_class = of_class * std::accumulate(shares.begin(), shares.end(), 0.0) / classes;
  const double mu = budget_from(budget).mu(budget.accountant);
  return {mu, mu * of_smallest,
          selection_epsilon_of(budget) * of_mean_class >= kLogsOfCandidates * std::log(candidates)};
}

bool is_pure(const BudgetOptions& budget) {
  return !budget.non_private && budget.epsilon && !budget.delta;
}

}  // namespace

bool prefers_means(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  DPREDUCE_ASSERT(public_rows >= 1);
  if (options.budget.non_private) return true;
  if (is_pure(options.budget)) return false;
  const Outlook outlook = outlook_of(options, public_rows);
  return outlook.smallest >= std::sqrt(static_cast<double>(dim)) || !outlook.choice_can_tell;
}

bool prefers_prototypes(const FitOptions& options, std::uint64_t public_rows) {
  if (public_rows == 0 || options.budget.non_private) return false;
  if (is_pure(options.budget)) return true;
  const Outlook outlook = outlook_of(options, public_rows);
  const double largest_of_noises = 2.0 * std::sqrt(std::log(static_cast<double>(options.classes)));
  return outlook.smallest < largest_of_noises && outlook.choice_can_tell;
}

bool noise_exceeds_sampling(const FitOptions& options, std::size_t dim, std::uint64_t public_rows) {
  if (public_rows == 0 || options.budget.non_private) return false;
  const Outlook outlook = outlook_of(options, public_rows);
  return outlook.mu * outlook.smallest < static_cast<double>(dim);
}

}  // namespace dpreduce
