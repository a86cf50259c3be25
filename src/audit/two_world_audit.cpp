#include "audit/two_world_audit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/cleaned_ridge.hpp"
#include "audit/confidence_bounds.hpp"
#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

// Far below any noise (scaled to 1), far above the rounding of the sums behind a covariance.
constexpr double kRidge = 1e-9;

// Rows of as many numbers as `center` has, less that row each.
std::vector<double> centered(std::vector<double> rows, const std::vector<double>& center) {
  for (std::size_t e = 0; e < rows.size(); ++e) rows[e] -= center[e % center.size()];
  return rows;
}

std::vector<double> mean_row(const std::vector<double>& rows, std::size_t dim) {
  std::vector<double> mean(dim);
  for (std::size_t e = 0; e < rows.size(); ++e) mean[e % dim] += rows[e];
  for (double& entry : mean) entry /= static_cast<double>(rows.size() / dim);
  return mean;
}

std::vector<double> middle_of(std::vector<double> one, const std::vector<double>& other) {
  for (std::size_t e = 0; e < one.size(); ++e) one[e] = (one[e] + other[e]) / 2;
  return one;
}

std::vector<double> covariance(const std::vector<double>& rows, const std::vector<double>& mean) {
  std::vector<double> covariance = gram_of(centered(rows, mean), mean.size());
  for (double& entry : covariance) entry /= static_cast<double>(rows.size() / mean.size());
  return covariance;
}

std::vector<double> row_by_row(const Runs& runs) {
  std::vector<double> rows;
  for (const std::vector<double>& run : runs) rows.insert(rows.end(), run.begin(), run.end());
  return rows;
}

bool all_have(const Runs& runs, std::size_t numbers) {
  return std::ranges::all_of(runs, [&](const auto& run) { return run.size() == numbers; });
}

}  // namespace

Attack::Attack(Discriminant discriminant, const Runs& world_0, const Runs& world_1) : discriminant_(discriminant) {
  DPREDUCE_ASSERT(world_0.size() >= 2 && world_1.size() >= 2);
  const std::size_t dim = world_0.front().size();
  DPREDUCE_ASSERT(all_have(world_0, dim) && all_have(world_1, dim));
  const auto middle_of_means = [&](const std::vector<double>& rows_0, const std::vector<double>& rows_1) {
    return middle_of(mean_row(rows_0, dim), mean_row(rows_1, dim));
  };
  const auto squares = [&](const Runs& runs) {
    std::vector<double> rows = centered(row_by_row(runs), center_);
    for (double& entry : rows) entry *= entry;
    return rows;
  };
  center_ = middle_of_means(row_by_row(world_0), row_by_row(world_1));
  scale_ = middle_of_means(squares(world_0), squares(world_1));
  // A number that never changes is 0 after centering, whatever its scale.
  for (double& entry : scale_) entry = entry > 0.0 ? 1.0 / std::sqrt(entry) : 1.0;

  if (dim > world_0.size() + world_1.size()) {
    std::vector<double> both = scaled(world_0);
    const std::vector<double> more = scaled(world_1);
    both.insert(both.end(), more.begin(), more.end());
    basis_ = orthonormal_rows(std::move(both), dim);
  }
  for (int world = 0; world < 2; ++world) {
    const Runs& runs = world == 0 ? world_0 : world_1;
    const std::vector<double> seen = coordinates(runs);
    means_[world] = mean_row(seen, seen.size() / runs.size());
    covariances_[world] = covariance(seen, means_[world]);
  }
  if (discriminant == Discriminant::kLinear) {
    direction_ = centered(means_[1], means_[0]);
    std::vector<double> pooled = middle_of(covariances_[0], covariances_[1]);
    solve_exact_ridge(pooled, kRidge, direction_);
  }
}

std::vector<double> Attack::scaled(const Runs& runs) const {
  std::vector<double> rows = centered(row_by_row(runs), center_);
  for (std::size_t e = 0; e < rows.size(); ++e) rows[e] *= scale_[e % scale_.size()];
  return rows;
}

std::vector<double> Attack::coordinates(const Runs& runs) const {
  return basis_.empty() ? scaled(runs) : inner_products(scaled(runs), basis_, center_.size());
}

