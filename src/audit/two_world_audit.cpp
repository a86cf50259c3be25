#include "audit/two_world_audit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <Eigen/QR>

#include "audit/confidence_bounds.hpp"
#include "common/base/error.hpp"
#include "common/kernels/thread_team.hpp"

namespace dpreduce {
namespace {

// Far below any noise (scaled to 1), far above the rounding of the sums behind a covariance.
constexpr double kRidge = 1e-9;

Eigen::MatrixXd covariance(const Eigen::MatrixXd& rows, const Eigen::RowVectorXd& mean) {
  const Eigen::MatrixXd centered = rows.rowwise() - mean;
  return centered.transpose() * centered / static_cast<double>(rows.rows());
}

}  // namespace

Runs table_of(const std::vector<std::vector<double>>& runs) {
  Runs table(static_cast<Eigen::Index>(runs.size()), static_cast<Eigen::Index>(runs.front().size()));
  for (std::size_t run = 0; run < runs.size(); ++run) {
    DPREDUCE_ASSERT(runs[run].size() == runs.front().size());
    std::copy(runs[run].begin(), runs[run].end(), table.row(static_cast<Eigen::Index>(run)).begin());
  }
  return table;
}

Attack::Attack(Discriminant discriminant, const Runs& world_0, const Runs& world_1) : discriminant_(discriminant) {
  DPREDUCE_ASSERT(world_0.rows() >= 2 && world_1.rows() >= 2 && world_0.cols() == world_1.cols());
  center_ = (world_0.colwise().mean() + world_1.colwise().mean()) / 2;
  const Eigen::RowVectorXd squares = ((world_0.rowwise() - center_).array().square().colwise().mean() +
                                      (world_1.rowwise() - center_).array().square().colwise().mean()) /
                                     2;
  // A number that never changes is 0 after centering, whatever its scale.
  scale_ = squares.unaryExpr([](double square) { return square > 0.0 ? 1.0 / std::sqrt(square) : 1.0; });

  if (world_0.cols() > world_0.rows() + world_1.rows()) {
    Eigen::MatrixXd both(world_0.cols(), world_0.rows() + world_1.rows());
    both << scaled(world_0).transpose(), scaled(world_1).transpose();
    basis_ = both.householderQr().householderQ() * Eigen::MatrixXd::Identity(both.rows(), both.cols());
  }

  Eigen::MatrixXd covariances[2];
  for (int world = 0; world < 2; ++world) {
    const Eigen::MatrixXd seen = coordinates(world == 0 ? world_0 : world_1);
    means_[world] = seen.colwise().mean();
    covariances[world] = covariance(seen, means_[world]);
  }
  const Eigen::MatrixXd ridge = kRidge * Eigen::MatrixXd::Identity(means_[0].size(), means_[0].size());
  if (discriminant == Discriminant::kLinear) {
    const Eigen::MatrixXd pooled = (covariances[0] + covariances[1]) / 2 + ridge;
    direction_ = pooled.llt().solve((means_[1] - means_[0]).transpose());
  } else {
    for (int world = 0; world < 2; ++world) factors_[world].compute(covariances[world] + ridge);
  }
}

Eigen::MatrixXd Attack::scaled(const Runs& runs) const {
  return (runs.rowwise() - center_).array().rowwise() * scale_.array();
}

Eigen::MatrixXd Attack::coordinates(const Runs& runs) const {
  return basis_.size() == 0 ? scaled(runs) : scaled(runs) * basis_;
}

Eigen::VectorXd Attack::squared_distances(const Eigen::MatrixXd& seen, int world) const {
  const Eigen::MatrixXd centered = (seen.rowwise() - means_[world]).transpose();
  return factors_[world].matrixL().solve(centered).colwise().squaredNorm().transpose();
}

Eigen::VectorXd Attack::scores(const Runs& runs) const {
  DPREDUCE_ASSERT(runs.cols() == center_.size());
  const Eigen::MatrixXd seen = coordinates(runs);
  if (discriminant_ == Discriminant::kLinear) return seen * direction_;
  return squared_distances(seen, 0) - squared_distances(seen, 1);
}

namespace {

constexpr std::size_t kMostThresholds = 400;

// An attack on columns: a learned one, or a single column that is a score already.
class ColumnAttack {
 public:
  explicit ColumnAttack(const View& score) : view_(score) {}
  ColumnAttack(const View& numbers, Discriminant discriminant, const Runs& runs_0, const Runs& runs_1)
      : view_(numbers), learned_(Attack(discriminant, seen(runs_0), seen(runs_1))) {}

  Eigen::VectorXd scores(const Runs& runs) const {
    return learned_ ? learned_->scores(seen(runs)) : Eigen::VectorXd(seen(runs).col(0));
  }

 private:
  Runs seen(const Runs& runs) const {
    return runs.middleCols(static_cast<Eigen::Index>(view_.first), static_cast<Eigen::Index>(view_.columns));
  }

  View view_;
  std::optional<Attack> learned_;
};

void require_there(const View& view, const Runs& runs) {
  DPREDUCE_ASSERT(view.columns >= 1 && view.first + view.columns <= static_cast<std::size_t>(runs.cols()));
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
  static std::vector<double> sorted(const Eigen::VectorXd& scores) {
    std::vector<double> result(scores.data(), scores.data() + scores.size());
    std::sort(result.begin(), result.end());
    return result;
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
  std::vector<std::vector<double>> published(runs);
  ThreadTeam(static_cast<unsigned>(workers)).for_each(workers, [&](std::size_t worker) {
    const std::unique_ptr<AuditedRun> run = factory();
    const std::size_t last = runs * (worker + 1) / workers;
    for (std::size_t r = runs * worker / workers; r < last; ++r) published[r] = run->observe(world);
  });
  return table_of(published);
}

ProvenLoss proven_loss(const Runs& world_0, const Runs& world_1, const std::vector<View>& views, double delta,
                       double error) {
  DPREDUCE_ASSERT(world_0.rows() >= 12 && world_1.rows() >= 12 && world_0.cols() == world_1.cols());
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
  DPREDUCE_ASSERT(!views.empty());
  const auto learning = [](const Runs& runs) -> Runs { return runs.topRows(runs.rows() / kShareToLearn); };
  const auto choosing = [](const Runs& runs) -> Runs {
    return runs.middleRows(runs.rows() / kShareToLearn, runs.rows() / 2 - runs.rows() / kShareToLearn);
  };
  const auto counting = [](const Runs& runs) -> Runs { return runs.bottomRows(runs.rows() - runs.rows() / 2); };

  std::vector<ColumnAttack> attacks;
  for (const View& view : views) {
    require_there(view, world_0);
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
