#include "common/accounting/privacy_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/composed_loss.hpp"
#include "common/accounting/dear_functions.hpp"
#include "common/accounting/rdp.hpp"

namespace dpreduce {
namespace {

// The share of delta that truncated tails may take.
constexpr double kTailShare = 1e-9;
constexpr double kSmallestTail = 1e-280;
// Target: what the discretization may add to epsilon, relative.
constexpr double kGridError = 1e-7;
constexpr double kFewestCells = 4096;

struct Totals {
  double count = 0;
  double atom = 0;  // of the mechanism with atoms that runs most often
};

// Equal mechanisms next to each other or not: one transform for all of them.
std::vector<RepeatedMechanism> merged(std::span<const RepeatedMechanism> run) {
  std::vector<RepeatedMechanism> parts;
  for (const RepeatedMechanism& part : run) {
    const auto same = std::ranges::find(parts, part.mechanism, &RepeatedMechanism::mechanism);
    if (same == parts.end()) {
      parts.push_back(part);
    } else {
      same->count += part.count;
    }
  }
  return parts;
}

Totals totals(std::span<const RepeatedMechanism> parts) {
  Totals result;
  std::uint64_t most = 0;
  for (const RepeatedMechanism& part : parts) {
    result.count += static_cast<double>(part.count);
    const double atom = pure_epsilon(part.mechanism);
    if (atom > 0 && part.count > most) {
      most = part.count;
      result.atom = atom;
    }
  }
  return result;
}

std::vector<LossSketch> sketches(std::span<const RepeatedMechanism> parts, Direction direction, double tail) {
  std::vector<LossSketch> result;
  for (const RepeatedMechanism& part : parts) {
    result.emplace_back(pessimistic_law(part.mechanism, direction, tail), part.count);
  }
  return result;
}

double tail_for(double log_delta, double count) {
  return std::clamp(std::exp(log_delta) * kTailShare / count, kSmallestTail, 1e-12);
}

// Splitting a loss between nodes at distance h multiplies E[e^(theta L)] by about 1 + theta (theta + 1) h^2 / 12, so
// epsilon grows by count (theta + 1) h^2 / 12.
double choose_step(std::span<const LossSketch> losses, const Totals& all, const LossWindow& window, double epsilon,
                   std::size_t cells) {
  const double width = window.high - window.low;
  double step = std::sqrt(12 * kGridError * epsilon / (all.count * (window.tilt + 1)));
  step = std::min(step, width / kFewestCells);
  double range = 0;
  for (const LossSketch& loss : losses) range = std::max(range, loss.range());
  step = std::max({step, width / static_cast<double>(cells), range / static_cast<double>(cells)});
  return all.atom >= step ? all.atom / std::ceil(all.atom / step) : step;
}

// Everything that one direction of one question needs.
struct Plan {
  Direction direction;
  double tail;
  LossWindow window;
  double step = 0;
  double upper_epsilon = std::numeric_limits<double>::infinity();  // the least bound so far
};

// The grids of one direction, above and below.
struct Grids {
  std::vector<RepeatedGrid> upper;
  std::vector<RepeatedGrid> lower;
};

enum class Sides { kUpper, kBoth };

Grids discretized(std::span<const RepeatedMechanism> parts, const Plan& plan, Sides sides) {
  Grids grids;
  for (const RepeatedMechanism& part : parts) {
    const LossLaw law = pessimistic_law(part.mechanism, plan.direction, plan.tail);
    const LossCells cells = loss_cells(law, plan.step);
    grids.upper.push_back({pessimistic_grid(law, cells), part.count});
    if (sides == Sides::kUpper) continue;
    if (pure_epsilon(part.mechanism) == 0) {
      grids.lower.push_back({optimistic_grid(law, cells), part.count});
    } else {
      const LossLaw below = optimistic_law(part.mechanism, plan.direction, plan.tail, plan.step, plan.window.tilt);
      grids.lower.push_back({optimistic_grid(below, loss_cells(below, plan.step)), part.count});
    }
  }
  return grids;
}

// A tilt that shows this (epsilon, delta) well: log_delta_of_moment, hence the weight of all errors against delta,
// within kSlack of the least, and of these the one with the smallest effect of a grid of so many cells, (tilt + 1)
// width^2. With rare large losses a slightly smaller tilt can make the window many times narrower; otherwise the best
// one stays.
constexpr double kSlack = 4;
constexpr double kWorthwhile = 0.25;

LossWindow window_at(std::span<const LossSketch> losses, double epsilon) {
  const double best = tilt_for_epsilon(losses, epsilon);
  const double least = log_delta_of_moment(log_moment(losses, best), best, epsilon);
  const LossWindow first = window_around(losses, best);
  LossWindow chosen = first;
  const auto effect = [](const LossWindow& window) {
    return (window.tilt + 1) * (window.high - window.low) * (window.high - window.low);
  };
  for (double tilt = best / 1.3; tilt > best / 30; tilt /= 1.3) {
    if (log_delta_of_moment(log_moment(losses, tilt), tilt, epsilon) > least + kSlack) break;
    const LossWindow window = window_around(losses, tilt);
    if (effect(window) < effect(chosen)) chosen = window;
  }
  return effect(chosen) < kWorthwhile * effect(first) ? chosen : first;
}

// First with few cells around the epsilon that one Renyi order proves, then around the answer to that; with more cells
// again as long as that moves the answer much.
constexpr std::array kCoarseCells = {std::size_t{1} << 15, std::size_t{1} << 17, std::size_t{1} << 19};
constexpr double kSettled = 0.8;

Plan plan_for_delta(std::span<const RepeatedMechanism> parts, Direction direction, double delta, std::size_t cells) {
  const Totals all = totals(parts);
  const double tail = tail_for(std::log(delta), all.count);
  const std::vector<LossSketch> losses = sketches(parts, direction, tail);
  const double tilt = tilt_for_delta(losses, delta);
  Plan plan{direction, tail, window_around(losses, tilt)};
  const auto least_scale = [&] { return 1e-3 * (plan.window.high - plan.window.low); };
  double answer = epsilon_of_moment(log_moment(losses, tilt), tilt, delta);
  for (const std::size_t coarse_cells : kCoarseCells) {
    if (coarse_cells > cells) break;
    plan.step = choose_step(losses, all, plan.window, std::max(answer, least_scale()), coarse_cells);
    const double coarse =
        ComposedLoss(discretized(parts, plan, Sides::kUpper).upper, plan.window, Side::kUpper).epsilon_at(delta);
    plan.upper_epsilon = std::min(plan.upper_epsilon, coarse);
    if (!(coarse > 0) || !std::isfinite(coarse)) break;
    const bool is_settled = coarse > kSettled * answer;
    answer = std::min(coarse, std::max(answer, 0.0));
    plan.window = window_at(losses, answer);
    if (is_settled) break;
  }
  plan.step = choose_step(losses, all, plan.window, std::max(answer, least_scale()), cells);
  return plan;
}

std::vector<Direction> directions(std::span<const RepeatedMechanism> parts) {
  if (std::ranges::all_of(parts, is_symmetric, &RepeatedMechanism::mechanism)) return {Direction::kRemove};
  return {Direction::kRemove, Direction::kAdd};
}

// The upper side is the best of all bounds at hand: those of the coarse grids, and that of the Renyi orders.
PrivacyLossBounds epsilon_bounds(std::span<const RepeatedMechanism> run, double delta, std::size_t cells, Sides sides) {
  require_run(run);
  require_probability("delta", delta);
  require_between("delta", delta, kSmallestPldDelta, 1);
  require_between("cells", static_cast<double>(cells), 1 << 10, 1 << 24);
  const std::vector<RepeatedMechanism> parts = merged(run);
  PrivacyLossBounds bounds{0, 0};
  for (const Direction direction : directions(parts)) {
    const Plan plan = plan_for_delta(parts, direction, delta, cells);
    // A direction whose coarse bound is below what the other one came to decides nothing.
    if (plan.upper_epsilon <= (sides == Sides::kUpper ? bounds.upper : bounds.lower)) continue;
    const Grids grids = discretized(parts, plan, sides);
    const double upper = ComposedLoss(grids.upper, plan.window, Side::kUpper).epsilon_at(delta);
    bounds.upper = std::max(bounds.upper, std::min(upper, plan.upper_epsilon));
    if (sides == Sides::kUpper) continue;
    bounds.lower = std::max(bounds.lower, ComposedLoss(grids.lower, plan.window, Side::kLower).epsilon_at(delta));
  }
  bounds.upper = std::min(bounds.upper, rdp_epsilon(parts, delta));
  return bounds;
}

}  // namespace

PrivacyLossBounds pld_epsilon(std::span<const RepeatedMechanism> run, double delta, std::size_t cells) {
  return epsilon_bounds(run, delta, cells, Sides::kBoth);
}

double pld_epsilon_upper(std::span<const RepeatedMechanism> run, double delta, std::size_t cells) {
  struct Question {
    std::vector<RepeatedMechanism> run;
    double delta;
    std::size_t cells;
    bool operator==(const Question&) const = default;
  };
  static Remembered<Question, double> answers;
  return answers.to({{run.begin(), run.end()}, delta, cells},
                    [&] { return epsilon_bounds(run, delta, cells, Sides::kUpper).upper; });
}

}  // namespace dpreduce