std::vector<double> Attack::squared_distances(const std::vector<double>& seen, int world) const {
  const std::vector<double> rows = centered(seen, means_[world]);
  std::vector<double> solved = rows;
  std::vector<double> matrix = covariances_[world];
  solve_exact_ridge(matrix, kRidge, solved);
  const std::size_t dim = means_[world].size();
  std::vector<double> distances(rows.size() / dim);
  for (std::size_t e = 0; e < rows.size(); ++e) distances[e / dim] += rows[e] * solved[e];
  return distances;
}

std::vector<double> Attack::scores(const Runs& runs) const {
  DPREDUCE_ASSERT(all_have(runs, center_.size()));
  const std::vector<double> seen = coordinates(runs);
  if (discriminant_ == Discriminant::kLinear) return inner_products(seen, direction_, direction_.size());
  return centered(squared_distances(seen, 0), squared_distances(seen, 1));
}

namespace {

constexpr std::size_t kMostThresholds = 400;

// An attack on columns: a learned one, or a single column that is a score already.
class ColumnAttack {
 public:
  explicit ColumnAttack(const View& score) : view_(score) {}
  ColumnAttack(const View& numbers, Discriminant discriminant, const Runs& runs_0, const Runs& runs_1)
      : view_(numbers), learned_(Attack(discriminant, seen(runs_0), seen(runs_1))) {}

  std::vector<double> scores(const Runs& runs) const {
    return learned_ ? learned_->scores(seen(runs)) : row_by_row(seen(runs));
  }

 private:
  Runs seen(Runs runs) const {
    const auto first = static_cast<std::ptrdiff_t>(view_.first);
    for (auto& run : runs)
      run = {run.begin() + first, run.begin() + first + static_cast<std::ptrdiff_t>(view_.columns)};
    return runs;
  }

  View view_;
  std::optional<Attack> learned_;
};

void require_there(const View& view, std::size_t columns) {
  DPREDUCE_ASSERT(view.columns >= 1 && view.first + view.columns <= columns);
  DPREDUCE_ASSERT(view.kind != ViewKind::kScore || view.columns == 1);
}

// Scores of one attack on runs of both worlds, ascending.
struct Scores {
  Scores(const ColumnAttack& attack, const Runs& runs_0, const Runs& runs_1)
      : world_0(sorted(attack.scores(runs_0))), world_1(sorted(attack.scores(runs_1))) {}

  AttackCounts above(double threshold) const {
    return {count_above(world_1, threshold), world_1.size(), count_above(world_0, threshold), world_0.size()};
  }

  // Midpoints between neighbors among all scores, thinned out evenly.
  std::vector<double> thresholds() const {
    std::vector<double> all(world_0);
    all.insert(all.end(), world_1.begin(), world_1.end());
    std::sort(all.begin(), all.end());
    const std::size_t gaps = all.size() - 1;
    const std::size_t wanted = std::min(gaps, kMostThresholds);
    std::vector<double> chosen;
    for (std::size_t t = 0; t < wanted; ++t) {
      const std::size_t gap = (2 * t + 1) * gaps / (2 * wanted);
      chosen.push_back(all[gap] + (all[gap + 1] - all[gap]) / 2);
    }
    return chosen;
  }

  std::vector<double> world_0;
  std::vector<double> world_1;

 private:
  static std::vector<double> sorted(std::vector<double> scores) {
    std::ranges::sort(scores);
    return scores;
  }
  static std::size_t count_above(const std::vector<double>& scores, double threshold) {
    return static_cast<std::size_t>(scores.end() - std::upper_bound(scores.begin(), scores.end(), threshold));
  }
};

// An attack with its threshold, and the bound that the runs set aside for the choice give it.
struct Choice {
  std::size_t attack = 0;
  Side side = Side::kAccusals;
  double threshold = 0.0;
  double bound = -1.0;
};

// Takes, if its bound is better, the middle of the thresholds whose bound is nearly the best: the best itself owes too
// much to luck.
template <typename Bound>
void take_if_better(Choice& choice, std::size_t attack, Side side, const std::vector<double>& thresholds,
                    Bound bound_at) {
  constexpr double kNearlyBest = 0.9;
  std::vector<double> bounds;
  for (const double threshold : thresholds) bounds.push_back(bound_at(threshold));
  const double best = *std::max_element(bounds.begin(), bounds.end());
  std::vector<std::size_t> good;
  for (std::size_t t = 0; t < bounds.size(); ++t) {
    if (bounds[t] >= kNearlyBest * best) good.push_back(t);
  }
  const std::size_t middle = good[good.size() / 2];
  if (bounds[middle] > choice.bound) choice = {attack, side, thresholds[middle], bounds[middle]};
}

}  // namespace

