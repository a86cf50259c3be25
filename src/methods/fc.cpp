// DP-FC: rounds of descent on rows that are whitened by a Gram matrix which is released once.
//
//     x <- C M x / |M x|,  M = diag(g_j + ridge)^(-1/2) V            an intercept; then, from W = 0,
//     W_cj <- W_cj - step (gradient(W) + noise)_cj / (e_j + r + C^2),  r = step h
//
// Legend: G is the cleaned Gram matrix of the prepared rows, with eigenvalues g_j, eigenvectors the rows of V, noise
// radius w and noised trace t; s the noise of a gradient's entry, h its curvature (gradient_rounds.hpp); ridge = w + t
// / d + C^2, with 30 classes or more 2 w + t / d + C^2; e_j the curvature along eigenvector j.
//
// A gradient's noise is the same in every direction of the rows that it is summed over. For rows of second moment
// lambda_j the noise costs sum_j s_j^2 / lambda_j in loss where sum_j lambda_j / s_j^2 is bounded by the rows' norm,
// which is least for s_j^2 ~ lambda_j: white rows. So rows are whitened before the noise, and gradients need not be
// after it. The ridge keeps directions that are noise in G, or hold less than an even share, from being blown up.
//
// The curvatures, e_j = (1 - a) t (g_j / h_j) / sum_i g_i / h_i, are the second moments of whitened rows:
// h = g + ridge, g at least C^2 / d, with square loss g_j above the line at least 2 w, a the intercept's share (its own
// e is a t). Where noise rules, a step is 1 / h.
//
// With --normalize none the length of a whitened row still says something, so rows are clipped to C instead of scaled
// to it. M x alone would be as short as 1 / sqrt(n), beside an intercept and noise that are measured by C. So M is
// scaled: whitening keeps the mean square of rows' lengths, as far as G shows. The intercept's e is a n C^2, which is
// more than a t there, and not known. It takes the larger of a t and
//
//     sqrt(sum_r |g_r|^2) step sqrt(a) C / 2        g_r: what gradient r holds at the intercept, beside its noise
//
// A first step then moves no score by more than 2, and later steps are shorter.
//
// With --public-x the matrix is released with half of its share, and is cleaned about that of the public rows
// (public_refit.hpp).
//
// With --isotropy-share a small release measures first how evenly rows spread over directions (isotropic_rule.hpp).
// If they do so, no Gram matrix is released, but charged all the same: what is spent must not depend on what was
// released. All rounds are then made at W = 0, and add up to class sums.
//
// Source: [mehta2023], Algorithm 3, with corrections: residuals are clipped as vectors, so that nothing grows with the
// number of classes; sums, never means, so that no n is needed; G is cleaned of its known noise. Whitening is ours.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "aggregator/solvers/least_squares.hpp"
#include "aggregator/solvers/public_refit.hpp"
#include "common/kernels/vector_width.hpp"
#include "methods/gradient_rounds.hpp"
#include "methods/target_regression.hpp"

