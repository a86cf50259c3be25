// The distribution of private selections on small sets of candidates.
//
// Every test is seeded, so that it passes always or never; its threshold is such that a right sampler with a random
// seed would fail one test in 10^9.
#include <boost/math/distributions/chi_squared.hpp>

#include "common/randomness/exponential_mechanism.hpp"
#include "common/randomness/noise_key.hpp"
#include "tests/testing.hpp"

namespace dpreduce::selection_distribution_test {

constexpr double kFalseAlarm = 1e-9;
constexpr std::size_t kSamples = 200'000;

using Utilities = std::vector<std::int64_t>;
using Probabilities = std::vector<double>;

double gamma_of(const SelectionRate& rate) {
  return std::ldexp(static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator),
                    -static_cast<int>(rate.scale_bits));
}

// exp(-gamma (u_max - u_i))
Probabilities decays(const Utilities& utilities, const SelectionRate& rate) {
  const std::int64_t best = *std::max_element(utilities.begin(), utilities.end());
  Probabilities values;
  for (const std::int64_t utility : utilities) {
    values.push_back(std::exp(-gamma_of(rate) * static_cast<double>(best - utility)));
  }
  return values;
}

Probabilities normalized(Probabilities weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= total;
  return weights;
}

// Candidates of which fewer than 25 are expected share a cell; it is left out if that expects fewer than 10.
void expect_fits(std::uint64_t seed, const Probabilities& probabilities,
                 const std::function<std::size_t(RandomStream&)>& choose, const std::string& what) {
  ASSERT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-12) << what;
  RandomStream stream =
      NoiseKey::from_seed(seed).stream("selection test", std::as_bytes(std::span(what.data(), what.size())));
  std::vector<double> counts(probabilities.size());
  for (std::size_t sample = 0; sample < kSamples; ++sample) ++counts[choose(stream)];
  double statistic = 0;
  double rare_count = 0;
  double rare_expected = 0;
  int cells = 0;
  const auto add_cell = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t candidate = 0; candidate < counts.size(); ++candidate) {
    const double expected = static_cast<double>(kSamples) * probabilities[candidate];
    if (expected >= 25) {
      add_cell(counts[candidate], expected);
    } else {
      rare_count += counts[candidate];
      rare_expected += expected;
    }
  }
  if (rare_expected >= 10) add_cell(rare_count, rare_expected);
  ASSERT_GE(cells, 2) << what;
  EXPECT_LT(statistic, quantile(complement(boost::math::chi_squared(cells - 1), kFalseAlarm))) << what;
}

TEST(SelectExponential, HasTheExactProbabilities) {
  for (std::size_t count = 2; count <= 20; count += 3) {
    Utilities utilities(count);
    for (std::size_t candidate = 0; candidate < count; ++candidate) {
      utilities[candidate] = static_cast<std::int64_t>(candidate * candidate % 13);
    }
    for (const SelectionRate& rate : {SelectionRate{1, 1, 0}, SelectionRate{1, 3, 0}, SelectionRate{1, 50, 0},
                                      selection_rate(0.7, 3, ScoreChange::kGeneral)}) {
      expect_fits(
          1, normalized(decays(utilities, rate)),
          [&](RandomStream& stream) { return select_exponential(stream, utilities, rate); },
          std::to_string(count) + " candidates, gamma = " + std::to_string(gamma_of(rate)));
    }
  }
}

TEST(SelectExponential, SharesTiesEqually) {
  const Utilities utilities(16, 3);
  expect_fits(
      2, Probabilities(16, 1.0 / 16),
      [&](RandomStream& stream) {
        return select_exponential(stream, utilities, {1, 1, 0});
      },
      "ties");
}

// P(worst rank y) ~ C(y, K - 1) exp(gamma u_y), for K = 3 of 12 candidates in falling order.
TEST(SelectWeighted, HasTheExactProbabilitiesOfSubsets) {
  const Utilities utilities{40, 38, 38, 31, 30, 22, 21, 20, 20, 11, 3, 0};
  const Multiplicities multiplicities = Multiplicities::of_subsets_by_worst(utilities.size(), 3);
  for (const SelectionRate& rate : {SelectionRate{1, 4, 0}, SelectionRate{1, 20, 0}}) {
    Probabilities weights = decays(utilities, rate);
    for (std::size_t rank = 0; rank < utilities.size(); ++rank) {
      weights[rank] *= rank == 0 ? 0.0 : static_cast<double>(rank * (rank - 1)) / 2;
    }
    expect_fits(
        3, normalized(weights),
        [&](RandomStream& stream) { return select_exponential(stream, utilities, rate, &multiplicities); },
        "subsets, gamma = " + std::to_string(gamma_of(rate)));
  }
}

}  // namespace dpreduce::selection_distribution_test
