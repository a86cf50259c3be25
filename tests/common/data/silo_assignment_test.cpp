#include "common/base/error.hpp"
#include "common/data/simulation.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_assignment_test {

using Counts = std::vector<std::uint64_t>;

// counts[stratum][silo] of a whole pass.
std::vector<Counts> assigned_counts(SiloAssignment& assignment, const Counts& strata) {
  std::vector<Counts> counts(strata.size(), Counts(assignment.silos(), 0));
  for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
    for (std::uint64_t row = 0; row < strata[stratum]; ++row) ++counts[stratum].at(assignment.next(stratum));
  }
  return counts;
}

TEST(SiloAssignment, EveryRowOfEverySchemeHasOneSiloAndEverySiloTheRowsItSays) {
  const Counts classes{400, 33, 1, 0, 566};
  for (const Partition scheme :
       {Partition::kIid, Partition::kDirichlet, Partition::kClasses, Partition::kQuantity, Partition::kFeatureShift}) {
    SCOPED_TRACE(to_string(scheme));
    const Counts strata = is_label_skew(scheme) ? classes : Counts{1000};
    for (const std::size_t silos : {3, 7}) {
      SiloAssignment assignment({.scheme = scheme, .silos = silos, .alpha = 0.5, .classes_per_silo = 4, .seed = 3},
                                strata);
      Counts rows(silos, 0);
      for (const Counts& of_stratum : assigned_counts(assignment, strata)) {
        for (std::size_t silo = 0; silo < silos; ++silo) rows[silo] += of_stratum[silo];
      }
      for (std::size_t silo = 0; silo < silos; ++silo) {
        EXPECT_EQ(rows[silo], assignment.rows_of(silo));
        EXPECT_GE(rows[silo], 1u);
      }
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}), 1000u);
      EXPECT_THROW(assignment.next(0), std::logic_error);  // no such row
    }
  }
}

TEST(SiloAssignment, ASecondPassAndTheSameSeedRepeatItAndAnotherSeedDoesNot) {
  const auto sequence = [](SiloAssignment assignment) {  // a copy, which begins with the first row
    std::vector<std::size_t> silos(500);
    for (std::size_t& silo : silos) silo = assignment.next(0);
    return silos;
  };
  const SiloAssignment first({.silos = 4, .seed = 9}, {500});
  const auto silos = sequence(first);
  EXPECT_EQ(sequence(first), silos);
  EXPECT_EQ(sequence(SiloAssignment({.silos = 4, .seed = 9}, {500})), silos);
  EXPECT_NE(sequence(SiloAssignment({.silos = 4, .seed = 10}, {500})), silos);
}

TEST(SiloAssignment, IidSilosAreEvenAndTakeRowsFromEverywhere) {
  SiloAssignment assignment({.silos = 7, .seed = 1}, {100000});
  Counts first_half(7, 0);
  for (std::uint64_t row = 0; row < 50000; ++row) ++first_half[assignment.next(0)];
  for (std::size_t silo = 0; silo < 7; ++silo) {
    EXPECT_NEAR(static_cast<double>(assignment.rows_of(silo)), 100000.0 / 7, 1.0);
    // Hypergeometric, standard deviation 55: 6 of them, false alarm below 1e-8. (Seeded: it does not vary.)
    EXPECT_NEAR(static_cast<double>(first_half[silo]), 50000.0 / 7, 330.0);
  }
}

TEST(SiloAssignment, EachSiloHoldsAsManyClassesAsItWasDealt) {
  const Counts classes(10, 97);
  for (const std::size_t held : {1, 2, 3, 10}) {
    SiloAssignment assignment({.scheme = Partition::kClasses, .silos = 12, .classes_per_silo = held, .seed = 5},
                              classes);
    Counts held_by(12, 0);
    for (Counts of_class : assigned_counts(assignment, classes)) {
      for (std::size_t silo = 0; silo < 12; ++silo) held_by[silo] += of_class[silo] > 0 ? 1 : 0;
      std::erase(of_class, 0U);
      const auto [least, most] = std::minmax_element(of_class.begin(), of_class.end());
      EXPECT_LE(*most, *least + 1);  // evenly over its holders
    }
    EXPECT_THAT(held_by, testing::Each(held));
  }
}