namespace dpreduce {
namespace {

constexpr double kFcGramShare = 0.1;
// Beside public rows a released matrix only corrects theirs.
constexpr double kFcGramShareBesidePublic = 0.05;
constexpr std::uint64_t kFcRounds = 20;
// The intercept coordinate and the features share the norm C: what one gets, the other loses. The intercept takes steps
// by its own curvature, so that a small share is enough for it to learn.
constexpr double kInterceptShareOfWhitened = 0.05;
// Largest first step of a score by the intercept, where its curvature is not known. Accuracy is the same for half of it
// and for twice as much.
constexpr double kInterceptReach = 2.0;
// Measured: with 2 to 10 classes w is up to 0.8 points ahead of 2 w at small budgets, with 51 and 72 2 w up to 1.1.
constexpr double kFcRidgeInRadii = 1.0;
constexpr double kRidgeInRadiiManyClasses = 2.0;

// Newton's step in units of 1 / E: 1 / (p (1 - p)) for a class of probability p. Rounds begin at p = 1 / K, where it is
// about K, and end at rows that are undecided, where it is 4; this is the geometric mean. A square has curvature 1.
double step_length(Loss loss, std::size_t classes) {
  return loss == Loss::kSquare ? 1.0 : 2.0 * std::sqrt(static_cast<double>(classes));
}

// f of sum_i |f M x_i|^2 = sum_i |x_i|^2 = t. What of t is in no eigenvalue is spread over all of them.
double factor_that_keeps_lengths(const GramSpectrum& spectrum, double trace, double ridge) {
  double found = 0.0;
  for (const double eigenvalue : spectrum.eigenvalues()) found += eigenvalue;
  const double rest = std::max(trace - found, 0.0) / static_cast<double>(spectrum.dim());
  double whitened = 0.0;
  for (const double eigenvalue : spectrum.eigenvalues()) whitened += (eigenvalue + rest) / (eigenvalue + ridge);
  return std::sqrt(std::max(trace, found) / whitened);
}

// M's rows are the eigenvectors times `whitening`.
struct WhitenedDescent {
  std::vector<double> whitening;
  StepRule rule;
};

WhitenedDescent whitened_descent(const GramSpectrum& spectrum, const Lattice& lattice, const RoundSettings& settings,
                                 std::size_t classes, Normalize normalize) {
  const double one_row = lattice.clip_norm * lattice.clip_norm;
  const auto d = static_cast<double>(lattice.dim);
  const double trace = std::max(spectrum.trace(), one_row);
  const double radii = classes < kManyClasses ? kFcRidgeInRadii : kRidgeInRadiiManyClasses;
  const double ridge_of_rows = radii * spectrum.noise_radius() + trace / d + one_row;
  std::vector<double> whitening = spectrum.whitening_factors(ridge_of_rows);
  if (normalize != Normalize::kL2) {
    const double factor = factor_that_keeps_lengths(spectrum, trace, ridge_of_rows);
    for (double& entry : whitening) entry *= factor;
  }
  double sum = 0.0;
  std::vector<double> curvature;  // e, along eigenvectors
  for (const double eigenvalue : spectrum.eigenvalues()) {
    const double own = std::max(eigenvalue, one_row / d);
    sum += own / (own + ridge_of_rows);
    // Mixed with its neighbors', a direction may have more curvature than its own, by up to 2 w. Probabilities
    // forgive a step that is too long there; squares, whose curvature is the same wherever W is, do not.
    const double most = settings.loss == Loss::kSquare ? std::max(own, 2.0 * spectrum.noise_radius()) : own;
    curvature.push_back(most / (own + ridge_of_rows));
  }
  for (double& entry : curvature) entry *= (1.0 - settings.intercept_share) * trace / sum;
  const double length = step_length(settings.loss, classes);
  const double reach = kInterceptReach / (length * std::sqrt(settings.intercept_share) * lattice.clip_norm);
  double squares = 0.0;  // at the intercept, of gradients so far, without their noise
  StepRule rule = [=, dim = lattice.dim](const NoisedRound& round, std::span<double> weights) mutable {
    const std::span<const std::int64_t> gradient = round.block().values();
    double of_intercept = settings.intercept_share * trace;  // e of the intercept
    if (normalize != Normalize::kL2) {
      for (std::size_t e = dim; e < gradient.size(); e += dim + 1) {
        const double entry = static_cast<double>(gradient[e]) / round.unit;
        squares += entry * entry - round.sigma() * round.sigma();
      }
      of_intercept = std::max(of_intercept, std::sqrt(std::max(squares, 0.0)) / reach);
    }
    const double ridge = length * curvature_of_noise(round.sigma(), settings.rounds, lattice.clip_norm) + one_row;
    std::vector<double> factors = curvature;
    factors.push_back(of_intercept);
    for (double& factor : factors) factor = length / (factor + ridge);
    run_at_full_width([&]<std::size_t width>(Doubles<width>) {
      for (std::size_t first = 0; first < weights.size(); first += dim + 1) {
        for (std::size_t j = 0; j <= dim; ++j) {
          weights[first + j] -= factors[j] * (to_double<width>(gradient[first + j]) / round.unit);
        }
      }
    });
  };
  return {std::move(whitening), std::move(rule)};
}

class WhitenedDescentMethod : public RoundsMethod {
 public:
  explicit WhitenedDescentMethod(const FitOptions& options)
      : RoundsMethod(options, round_settings(options, kFcRounds)),
        has_public_rows_(whitens_by_public_rows(options)),
        gram_share_(options.method.gram_share.value_or(has_public_rows_ ? kFcGramShareBesidePublic : kFcGramShare)),
        isotropy_share_(options.method.isotropy_share) {
    settings_.intercept_share = kInterceptShareOfWhitened;
    settings_.initial_score = 0.0;  // also of sigmoids: too few rounds to come back from -10
  }

