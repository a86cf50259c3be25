#include "common/accounting/loss_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Relative error of every mass: Gauss-Legendre remainders (below), e^(-u^2/2) with u^2/2 <= 700, sums without
// cancellation.
constexpr double kMassError = 4e-13;

// The margin of the gap, whose quadrature no such bound covers: a mixture's squared density over another's.
constexpr double kGapMargin = 1e-6;

struct Rule {
  double widest;                             // in units of the law's radius
  std::vector<std::array<double, 2>> nodes;  // abscissa in [-1, 1], weight
};

// For an integrand that is analytic and at most M within the ellipse of radius r around an interval of width w, n nodes
// err by less than (64/15) M (w/2) rho^(-2n), rho >= 4 r / w. With M at most e^5 r / w times the integrand's scale (the
// interpolation weight is linear in the cell and keeps growing outside) every rule below errs by
// less than 1e-13 relative.
const std::array<Rule, 3>& rules() {
  static const std::array<Rule, 3> table{
      Rule{1. / 400, {{-0.7745966692414834, 5. / 9}, {0, 8. / 9}, {0.7745966692414834, 5. / 9}}},
      Rule{1. / 40,
           {{-0.9061798459386640, 0.2369268850561891},
            {-0.5384693101056831, 0.4786286704993665},
            {0, 0.5688888888888889},
            {0.5384693101056831, 0.4786286704993665},
            {0.9061798459386640, 0.2369268850561891}}},
      Rule{1. / 4,
           {{-0.9602898564975363, 0.1012285362903763},
            {-0.7966664774136267, 0.2223810344533745},
            {-0.5255324099163290, 0.3137066458778873},
            {-0.1834346424956498, 0.3626837833783620},
            {0.1834346424956498, 0.3626837833783620},
            {0.5255324099163290, 0.3137066458778873},
            {0.7966664774136267, 0.2223810344533745},
            {0.9602898564975363, 0.1012285362903763}}}};
  return table;
}

using Cell = LossCells::Cell;

// The weight of the right node for a loss at this distance above the left one: (1 - e^-distance) / (1 - e^-step).
double right_weight(double distance, double step) {
  return std::clamp(std::expm1(-distance) / std::expm1(-step), 0.0, 1.0);
}

// An outcome with weight w for the right node lifts the chord by at most w (1 - w) (e^step - 1) times its P-mass.
Cell integrate(const SmoothLoss& loss, double u_left, double u_right, double left_node, double step) {
  Cell cell;
  double spread = 0;
  const double width = u_right - u_left;
  if (!(width > 0)) return cell;
  const auto is_wide_enough = [&](const Rule& rule) { return width <= rule.widest * loss.radius; };
  const auto found = std::ranges::find_if(rules(), is_wide_enough);
  const Rule& rule = found != rules().end() ? *found : rules().back();
  const double pieces = std::max(1.0, std::ceil(width / (rule.widest * loss.radius)));
  const double half = width / pieces / 2;
  for (double piece = 0; piece < pieces; ++piece) {
    const double center = u_left + (2 * piece + 1) * half;
    for (const auto& [abscissa, weight] : rule.nodes) {
      const SmoothLoss::Point point = loss.at(center + half * abscissa);
      const double mass = weight * half * point.density;
      const double right = right_weight(point.loss - left_node, step);
      cell.right += mass * right;
      cell.left += mass * (1 - right);
      spread += mass * right * (1 - right);
    }
  }
  cell.gap = spread * std::expm1(step) * (1 + kGapMargin);
  return cell;
}

double node_rounding(const LossGrid& grid) {
  const auto last = grid.first + static_cast<std::int64_t>(grid.mass.size()) - 1;
  return static_cast<double>(std::max(std::abs(grid.first), std::abs(last))) * grid.step * 1e-15 +
         std::abs(grid.offset) * 1e-15;
}

// Widens the grid so that it has this node, and returns its mass.
double& mass_at(LossGrid& grid, std::int64_t node) {
  if (grid.mass.empty()) {
    grid.first = node;
    grid.mass.resize(1);
  } else if (node < grid.first) {
    grid.mass.insert(grid.mass.begin(), static_cast<std::size_t>(grid.first - node), 0.0);
    grid.first = node;
  } else if (node - grid.first >= static_cast<std::int64_t>(grid.mass.size())) {
    grid.mass.resize(static_cast<std::size_t>(node - grid.first) + 1);
  }
  return grid.mass[static_cast<std::size_t>(node - grid.first)];
}

// An atom within 1e-9 cells of a node lies on it; the loss error pays the distance.
constexpr double kOnNode = 1e-9;

