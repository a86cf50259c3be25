#include "audit/one_run_audit.hpp"

#include <boost/math/distributions/binomial.hpp>

#include "audit/confidence_bounds.hpp"
#include "audit/neighbor_rows.hpp"
#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::one_run_audit_test {

constexpr std::size_t kAuditClasses = 5;
constexpr std::size_t kAuditDim = 256;
constexpr double kErrorOfAudits = 1e-6;  // of each test of OneRunAudit

OneRunResult audit(double mu, std::size_t canaries, Adjacency adjacency, Centering center,
                   std::string method_name = "mean", std::uint64_t rows_per_person = 0) {
  FitOptions options;
  options.data.classes = kAuditClasses;
  options.method.name = method_name;
  options.method.shared_gram = true;
  options.rows.normalize = Normalize::kNone;
  options.rows.center = center;
  if (center == Centering::kDp) options.rows.center_share = 0.05;
  options.privacy.budget.mu = mu;
  options.privacy.adjacency = adjacency;
  if (rows_per_person > 0) {
    options.data.rows_per_person = rows_per_person;
    options.data.train.person = {"persons"};
  }
  const AuditedMethod method(options, kAuditDim);
  const PrivateFolder folder;
  LabeledRows rows{kAuditDim, {}, {}, {}};
  std::vector<float> row(kAuditDim, 0.0625F);  // of norm 1
  for (int copy = 0; copy < 50; ++copy) rows.add(row, copy % static_cast<int>(kAuditClasses));
  const WorldRows files = rows.write(folder.path(), "rest");
  return audit_in_one_run(method, files.x, files.y, {.canaries = canaries, .delta = 1e-9, .error = kErrorOfAudits},
                          folder);
}

TEST(OneRunAudit, SeesAlmostEveryCanaryThroughFaintNoise) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const OneRunResult result = audit(100.0, 200, adjacency, Centering::kNone);
    EXPECT_GE(result.guesses.guesses, 100U);
    EXPECT_EQ(result.guesses.correct, result.guesses.guesses);
  }
}

TEST(OneRunAudit, HasWholePersonsAsCanaries) {
  const OneRunResult faint = audit(100.0, 200, Adjacency::kAddRemove, Centering::kNone, "mean", 2);
  EXPECT_EQ(faint.guesses.correct, faint.guesses.guesses);
  const OneRunResult result = audit(3.0, 1000, Adjacency::kReplaceOne, Centering::kNone, "mean", 3);
  EXPECT_GT(result.mu, 0.5);
  EXPECT_LT(result.mu, 3.0);
}

TEST(OneRunAudit, ProvesSomethingButNotMoreThanIsClaimed) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const OneRunResult result = audit(3.0, 1000, adjacency, Centering::kNone);
    EXPECT_GT(result.mu, 0.5);
    EXPECT_LT(result.mu, 3.0);
    EXPECT_GT(result.epsilon, 0.3);
    EXPECT_LT(result.epsilon, 22.0);  // epsilon of mu = 3 at 1e-9 is 22.2
  }
}

TEST(OneRunAudit, ProvesNothingThroughHeavyNoiseAndRefusesASingleCanary) {
  EXPECT_LT(audit(1e-3, 1000, Adjacency::kAddRemove, Centering::kNone).epsilon, 5e-3);
  EXPECT_THROW(audit(1.0, 1, Adjacency::kAddRemove, Centering::kNone), std::logic_error);
}

TEST(OneRunAudit, SeesThroughACenterAlsoBesideAGramMatrixAndFindsNoSumsAmongGradients) {
  for (const char* method : {"mean", "ls"}) {
    const OneRunResult result = audit(100.0, 200, Adjacency::kAddRemove, Centering::kDp, method);
    EXPECT_GE(result.guesses.correct, result.guesses.guesses * 9 / 10) << method;
  }
  EXPECT_THROW(audit(1.0, 200, Adjacency::kAddRemove, Centering::kNone, "fc"), UsageError);
}