  std::vector<ReleaseRequest> requests(ReleaseTerms terms) const override {
    terms.rounds = settings_.rounds;
    const double rest = 1.0 - isotropy_share_.value_or(0.0);
    std::vector<ReleaseRequest> own;
    if (isotropy_share_) own.push_back(registered_statistic("isotropy").request(terms, *isotropy_share_));
    own.push_back(registered_statistic("gram").request(terms, rest * gram_share_));
    ++terms.dim;
    own.push_back(registered_statistic("gradient").request(terms, rest * (1.0 - gram_share_)));
    return with_warm_start(settings_, terms, std::move(own));
  }

  nlohmann::json settings() const override {
    nlohmann::json json = to_json(settings_);
    json["gram_share"] = gram_share_;
    if (has_public_rows_) json["whitened_about"] = "public rows";
    if (isotropy_share_) json["isotropy_share"] = *isotropy_share_;
    return json;
  }

  std::size_t candidates() const override { return isotropy_share_ ? 2 : RoundsMethod::candidates(); }

  LinearScores train(TrainingRun& run) const override {
    run.rows().keep_to_project();
    if (isotropy_share_) {
      if (const std::optional<double> rows = rows_for_means(run, *isotropy_share_)) {
        run.charge_unmade("gram");
        run.rows().set_intercept(settings_.intercept_share);
        return train_by_means(run, settings_, *rows);
      }
    }
    const Release gram = run.release("gram");
    std::optional<ReleasedBlock> known;  // at the coordinator
    if (run.ranks().is_coordinator()) known = gram.block("gram");
    if (has_public_rows_) {
      const Release of_public = run.sum_public("gram");
      run.ranks().together([&] {
        if (known) known = gram_about_public(*known, of_public.block("gram"), run.rows().lattice());
      });
    }
    run.end_phase("gram");
    StepRule rule;  // at the coordinator
    run.rows().project(whiten(run, known ? &*known : nullptr, rule));
    run.rows().set_intercept(settings_.intercept_share);
    run.end_phase("whiten");
    return train_in_rounds(run, settings_, rule);
  }

 private:
  // M, d x d, known to every rank; and the coordinator's rule.
  std::vector<double> whiten(TrainingRun& run, const ReleasedBlock* gram, StepRule& rule) const {
    Communicator& ranks = run.ranks();
    const Lattice lattice = run.rows().lattice();
    const RowGroups groups(lattice.dim);
    const auto spectrum = GramSpectrum::of_owners(ranks, gram, lattice);
    std::vector<double> factors(lattice.dim);
    std::vector<double> matrix(lattice.dim * lattice.dim);
    ranks.at_coordinator([&] {
      const Normalize normalize = run.rows().preprocessing().normalize;
      WhitenedDescent descent = whitened_descent(*spectrum, lattice, settings_, run.rows().classes(), normalize);
      factors = std::move(descent.whitening);
      rule = std::move(descent.rule);
    });
    if (ranks.owners() > 1) ranks.broadcast(factors);
    groups.make_on_ranks(ranks, matrix, [&](std::size_t first, std::span<double> rows) {
      spectrum->make_eigenvectors(first, std::span(factors).subspan(first, rows.size() / lattice.dim), rows);
    });
    return matrix;
  }

  bool has_public_rows_;
  double gram_share_;
  std::optional<double> isotropy_share_;
};

std::unique_ptr<TrainingMethod> make_fc(const FitOptions& options) {
  if (options.data.has_targets()) return make_target_rounds(options);
  return std::make_unique<WhitenedDescentMethod>(options);
}

}  // namespace

const MethodEntry fc_method{
    .name = "fc",
    .help = "rounds of descent on rows whitened by a Gram matrix released once",
    .takes = with_options_of_rounds({{"--gram-share", "0.1"}, {"--isotropy-share"}, {"--rounds", "20"}, {"--targets"}}),
    .make = make_fc,
    .whitens_rows = true,
    .whitens_by_public_rows = true,
    .scores_are_adjustable = true,
    .scores_are_refinable = true};

}  // namespace dpreduce
