#include "dpreduce/audit/one_run_bound.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include <boost/math/distributions/binomial.hpp>
#include <gtest/gtest.h>

namespace dpreduce {
namespace {

TEST(OneRunBound, AgreesWithThePaper) {
  EXPECT_NEAR(one_run_epsilon(1000, 100, 75, 1e-4, 0.05), 0.673, 5e-4);       // Appendix D
  EXPECT_NEAR(one_run_epsilon(100000, 1510, 1439, 1e-5, 0.05), 2.675, 1e-3);  // Section 7; printed cut off
}

TEST(OneRunBound, AllGuessesRightHasAClosedForm) {
  // q^r = error
  const double q = std::pow(0.01, 1.0 / 50);
  EXPECT_NEAR(one_run_epsilon(80, 50, 50, 0.0, 0.01), std::log(q / (1.0 - q)), 2e-6);
}

TEST(OneRunBound, PValueIsTheSumsThatTheTheoremNames) {
  constexpr std::size_t kCanaries = 30;
  constexpr std::size_t kGuesses = 12;
  constexpr std::size_t kCorrect = 10;
  const double epsilon = 0.7;
  const boost::math::binomial_distribution<> w(kGuesses, std::exp(epsilon) / (1.0 + std::exp(epsilon)));
  const auto between = [&](std::size_t low, std::size_t high) {
    double sum = 0.0;
    for (std::size_t k = low; k < high; ++k) sum += boost::math::pdf(w, static_cast<double>(k));
    return sum;
  };
  double alpha = 0.0;
  for (std::size_t i = 1; i <= kCorrect; ++i) {
    alpha = std::max(alpha, between(kCorrect - i, kCorrect) / static_cast<double>(i));
  }
  EXPECT_NEAR(one_run_p_value(kCanaries, kGuesses, kCorrect, epsilon, 1e-3),
              between(kCorrect, kGuesses + 1) + 2.0 * kCanaries * 1e-3 * alpha, 1e-12);
}

TEST(OneRunBound, GrowsWithRightGuessesAndShrinksWithDeltaAndCertainty) {
  EXPECT_LT(one_run_epsilon(1000, 200, 160, 1e-6, 0.01), one_run_epsilon(1000, 200, 170, 1e-6, 0.01));
  EXPECT_LT(one_run_epsilon(1000, 200, 160, 1e-4, 0.01), one_run_epsilon(1000, 200, 160, 1e-6, 0.01));
  EXPECT_LT(one_run_epsilon(1000, 200, 160, 1e-6, 0.001), one_run_epsilon(1000, 200, 160, 1e-6, 0.01));
  EXPECT_EQ(one_run_epsilon(1000, 200, 100, 1e-6, 0.01), 0.0);
  EXPECT_EQ(one_run_epsilon(1000, 200, 0, 1e-6, 0.01), 0.0);
}

// Randomised response keeps each coin with probability q, which is exactly epsilon-DP and the bound's worst case. 2000
// audits, each false with probability at most 0.05: more than 150 false ones with probability below 1e-6 (mean 100,
// standard deviation 9.7). Not far below 0.05 either: the bound is tight, but for the steps of the binomial.
TEST(OneRunBound, RandomisedResponseIsRefutedAsOftenAsTheErrorSays) {
  constexpr double kEpsilon = 1.0;
  std::mt19937_64 engine(11);
  std::binomial_distribution<int> correct(500, std::exp(kEpsilon) / (1.0 + std::exp(kEpsilon)));
  int refuted = 0;
  for (int audit = 0; audit < 2000; ++audit) {
    const auto right = static_cast<std::size_t>(correct(engine));
    if (one_run_epsilon(500, 500, right, 0.0, 0.05) > kEpsilon) ++refuted;
  }
  EXPECT_LE(refuted, 150);
  EXPECT_GE(refuted, 40);
}

TEST(OneRunBound, TheNumberOfGuessesSuitsTheNoise) {
  EXPECT_EQ(best_guess_count(1001, 12.0, 1e-12, 1e-3), 1001U);  // where every canary shows, every one is guessed
  EXPECT_LT(best_guess_count(10000, 1.0, 1e-6, 1e-3), 5000U);
}

TEST(OneRunBound, RefusesImpossibleCounts) {
  EXPECT_THROW(one_run_p_value(10, 11, 5, 1.0, 0.0), std::logic_error);
  EXPECT_THROW(one_run_p_value(10, 8, 9, 1.0, 0.0), std::logic_error);
  EXPECT_THROW(one_run_p_value(10, 8, 7, -1.0, 0.0), std::logic_error);
  EXPECT_THROW(one_run_p_value(10, 8, 7, 1.0, 2.0), std::logic_error);
  EXPECT_THROW(one_run_epsilon(10, 8, 7, 0.0, 0.0), std::logic_error);
  EXPECT_THROW(best_guess_count(1, 1.0, 0.0, 0.1), std::logic_error);
  EXPECT_THROW(best_guess_count(10, 0.0, 0.0, 0.1), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