// The older bound, for comparison: P[at least v right] <= P[W >= v] + 2 m delta alpha, W ~ Binomial(r, q),
// q = e^epsilon / (1 + e^epsilon), alpha = max_i P[v - i <= W < v] / i. Source: [steinke2023],
// Corollary 5.4, Appendix D.
double older_p_value(const CoinGuesses& seen, double epsilon, double delta) {
  const boost::math::binomial_distribution<> w(static_cast<double>(seen.guesses), 1.0 / (1.0 + std::exp(-epsilon)));
  const auto v = static_cast<double>(seen.correct);
  double below = 0.0;
  double alpha = 0.0;
  for (double i = 1.0; i <= v; ++i) {
    below += boost::math::pdf(w, v - i);
    alpha = std::max(alpha, below / i);
  }
  return boost::math::cdf(boost::math::complement(w, v - 1.0)) +
         2.0 * static_cast<double>(seen.canaries) * delta * alpha;
}

double older_epsilon(const CoinGuesses& seen, double delta, double error) {
  double low = 0.0;
  double high = 64.0;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (older_p_value(seen, middle, delta) < error ? low : high) = middle;
  }
  return low;
}

// Right guesses of an ideal Gaussian mechanism: m canaries, each of which shifts a score of its own by mu, and the r
// scores farthest from the middle are guessed about.
CoinGuesses gaussian_guesses(std::size_t canaries, std::size_t guesses, double mu, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::vector<std::pair<double, bool>> scores(canaries);  // how far out, whether the guess is right
  for (auto& [distance, is_right] : scores) {
    const bool coin = engine() % 2 == 1;
    const double score = normal(engine) + (coin ? mu / 2 : -mu / 2);
    distance = std::abs(score);
    is_right = (score > 0.0) == coin;
  }
  std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(guesses), scores.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto right = std::count_if(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(guesses),
                                   [](const auto& score) { return score.second; });
  return {canaries, guesses, static_cast<std::size_t>(right)};
}

// 4000 audits of a true claim, each false with probability at most 0.1: more than 495 false ones with probability below
// 1e-6 (mean 400, standard deviation 19).
TEST(OneRunBound, ATrueClaimOfAnIdealGaussianIsRefutedNoMoreOftenThanTheErrorSays) {
  constexpr double kError = 0.1;
  std::mt19937_64 engine(12);
  for (const double mu : {0.3, 1.0, 3.0}) {
    int false_of_mu = 0;
    int false_of_either = 0;
    for (int audit = 0; audit < 4000; ++audit) {
      const CoinGuesses seen = gaussian_guesses(200, 60, mu, engine);
      const bool mu_fails = refutes_mu(seen, mu, kError);
      false_of_mu += mu_fails;
      false_of_either += mu_fails || refutes_epsilon(seen, epsilon_of_mu(mu, 1e-5), 1e-5, kError);
    }
    EXPECT_LE(false_of_mu, 495) << mu;
    EXPECT_LE(false_of_either, 495) << mu;
  }
}

// A mechanism that shows every coin with probability p, and none else, is (0, p)-DP: at an error of p it may not be
// refuted by all guesses right, nor at less.
TEST(OneRunBound, WhatShowsEverythingNowAndThenIsNotRefuted) {
  const CoinGuesses all_right{1000, 500, 500};
  EXPECT_FALSE(refutes_epsilon(all_right, 0.0, 0.01, 0.005));
  EXPECT_TRUE(refutes_epsilon(all_right, 0.0, 0.01, 0.05));
}

// Randomized response keeps each coin with probability q, and is exactly epsilon-DP.
TEST(OneRunBound, RandomizedResponseIsRefutedNoMoreOftenThanTheErrorSays) {
  constexpr double kEpsilon = 1.0;
  std::mt19937_64 engine(11);
  std::binomial_distribution<int> correct(500, std::exp(kEpsilon) / (1.0 + std::exp(kEpsilon)));
  int refuted = 0;
  for (int audit = 0; audit < 2000; ++audit) {
    refuted += refutes_epsilon({500, 500, static_cast<std::size_t>(correct(engine))}, kEpsilon, 0.0, 0.05);
  }
  EXPECT_LE(refuted, 150);  // more with probability below 1e-6
}

