// CoinPress: class means in balls that shrink.
//
//     T_c = min(sqrt(r_c^2 + 6 r_c s + g^2 s^2), r_c + g s, 2 C)          the ball about z_c that rows are clipped to
//     z_c <- z_c + (T_c / S) (clipped sum about z_c + noise)_c / n_c
//     r_c <- g sqrt(s^2 / n_c + noise's variance of z_c)                    W_c = z_c / |z_c| after the last step
//
// Legend: from z_c = 0, r_c = C; n_c the released count of the class, at least 1; s = C / sqrt(d), as if a row's norm
// were spread evenly over its coordinates; g = sqrt(d + 2 sqrt(d log 100) + 2 log 100), a bound on d standard normals
// that holds with probability 0.99.
//
// Source: [biswas2020], Algorithm 3 and its constants, as [wahdany2025], C.2, compares it with sums. Departures: all
// steps have equal shares of the budget; class sizes are released with noise, where the original takes them for public
// under replace-one; 2 C, since no row is longer than C and no center needs to be.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kCoinpressRounds = 2;

class CoinPressMethod : public TrainingMethod {
 public:
  explicit CoinPressMethod(const FitOptions& options)
      : TrainingMethod(options), rounds_(options.method.rounds.value_or(kCoinpressRounds)) {}

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.rounds = rounds_;
    return {registered_statistic("centred_sums").request(terms, 1.0)};
  }

  nlohmann::json settings() const override { return {{"rounds", rounds_}}; }

  LinearScores train(TrainingRun& run) const override {
    run.rows().keep();
    const std::size_t dim = run.rows().lattice().dim;
    std::vector<double> centers(run.rows().classes() * dim, 0.0);
    std::vector<double> bounds(run.rows().classes(), run.rows().lattice().clip_norm);  // r
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      const ClassBalls balls{centers, radii(bounds, run.rows().lattice())};
      const Release release = run.release("centred_sums", balls);
      run.ranks().at_coordinator([&] { refine(release, balls, run.rows().lattice(), centers, bounds); });
      run.ranks().broadcast(centers);
      run.ranks().broadcast(bounds);
    }
    run.end_phase("rounds");
    LinearScores scores{directions_of(std::move(centers), dim), std::vector<double>(run.rows().classes(), 0.0)};
    return shared_scores(std::move(scores), run);
  }

 private:
  // z_c / |z_c|
  static std::vector<double> directions_of(std::vector<double> centers, std::size_t dim) {
    for (std::size_t first = 0; first < centers.size(); first += dim) {
      const std::span<double> center(centers.data() + first, dim);
      const double length = std::sqrt(squared_norm(center));
      if (length == 0.0) continue;
      for (double& entry : center) entry /= length;
    }
    return centers;
  }

  static double bound_of_normals(std::size_t dim) {
    const double log_inverse = std::log(100.0);
    const auto d = static_cast<double>(dim);
    return std::sqrt(d + 2.0 * std::sqrt(d * log_inverse) + 2.0 * log_inverse);
  }

  static double spread_of(const Lattice& lattice) {
    return lattice.clip_norm / std::sqrt(static_cast<double>(lattice.dim));
  }

  static std::vector<double> radii(const std::vector<double>& bounds, const Lattice& lattice) {
    const double spread = spread_of(lattice);
    const double reach = bound_of_normals(lattice.dim) * spread;
    std::vector<double> all;
    for (const double r : bounds) {
      all.push_back(
          std::min({std::sqrt(r * r + 6.0 * r * spread + reach * reach), r + reach, 2.0 * lattice.clip_norm}));
    }
    return all;
  }

  static void refine(const Release& release, const ClassBalls& balls, const Lattice& lattice,
                     std::vector<double>& centers, std::vector<double>& bounds) {
    const ReleasedBlock& sums = release.block("centred_sums");
    const auto counts = release.block("class_counts").values();
    const std::size_t dim = lattice.dim;
    const double spread = spread_of(lattice);
    for (std::size_t c = 0; c < bounds.size(); ++c) {
      const auto count = static_cast<double>(std::max<std::int64_t>(counts[c], 1));
      const double unit = balls.radii[c] / (static_cast<double>(kLatticeNorm) * count);
      for (std::size_t a = 0; a < dim; ++a) {
        centers[c * dim + a] += unit * static_cast<double>(sums.values()[c * dim + a]);
      }
      bounds[c] = bound_of_normals(dim) * std::hypot(spread / std::sqrt(count), unit * sums.sigma());
    }
  }

  std::uint64_t rounds_;
};

}  // namespace

const MethodEntry coinpress_method{
    .name = "coinpress",
    .help = "class means, clipped to shrinking balls",
    .takes = {{"--rounds", "2"}},
    .refuses = {{"--max-labels above 1", "a row is clipped about the center of one class"}},
    .make = make_of<CoinPressMethod>,
    .has_constant = [](const FitOptions&) { return false; }};

}  // namespace dpreduce
