// Sets of prototypes on the pair of neighboring data sets that refutes the printed DPPL-PublicK.
//
// n candidates, Delta the sensitivity. On D the set S = {a, b} and K - 2 more stand 1e-6 Delta above all others, which
// are equal. A record raises every candidate but a by Delta (monotone, sensitivity Delta), so that a becomes the worst.
//
//     log P(S) = gamma min over S of u - log sum_y m_y exp(gamma u_y)  [+ log m_w - log C(w - 1, K - 1) where m is
//     printed otherwise]
//
// u_y the utility of rank y, m_y the number of sets with worst rank y, w the worst rank in S.

#include "common/accounting/mechanism.hpp"
#include "common/randomness/exponential_mechanism.hpp"
#include "tests/common/accounting/vector_table.hpp"
#include "tests/testing.hpp"

namespace dpreduce::prototype_sets_test {

constexpr std::uint64_t kSensitivity = 1000000;

// Utilities in falling order, and the place of the worst member of S among them (from 0).
struct Ranked {
  std::vector<double> utilities;
  std::size_t worst_of_set;
};

Ranked on_data(std::size_t n, std::size_t chosen) {
  Ranked ranked{std::vector<double>(n, 0.0), chosen - 1};
  std::fill_n(ranked.utilities.begin(), chosen, 1.0);
  return ranked;
}

Ranked with_the_record(std::size_t n, std::size_t chosen) {
  Ranked ranked{std::vector<double>(n, double{kSensitivity}), n - 1};
  std::fill_n(ranked.utilities.begin(), chosen - 1, double{kSensitivity} + 1.0);
  ranked.utilities.back() = 1.0;
  return ranked;
}

// log C(a, b)
double log_binomial(double a, double b) {
  return std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1);
}

// log sum_y exp(log_m_y + gamma u_y)
template <typename LogCount>
double log_normalizer(const Ranked& ranked, double gamma, const LogCount& log_count) {
  const double most = log_count(ranked.utilities.size() - 1) + gamma * ranked.utilities.front();
  double sum = 0.0;
  for (std::size_t y = 0; y < ranked.utilities.size(); ++y) {
    sum += std::exp(log_count(y) + gamma * ranked.utilities[y] - most);
  }
  return most + std::log(sum);
}

// What the program draws from: its own counts of sets, its own rate.
double log_probability_of_ours(const Ranked& ranked, std::size_t chosen, double epsilon) {
  const SelectionRate rate = selection_rate(epsilon, kSensitivity, ScoreChange::kMonotone);
  const double gamma = std::ldexp(static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator),
                                  -static_cast<int>(rate.scale_bits));
  const Multiplicities sets = Multiplicities::of_subsets_by_worst(ranked.utilities.size(), chosen);
  const auto log_count = [&](std::size_t y) {
    return std::log(sets.leading(y)) + sets.exponent(y) * std::log(2.0);  // -infinity where there is no set
  };
  return gamma * ranked.utilities[ranked.worst_of_set] - log_normalizer(ranked, gamma, log_count);
}

// m_y = C(y, K), ranks from 1, shared by the C(y - 1, K - 1) sets that there are; rate epsilon / (2 Delta).
double log_probability_as_printed(const Ranked& ranked, std::size_t chosen, double epsilon) {
  const auto k = static_cast<double>(chosen);
  const double gamma = epsilon / (2.0 * double{kSensitivity});
  const auto log_count = [&](std::size_t y) {
    const double rank = static_cast<double>(y) + 1.0;
    return rank < k ? -std::numeric_limits<double>::infinity() : log_binomial(rank, k);
  };
  const double rank = static_cast<double>(ranked.worst_of_set) + 1.0;
  return log_count(ranked.worst_of_set) - log_binomial(rank - 1.0, k - 1.0) +
         gamma * ranked.utilities[ranked.worst_of_set] - log_normalizer(ranked, gamma, log_count);
}

TEST(PrototypeSets, AreWithinTheClaimWhereThePrintedOnesAreNot) {
  int pairs = 0;
  for (const VectorRow& row : read_vectors("publick_counterexample.csv")) {
    const bool is_ours = row.text("weighting").find("monotone") != std::string::npos;
    const bool is_printed = row.text("weighting").find("printed") != std::string::npos;
    if (!is_ours && !is_printed) continue;
    const auto n = static_cast<std::size_t>(row.number("n_public"));
    const auto chosen = static_cast<std::size_t>(row.number("K"));
    const double epsilon = row.number("eps_claimed");
    const auto log_probability = is_ours ? log_probability_of_ours : log_probability_as_printed;
    const double without = log_probability(on_data(n, chosen), chosen, epsilon);
    const double with = log_probability(with_the_record(n, chosen), chosen, epsilon);
    EXPECT_NEAR(without, row.number("logP_D(S)"), 1e-6) << n;
    EXPECT_NEAR(with, row.number("logP_D_plus_record(S)"), 1e-6) << n;
    EXPECT_EQ(std::abs(with - without) <= epsilon, is_ours) << n << ": " << with - without;
    ++pairs;
  }
  EXPECT_EQ(pairs, 12);
}

}  // namespace dpreduce::prototype_sets_test
