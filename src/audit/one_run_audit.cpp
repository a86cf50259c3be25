#include "audit/one_run_audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "aggregator/solvers/blas.hpp"
#include "aggregator/solvers/cleaned_ridge.hpp"
#include "audit/confidence_bounds.hpp"
#include "audit/neighbor_rows.hpp"
#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

constexpr double kLargestMu = 64.0;
constexpr double kLargestEpsilon = 64.0;
constexpr double kStep = 1e-6;
constexpr double kStepOfChoice = 1e-3;  // of best_guess_count: the number of guesses is no bound
constexpr double kFewestGuesses = 16;

void require_counts(const CoinGuesses& seen, double error) {
  DPREDUCE_ASSERT(seen.canaries >= 1 && seen.guesses <= seen.canaries && seen.correct <= seen.guesses);
  DPREDUCE_ASSERT(error > 0.0 && error < 1.0);
}

// Returns whether the smallest tails pass 1; `inverse` is G.
template <typename Inverse>
bool refutes(const CoinGuesses& seen, double error, Inverse inverse) {
  const auto m = static_cast<double>(seen.canaries);
  const auto r = static_cast<double>(seen.guesses);
  double tail = error;      // S_i
  double tail_sum = error;  // U_i
  for (auto i = static_cast<double>(seen.correct); i >= 1.0; --i) {
    const double right = tail_sum + (i - 1.0) * tail;  // A_i
    if (right >= m) return true;
    const double next = (tail_sum + m * inverse(right / m)) / (r - i + 1.0);
    if (next > 1.0) return true;
    if (next <= tail) return false;  // A stays where it is from here on, and so does the tail
    tail = next;
    tail_sum += next;
  }
  return false;
}

// The largest value in [0, most] that is refuted, to a step; 0 where none is. What refutes a value refutes smaller
// ones.
template <typename Refuted>
double largest_refuted(double most, double step, Refuted refuted) {
  if (!refuted(0.0)) return 0.0;
  double low = 0.0;
  double high = most;
  while (high - low > step) {
    const double middle = (low + high) / 2;
    (refuted(middle) ? low : high) = middle;
  }
  return low;
}

// The share of right guesses among those about the `share` most extreme of scores N(-mu/2, 1) and N(mu/2, 1).
double expected_accuracy(double mu, double share) {
  double low = 0.0;
  double high = mu + 10.0;
  for (int step = 0; step < 60; ++step) {
    const double t = (low + high) / 2;
    (normal_cdf(mu / 2 - t) + normal_cdf(-mu / 2 - t) > share ? low : high) = t;
  }
  const double right = normal_cdf(mu / 2 - low);
  return right / (right + normal_cdf(-mu / 2 - low));
}

}  // namespace

bool refutes_mu(const CoinGuesses& seen, double mu, double error) {
  require_counts(seen, error);
  DPREDUCE_ASSERT(mu >= 0.0);
  return refutes(seen, error, [mu](double y) { return normal_cdf(normal_quantile(y) - mu); });
}

bool refutes_epsilon(const CoinGuesses& seen, double epsilon, double delta, double error) {
  require_counts(seen, error);
  DPREDUCE_ASSERT(epsilon >= 0.0 && delta >= 0.0 && delta < 1.0);
  const double odds = std::exp(epsilon);
  return refutes(seen, error, [=](double y) {
    return std::max({(y - delta) / odds, 1.0 - delta - odds * (1.0 - y), 0.0});
  });
}

double one_run_mu(const CoinGuesses& seen, double error) {
  return largest_refuted(kLargestMu, kStep, [&](double mu) { return refutes_mu(seen, mu, error); });
}

double one_run_epsilon(const CoinGuesses& seen, double delta, double error) {
  return largest_refuted(kLargestEpsilon, kStep,
                         [&](double epsilon) { return refutes_epsilon(seen, epsilon, delta, error); });
}

std::size_t best_guess_count(std::size_t canaries, double mu, double error) {
  DPREDUCE_ASSERT(canaries >= 2 && mu > 0.0);
  const auto all = static_cast<double>(canaries);
  std::size_t best = canaries;
  double best_mu = -1.0;
  for (double share = 1.0; share == 1.0 || share * all >= kFewestGuesses; share *= 0.8) {
    const double guesses = std::floor(share * all);
    const double correct = std::floor(expected_accuracy(mu, share) * guesses);
    const CoinGuesses expected{canaries, static_cast<std::size_t>(guesses), static_cast<std::size_t>(correct)};
    const double proven =
        largest_refuted(mu + 1.0, kStepOfChoice * mu, [&](double other) { return refutes_mu(expected, other, error); });
    if (proven <= best_mu) continue;
    best_mu = proven;
    best = expected.guesses;
  }
  return best;
}