Runs observe_runs(const AuditedRunFactory& factory, World world, std::size_t runs, unsigned threads) {
  const std::size_t workers = std::max<std::size_t>(1, std::min<std::size_t>(threads, runs));
  Runs published(runs);
  ThreadTeam(static_cast<unsigned>(workers)).for_each(workers, [&](std::size_t worker) {
    const std::unique_ptr<AuditedRun> run = factory();
    const std::size_t last = runs * (worker + 1) / workers;
    for (std::size_t r = runs * worker / workers; r < last; ++r) published[r] = run->observe(world);
  });
  return published;
}

ProvenLoss proven_loss(const Runs& world_0, const Runs& world_1, const std::vector<View>& views, double delta,
                       double error) {
  DPREDUCE_ASSERT(world_0.size() >= 12 && world_1.size() >= 12);
  const std::size_t columns = world_0.front().size();
  DPREDUCE_ASSERT(all_have(world_0, columns) && all_have(world_1, columns));
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
  DPREDUCE_ASSERT(!views.empty());
  const auto part = [](const Runs& runs, std::size_t first, std::size_t last) {
    return Runs(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.begin() + static_cast<std::ptrdiff_t>(last));
  };
  const auto learning = [&](const Runs& runs) { return part(runs, 0, runs.size() / kShareToLearn); };
  const auto choosing = [&](const Runs& runs) { return part(runs, runs.size() / kShareToLearn, runs.size() / 2); };
  const auto counting = [&](const Runs& runs) { return part(runs, runs.size() / 2, runs.size()); };

  std::vector<ColumnAttack> attacks;
  for (const View& view : views) {
    require_there(view, columns);
    if (view.kind == ViewKind::kScore) {
      attacks.emplace_back(view);
      continue;
    }
    for (const Discriminant discriminant : {Discriminant::kLinear, Discriminant::kQuadratic}) {
      attacks.emplace_back(view, discriminant, learning(world_0), learning(world_1));
    }
  }

  Choice for_epsilon;
  Choice for_mu;
  for (std::size_t attack = 0; attack < attacks.size(); ++attack) {
    const Scores scores(attacks[attack], choosing(world_0), choosing(world_1));
    const std::vector<double> thresholds = scores.thresholds();
    for (const Side side : {Side::kAccusals, Side::kDenials}) {
      take_if_better(for_epsilon, attack, side, thresholds, [&](double threshold) {
        return epsilon_lower_bound(scores.above(threshold), side, delta, error / 2);
      });
    }
    take_if_better(for_mu, attack, Side::kAccusals, thresholds,
                   [&](double threshold) { return mu_lower_bound(scores.above(threshold), error / 2); });
  }

  const auto count = [&](const Choice& choice) {
    return Scores(attacks[choice.attack], counting(world_0), counting(world_1)).above(choice.threshold);
  };
  return {.epsilon = epsilon_lower_bound(count(for_epsilon), for_epsilon.side, delta, error / 2),
          .mu = mu_lower_bound(count(for_mu), error / 2)};
}

ProvenLoss audit_two_worlds(const AuditedRunFactory& factory, const TwoWorldTerms& terms) {
  const Runs world_0 = observe_runs(factory, World::kWithoutCanary, terms.runs_per_world, terms.threads);
  const Runs world_1 = observe_runs(factory, World::kWithCanary, terms.runs_per_world, terms.threads);
  return proven_loss(world_0, world_1, factory()->views(), terms.delta, terms.error);
}

}  // namespace dpreduce