// One canary, one guess: the bound is the claim's own inequality, error = F(1 - error) where it is right.
TEST(OneRunBound, OneGuessHasAClosedForm) {
  // P[right] <= Phi(mu / 2): refuted where that is below the error.
  EXPECT_TRUE(refutes_mu({1, 1, 1}, 2.0, normal_cdf(1.0) + 1e-6));
  EXPECT_FALSE(refutes_mu({1, 1, 1}, 2.0, normal_cdf(1.0) - 1e-6));
  EXPECT_TRUE(refutes_epsilon({1, 1, 1}, 1.0, 0.0, 1.0 / (1.0 + std::exp(-1.0)) + 1e-6));
  EXPECT_FALSE(refutes_epsilon({1, 1, 1}, 1.0, 0.0, 1.0 / (1.0 + std::exp(-1.0)) - 1e-6));
}

// What an ideal Gaussian mechanism shows on average.
CoinGuesses expected_guesses(std::size_t canaries, double mu, double error) {
  std::mt19937_64 engine(13);
  return gaussian_guesses(canaries, best_guess_count(canaries, mu, error), mu, engine);
}

TEST(OneRunBound, ProvesMostOfEpsilonAndMoreThanTheOlderBound) {
  for (const double epsilon : {1.0, 4.0}) {
    constexpr double kDelta = 1e-5;
    constexpr double kError = 1e-3;
    const double mu = mu_of_claim(epsilon, kDelta);
    const CoinGuesses seen = expected_guesses(40000, mu, kError);
    const double proven = epsilon_of_mu(one_run_mu(seen, kError), kDelta);
    EXPECT_GT(proven, 0.4 * epsilon);
    EXPECT_LT(proven, epsilon);
    EXPECT_GT(proven, 1.2 * older_epsilon(seen, kDelta, kError)) << epsilon;
  }
}

TEST(OneRunBound, GrowsWithRightGuessesAndShrinksWithDeltaAndCertainty) {
  EXPECT_LT(one_run_epsilon({1000, 200, 160}, 1e-6, 0.05), one_run_epsilon({1000, 200, 170}, 1e-6, 0.05));
  EXPECT_LT(one_run_epsilon({1000, 200, 170}, 1e-3, 0.05), one_run_epsilon({1000, 200, 170}, 1e-6, 0.05));
  EXPECT_LT(one_run_epsilon({1000, 200, 170}, 1e-6, 0.001), one_run_epsilon({1000, 200, 170}, 1e-6, 0.05));
  EXPECT_LT(one_run_mu({1000, 200, 160}, 0.05), one_run_mu({1000, 200, 170}, 0.05));
  EXPECT_LT(one_run_mu({1000, 200, 170}, 0.001), one_run_mu({1000, 200, 170}, 0.05));
  EXPECT_EQ(one_run_mu({1000, 200, 100}, 0.01), 0.0);
  EXPECT_EQ(one_run_epsilon({1000, 200, 0}, 1e-6, 0.01), 0.0);
}

TEST(OneRunBound, TheNumberOfGuessesSuitsTheNoise) {
  EXPECT_EQ(best_guess_count(1001, 30.0, 1e-3), 1001U);  // where every canary shows, every one is guessed
  EXPECT_LT(best_guess_count(10000, 1.0, 1e-3), 5000U);
}

TEST(OneRunBound, RefusesImpossibleCounts) {
  EXPECT_THROW(refutes_mu({10, 11, 5}, 1.0, 0.1), std::logic_error);
  EXPECT_THROW(refutes_mu({10, 8, 9}, 1.0, 0.1), std::logic_error);
  EXPECT_THROW(refutes_mu({10, 8, 7}, -1.0, 0.1), std::logic_error);
  EXPECT_THROW(refutes_epsilon({10, 8, 7}, -1.0, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(refutes_epsilon({10, 8, 7}, 1.0, 1.0, 0.1), std::logic_error);
  EXPECT_THROW(one_run_epsilon({10, 8, 7}, 0.0, 0.0), std::logic_error);
  EXPECT_THROW(best_guess_count(1, 1.0, 0.1), std::logic_error);
  EXPECT_THROW(best_guess_count(10, 0.0, 0.1), std::logic_error);
}

}  // namespace dpreduce::one_run_audit_test