TEST(SiloAssignment, SmallAlphaSkewsClassesAndLargeAlphaDoesNot) {
  const Counts classes(10, 1000);
  const auto largest_share = [&](double alpha) {
    SiloAssignment assignment({.scheme = Partition::kDirichlet, .silos = 5, .alpha = alpha, .seed = 2}, classes);
    double sum = 0.0;
    for (const Counts& of_class : assigned_counts(assignment, classes)) {
      sum += static_cast<double>(*std::max_element(of_class.begin(), of_class.end())) / 1000.0;
    }
    return sum / 10.0;
  };
  EXPECT_GT(largest_share(0.05), 0.85);
  EXPECT_LT(largest_share(1000.0), 0.25);
}

TEST(SiloAssignment, NoSiloIsEmptyHoweverSkewedSharesAre) {
  for (const Partition scheme : {Partition::kDirichlet, Partition::kQuantity}) {
    const Counts strata = scheme == Partition::kDirichlet ? Counts{30, 30} : Counts{60};
    SiloAssignment assignment({.scheme = scheme, .silos = 60, .alpha = 1e-4, .seed = 8}, strata);
    for (std::size_t silo = 0; silo < 60; ++silo) EXPECT_EQ(assignment.rows_of(silo), 1u);
  }
}

TEST(SiloAssignment, WhatCannotBeSpreadIsRefused) {
  EXPECT_THROW(SiloAssignment({.silos = 6}, {5}), UsageError);
  EXPECT_NO_THROW(SiloAssignment({.silos = 5}, {5}));
  // Class 1 has one row for four silos.
  EXPECT_THROW(SiloAssignment({.scheme = Partition::kClasses, .silos = 8, .classes_per_silo = 1}, {50, 1}), UsageError);
  EXPECT_THROW(SiloAssignment({.scheme = Partition::kClasses, .silos = 1, .classes_per_silo = 1}, {50, 50}),
               std::logic_error);
  EXPECT_THROW(SiloAssignment({.silos = 1}, {50, 50}), std::logic_error);  // strata without label skew
}

// Mean 1/k and variance (k - 1) / (k^2 (k alpha + 1)) of one share. The seed is fixed; over seeds, six standard errors
// of the mean (below 1e-8 each), and for the variance 6 %, above six standard errors of 40,000 draws at these alphas.
TEST(DirichletShares, HaveTheMeanAndVarianceOfTheDistribution) {
  constexpr std::size_t kSilos = 4;
  constexpr std::size_t kDraws = 40000;
  for (const double alpha : {0.3, 1.0, 5.0}) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t draw = 0; draw < kDraws; ++draw) {
      const std::vector<double> shares = dirichlet_shares(kSilos, alpha, CounterRandom(7, draw));
      EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-12);
      sum += shares[1];
      squares += shares[1] * shares[1];
    }
    const double mean = sum / kDraws;
    const double variance = (kSilos - 1.0) / (kSilos * kSilos * (kSilos * alpha + 1.0));
    EXPECT_NEAR(mean, 1.0 / kSilos, 6.0 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws - mean * mean, variance, 0.06 * variance) << alpha;
  }
}

TEST(DirichletShares, AreSharesForEveryAlpha) {
  for (const double alpha : {1e-6, 1e-3, 1e3, 1e9}) {
    const std::vector<double> shares = dirichlet_shares(10, alpha, CounterRandom(1, 1));
    for (const double share : shares) EXPECT_TRUE(share >= 0.0 && share <= 1.0);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-12);
  }
  EXPECT_THROW(dirichlet_shares(3, 0.0, CounterRandom(1, 1)), std::logic_error);
  EXPECT_THROW(dirichlet_shares(0, 1.0, CounterRandom(1, 1)), std::logic_error);
}

}  // namespace dpreduce::silo_assignment_test