void add_atom(LossGrid& grid, const LossAtom& atom, bool must_be_on_node) {
  DPREDUCE_ASSERT(grid.offset == 0);
  const double nearest = std::round(atom.loss / grid.step);
  const double distance = std::abs(atom.loss - nearest * grid.step);
  if (distance <= kOnNode * grid.step) {
    mass_at(grid, static_cast<std::int64_t>(nearest)) += atom.mass;
    grid.loss_error = std::max(grid.loss_error, distance);
    return;
  }
  DPREDUCE_ASSERT(!must_be_on_node);
  const double left = std::floor(atom.loss / grid.step);
  const double right = right_weight(atom.loss - left * grid.step, grid.step);
  mass_at(grid, static_cast<std::int64_t>(left)) += atom.mass * (1 - right);
  mass_at(grid, static_cast<std::int64_t>(left) + 1) += atom.mass * right;
}

// Node i of an optimistic grid under construction; mass may still be negative, where H - c is not convex.
struct Node {
  std::int64_t index;
  double mass;
};

// The largest convex function below a piecewise linear one, as masses of its kinks. Where the slope falls (a negative
// mass) the node goes and its neighbors take its mass so that neither P nor Q changes: the chord of the neighbors.
// Left of the first node that neighbor is K = 0, which takes Q-mass only.
std::vector<Node> convex_minorant(std::span<const Node> kinks, double step) {
  std::vector<Node> kept;
  for (Node node : kinks) {
    while (!kept.empty() && kept.back().mass < 0) {
      const Node removed = kept.back();
      kept.pop_back();
      double right = 1;
      if (!kept.empty()) {
        const double to_left = static_cast<double>(removed.index - kept.back().index) * step;
        const double whole = static_cast<double>(node.index - kept.back().index) * step;
        right = std::expm1(-to_left) / std::expm1(-whole);
        kept.back().mass += removed.mass * (1 - right);
      }
      node.mass += removed.mass * right;
    }
    kept.push_back(node);
  }
  return kept;
}

// H at the nodes, from the right: H_j = sum over losses l above node j of mass (1 - e^(node - l)), so
// H_j = e^-step H_(j+1) + (1 - e^-step) (mass above j), all terms positive.
std::vector<double> calls(const LossCells& cells) {
  const double step = cells.step;
  std::vector<double> call(cells.cells.size() + 1);
  double mass_above = 0;
  for (std::size_t node = cells.cells.size(); node-- > 0;) {
    mass_above += cells.cells[node].right;
    call[node] = std::exp(-step) * call[node + 1] - std::expm1(-step) * mass_above;
    mass_above += cells.cells[node].left;
  }
  return call;
}

// E_Q[(K_j - x)+] at the nodes, from the left: H_j less its value were all mass above the node.
std::vector<double> puts(const LossCells& cells) {
  const double step = cells.step;
  std::vector<double> put(cells.cells.size() + 1);
  double mass_below = 0;
  for (std::size_t node = 1; node < put.size(); ++node) {
    mass_below += cells.cells[node - 1].left;
    put[node] = std::exp(step) * put[node - 1] + std::expm1(step) * mass_below;
    mass_below += cells.cells[node - 1].right;
  }
  return put;
}

// Everything as one loss, ln(P/Q) rounded down: merging outcomes is post-processing.
void add_merged(LossGrid& grid, const LossCells& cells) {
  double p = 0;
  double q = 0;
  for (std::size_t cell = 0; cell < cells.cells.size(); ++cell) {
    const double node = cells.offset + static_cast<double>(cells.first + static_cast<std::int64_t>(cell)) * cells.step;
    p += cells.cells[cell].left + cells.cells[cell].right;
    q += std::exp(-node) * (cells.cells[cell].left + cells.cells[cell].right * std::exp(-cells.step));
  }
  const double loss = std::log(p / q) - cells.offset;
  mass_at(grid, static_cast<std::int64_t>(std::floor(loss / cells.step - kOnNode))) += p * (1 - kMassError);
}

constexpr double kDearestPut = 16;