namespace {

constexpr const char* kSums = "class_sums";
constexpr double kS = static_cast<double>(kLatticeNorm);

struct Canaries {
  LabeledRows in;          // the rows, 1000 C long, of every canary
  std::vector<bool> coin;  // true: in
};

std::mt19937_64 unpredictable_engine() {
  std::array<std::uint32_t, 16> seed{};
  secure_bytes(std::as_writable_bytes(std::span(seed)));
  std::seed_seq sequence(seed.begin(), seed.end());
  return std::mt19937_64(sequence);
}

// d directions at right angles: the orthogonal factor of a matrix of normal numbers.
std::vector<double> draw_directions(std::size_t dim, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(dim * dim);
  std::ranges::generate(numbers, [&] { return normal(engine); });
  return orthonormal_rows(std::move(numbers), dim);
}

// The i-th canary of a class gets the i-th direction; beyond d of them, of a new set.
Canaries draw_canaries(std::size_t count, std::size_t dim, std::size_t classes, double clip_norm) {
  std::mt19937_64 engine = unpredictable_engine();
  Canaries canaries{{dim, {}, {}}, {}};
  std::vector<float> row(dim);
  std::vector<double> directions;
  for (std::size_t canary = 0; canary < count; ++canary) {
    const std::size_t of_class = canary / classes;
    if (canary % (classes * dim) == 0) directions = draw_directions(dim, engine);
    for (std::size_t a = 0; a < dim; ++a) {
      row[a] = static_cast<float>(directions[of_class % dim * dim + a] * kCanaryLength * clip_norm);
    }
    canaries.in.add(row, static_cast<std::int32_t>(canary % classes));
    canaries.coin.push_back(engine() % 2 == 1);
  }
  return canaries;
}

// How many rows a canary has, and what each of them weighs.
struct CanaryRows {
  std::size_t copies = 1;
  RowWeight weight = kWholeRow;
};

CanaryRows canary_rows_of(const DataOptions& data) {
  if (!data.has_units()) return {};
  const std::uint64_t copies = 2 * data.bounded_rows();
  return {static_cast<std::size_t>(copies), weight_of_rows(copies, data.bounded_rows())};
}

LabeledRows opposite_of(const LabeledRows& rows) {
  LabeledRows opposite = rows;
  for (float& entry : opposite.x) entry = -entry;
  return opposite;
}

// The rows that go into the training set: all canaries' first rows, then all their second ones. Where they have
// persons, these are numbered from `first_person` on.
LabeledRows trained_on(const Canaries& canaries, const FitOptions& options, std::uint64_t first_person) {
  const LabeledRows out = opposite_of(canaries.in);
  LabeledRows rows{canaries.in.dim, {}, {}, {}};
  const std::size_t copies = canary_rows_of(options.data).copies;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (std::size_t canary = 0; canary < canaries.coin.size(); ++canary) {
      if (!canaries.coin[canary] && options.privacy.adjacency == Adjacency::kAddRemove) continue;
      const LabeledRows& form = canaries.coin[canary] ? canaries.in : out;
      rows.add(form.row(canary), form.y[canary]);
      if (options.data.has_units()) rows.person.push_back(static_cast<std::int64_t>(first_person + canary));
    }
  }
  return rows;
}

// Each row is what a canary with that row in `rows` adds to sums, over S.
std::vector<double> added_to_sums(const LabeledRows& rows, const RowTransform& transform, const CanaryRows& of_canary) {
  const std::size_t dim = transform.output_dim();
  LatticeRows lattice({transform.preprocessing().clip_norm, dim}, rows.y.size());
  lattice.assign(transform, rows.x, rows.y, 1);
  std::vector<double> added;
  std::vector<std::int16_t> weighed(dim);
  for (std::size_t row = 0; row < rows.y.size(); ++row) {
    weigh_row(lattice.row(row), of_canary.weight, WeightPower::kWhole, weighed);
    for (const std::int16_t entry : weighed) added.push_back(static_cast<double>(of_canary.copies) * entry / kS);
  }
  return added;
}

// H (s^2 I + H^T H)^-1 r = (s^2 I + H H^T)^-1 H r: whichever system is smaller.
std::vector<double> best_linear_estimate(const std::vector<double>& h, std::vector<double> residual, double sigma) {
  const std::size_t dim = residual.size();
  if (h.size() >= dim * dim) {
    std::vector<double> gram = gram_of(h, dim);
    solve_exact_ridge(gram, sigma * sigma, residual);
    return inner_products(h, residual, dim);
  }
  std::vector<double> estimate = inner_products(h, residual, dim);
  std::vector<double> gram = inner_products(h, h, dim);
  solve_exact_ridge(gram, sigma * sigma, estimate);
  return estimate;
}