void add_optimistic_smooth(LossGrid& grid, const LossCells& cells) {
  const double step = cells.step;
  const std::vector<double> call = calls(cells);
  const std::vector<double> put = puts(cells);
  const std::size_t nodes = call.size();
  std::vector<double> cost(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    if (node + 1 < nodes) cost[node] = cells.cells[node].gap;
    if (node > 0) cost[node] = std::max(cost[node], cells.cells[node - 1].gap);
  }
  // The minorant is 0 from its top node on; up to its bottom node it is the line that H would be without outcomes
  // below. There c is all of the call, or put, at least the gap of the cell next to it, and c is no larger in between.
  // If so much mass lies just below a node that its put is far above any gap, or all of H there, c is that gap instead,
  // at the price of some P-mass.
  std::size_t top = 0;
  while (top + 1 < nodes && call[top] >= cost[top]) ++top;
  while (top > 0 && call[top] < cells.cells[top - 1].gap) --top;
  std::size_t bottom = nodes - 1;
  while (bottom > 0 && put[bottom] >= cost[bottom]) --bottom;
  while (bottom + 1 < nodes && put[bottom] < cells.cells[bottom].gap) ++bottom;
  const bool starts_with_line = put[bottom] <= kDearestPut * cost[bottom] && put[bottom] < call[bottom];
  if (!starts_with_line) bottom = 0;
  if (bottom + 1 >= top) {
    add_merged(grid, cells);
    return;
  }
  if (starts_with_line) cost[bottom] = put[bottom];
  cost[top] = call[top];
  // The slope of c changes at node j by (c_(j+1) - (1 + r) c_j + r c_(j-1)) / ((r - 1) K_j), r = e^step; a kink's
  // P-mass is K_j times its Q-mass, the change of slope.
  const double ratio = std::exp(step);
  const double excess = std::expm1(step);
  std::vector<Node> kinks;
  kinks.reserve(top - bottom + 1);
  double mass_to_bottom = cells.cells[bottom].left;
  for (std::size_t cell = 0; cell < bottom; ++cell) mass_to_bottom += cells.cells[cell].left + cells.cells[cell].right;
  kinks.push_back({cells.first + static_cast<std::int64_t>(bottom),
                   mass_to_bottom + ((starts_with_line ? ratio : 1) * cost[bottom] - cost[bottom + 1]) / excess});
  for (std::size_t node = bottom + 1; node < top; ++node) {
    const double change = (cost[node + 1] - cost[node]) - ratio * (cost[node] - cost[node - 1]);
    kinks.push_back({cells.first + static_cast<std::int64_t>(node),
                     cells.cells[node].left + cells.cells[node - 1].right - change / excess});
  }
  // H - c falls from node top - 1 to 0 with the slope that this last kink ends.
  kinks.push_back({cells.first + static_cast<std::int64_t>(top), (call[top - 1] - cost[top - 1]) * ratio / excess});
  for (const Node& node : convex_minorant(kinks, step)) {
    mass_at(grid, node.index) += std::max(0.0, node.mass) * (1 - kMassError);
  }
}

}  // namespace

LossCells loss_cells(const LossLaw& law, double step) {
  DPREDUCE_ASSERT(step > 0 && std::isfinite(step));
  LossCells result{.step = step};
  if (!law.smooth) return result;
  const SmoothLoss& loss = *law.smooth;
  result.offset = loss.anchor;
  result.first = static_cast<std::int64_t>(std::floor((loss.at(loss.low).loss - result.offset) / step));
  const auto last = static_cast<std::int64_t>(std::ceil((loss.at(loss.high).loss - result.offset) / step));
  result.cells.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, last - result.first)));
  double u_left = loss.low;
  for (std::size_t cell = 0; cell < result.cells.size(); ++cell) {
    const double left_node = result.offset + static_cast<double>(result.first + static_cast<std::int64_t>(cell)) * step;
    const bool is_last = cell + 1 == result.cells.size();
    const double u_right = is_last ? loss.high : std::max(u_left, loss.where(left_node + step));
    result.cells[cell] = integrate(loss, u_left, u_right, left_node, step);
    u_left = u_right;
  }
  return result;
}

LossGrid pessimistic_grid(const LossLaw& law, const LossCells& cells) {
  LossGrid grid{.step = cells.step, .offset = cells.offset, .infinite_mass = law.tail};
  if (law.smooth) {
    grid.first = cells.first;
    grid.mass.resize(cells.cells.size() + 1);
    for (std::size_t cell = 0; cell < cells.cells.size(); ++cell) {
      grid.mass[cell] += cells.cells[cell].left;
      grid.mass[cell + 1] += cells.cells[cell].right;
    }
    grid.mass.front() += law.tail;
    grid.loss_error = law.smooth->loss_error;
  }
  for (const LossAtom& atom : law.atoms) add_atom(grid, atom, false);
  for (double& mass : grid.mass) mass *= 1 + kMassError;
  grid.loss_error += node_rounding(grid);
  return grid;
}

LossGrid optimistic_grid(const LossLaw& law, const LossCells& cells) {
  LossGrid grid{.step = cells.step, .offset = cells.offset};
  if (law.smooth) {
    add_optimistic_smooth(grid, cells);
    grid.loss_error = law.smooth->loss_error;
  }
  for (const LossAtom& atom : law.atoms) add_atom(grid, {atom.loss, atom.mass * (1 - kMassError)}, true);
  grid.loss_error += node_rounding(grid);
  return grid;
}

}  // namespace dpreduce