// One score a canary, class by class.
std::vector<double> scores_of(const Canaries& canaries, const RowTransform& transform, const FitOptions& options,
                              const ReleasedBlock& released, std::span<const std::int64_t> rest) {
  const std::size_t classes = options.data.classes;
  const CanaryRows of_canary = canary_rows_of(options.data);
  const double sigma = released.sigma() / kS;
  const std::size_t dim = transform.output_dim();

  std::vector<double> scores(canaries.coin.size());
  for (std::size_t c = 0; c < std::min(classes, scores.size()); ++c) {
    LabeledRows members{canaries.in.dim, {}, {}};
    for (std::size_t canary = c; canary < scores.size(); canary += classes) {
      members.add(canaries.in.row(canary), canaries.in.y[canary]);
    }
    std::vector<double> h = added_to_sums(members, transform, of_canary);
    std::vector<double> out(h.size());
    if (options.privacy.adjacency == Adjacency::kReplaceOne) {
      out = added_to_sums(opposite_of(members), transform, of_canary);
    }
    std::vector<double> residual(dim);
    for (std::size_t a = 0; a < dim; ++a) {
      residual[a] = static_cast<double>(released.values()[c * dim + a] - rest[c * dim + a]) / kS;
    }
    for (std::size_t e = 0; e < h.size(); ++e) {
      residual[e % dim] -= (h[e] + out[e]) / 2;
      h[e] = (h[e] - out[e]) / 2;
    }
    const std::vector<double> estimate = best_linear_estimate(h, std::move(residual), sigma);
    for (std::size_t member = 0; member < members.y.size(); ++member) scores[c + member * classes] = estimate[member];
  }
  return scores;
}

// Right guesses among those about the scores farthest from 0.
std::size_t count_correct(const std::vector<double>& scores, const std::vector<bool>& coin, std::size_t guesses) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::abs(scores[a]) > std::abs(scores[b]); });
  return static_cast<std::size_t>(
      std::count_if(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(guesses),
                    [&](std::size_t canary) { return (scores[canary] > 0.0) == coin[canary]; }));
}

// The method's own release that holds class sums: those that features are selected by are of other rows than the
// model's.
const PlannedRelease& release_of_sums(const AuditedMethod& method) {
  for (const PlannedRelease& planned : method.plan().noise->releases) {
    for (const PlannedBlock& block : planned.blocks) {
      if (block.name == kSums && planned.name != "feature_sums") return planned;
    }
  }
  throw UsageError("--one-run: method {} releases no class sums to find canaries in; leave --one-run out",
                   method.options().method.name);
}

// The files of both.
WorldRows together(WorldRows rows, const WorldRows& more) {
  rows.x.insert(rows.x.end(), more.x.begin(), more.x.end());
  rows.y.insert(rows.y.end(), more.y.begin(), more.y.end());
  rows.person.insert(rows.person.end(), more.person.begin(), more.person.end());
  return rows;
}

// Persons 0, ..., n - 1.
std::string write_persons(std::uint64_t rows, const PrivateFolder& folder) {
  std::vector<std::int64_t> persons(rows);
  std::iota(persons.begin(), persons.end(), std::int64_t{0});
  const std::string path = folder / "person_rest.npy";
  NpyWriter writer(path, DType::kInt64, {rows});
  writer.append(std::span<const std::int64_t>(persons));
  writer.commit();
  return path;
}

}  // namespace

OneRunResult audit_in_one_run(const AuditedMethod& method, const std::vector<std::string>& train_x,
                              const std::vector<std::string>& train_y, const OneRunTerms& terms,
                              const PrivateFolder& folder) {
  DPREDUCE_ASSERT(terms.canaries >= 2);
  const PlannedRelease& planned = release_of_sums(method);
  const FitOptions& options = method.options();
  const Canaries canaries = draw_canaries(terms.canaries, method.plan().preprocessing.input_dim, options.data.classes,
                                          options.rows.clip_norm);
  WorldRows rest{train_x, train_y};
  std::uint64_t persons_of_rest = 0;
  if (options.data.has_units()) {
    persons_of_rest = WorkerRows::open(train_x, train_y, 0, 1).range().count;
    rest.person = {write_persons(persons_of_rest, folder)};
  }
  const WorldRows all = together(rest, trained_on(canaries, options, persons_of_rest).write(folder.path(), "canaries"));
  const std::size_t guesses = best_guess_count(terms.canaries, planned.block(kSums).mu, terms.error);

  WorkerRows trained = open_world(options, all);
  const Published published = method.run(trained, folder / "ledger.jsonl");
  WorkerRows rows_of_rest = open_world(options, rest);
  const Statistic exact_rest = method.statistic(planned.name, rows_of_rest, published.preprocessing);

  const std::vector<double> scores =
      scores_of(canaries, RowTransform(published.preprocessing), options,
                published.releases.at(planned.name).front().block(kSums), exact_rest.block(exact_rest.index_of(kSums)));
  const CoinGuesses seen{terms.canaries, guesses, count_correct(scores, canaries.coin, guesses)};
  return {
      .guesses = seen, .mu = one_run_mu(seen, terms.error), .epsilon = one_run_epsilon(seen, terms.delta, terms.error)};
}

}  // namespace dpreduce
