// Private selection over the sum of what ranks hold.

#include <boost/math/distributions/chi_squared.hpp>

#include "aggregator/release/release.hpp"
#include "common/ledger/statistic.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/mpi/mpi_test.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce::selection_over_ranks_test {

using Utilities = std::vector<std::int64_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

PlannedSelection selection_of(double epsilon, std::uint64_t candidates, std::uint64_t groups,
                              std::uint64_t chosen = 1) {
  return {"choice",
          {.mechanism = SelectionMechanism::kExponential,
           .epsilon = epsilon,
           .sensitivity = 2,
           .candidates = candidates,
           .groups = groups,
           .chosen = chosen}};
}

// This rank's part of `whole`: parts of all ranks but the last are random, within +-reach.
Statistic part_of(const PlannedSelection& selection, const Utilities& whole, unsigned partition, std::int64_t reach) {
  const Communicator& ranks = test_ranks();
  Statistic local = empty_utilities(selection);
  const auto values = local.block(0);
  std::mt19937_64 engine(partition);
  std::uniform_int_distribution<std::int64_t> share(-reach, reach);
  for (std::size_t e = 0; e < whole.size(); ++e) {
    std::int64_t rest = whole[e];
    for (int rank = 0; rank + 1 < ranks.size(); ++rank) {
      const std::int64_t part = share(engine);
      if (rank == ranks.rank()) values[e] = part;
      rest -= part;
    }
    if (ranks.rank() + 1 == ranks.size()) values[e] = rest;
  }
  return local;
}

// All of it on one rank.
Statistic whole_on(int rank, const PlannedSelection& selection, const Utilities& whole) {
  Statistic local = empty_utilities(selection);
  if (test_ranks().rank() == rank) std::ranges::copy(whole, local.block(0).begin());
  return local;
}

std::vector<std::uint64_t> all_chosen(const Selection& selection) {
  std::vector<std::uint64_t> all;
  for (std::size_t group = 0; group < selection.groups(); ++group) {
    const auto chosen = selection.of_group(group);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

Utilities some_utilities(const PlannedSelection& selection) {
  Utilities whole(selection.terms.candidates * selection.terms.groups);
  for (std::size_t e = 0; e < whole.size(); ++e) whole[e] = static_cast<std::int64_t>(e * e % 17);
  return whole;
}

class SelectionOverRanks : public testing::Test {
 protected:
  Releaser releaser(const PlannedSelection& selection, std::optional<std::uint64_t> seed = std::nullopt,
                    std::optional<DataSetBudget> limit = std::nullopt, RunFile file = RunFile()) const {
    return Releaser(test_ranks(), with_selections({.adjacency = Adjacency::kAddRemove}, {selection}), std::move(file),
                    {.ledger_path = ledger_, .limit = limit, .seed = seed},
                    test_terms("public", std::string(64, 'c'), Accountant::kPld));
  }

  std::size_t lines() const { return charges_of(ledger_).size(); }

  const TemporaryFolder folder_;
  const std::string ledger_ = folder_ / "ledger";
};

// The mechanism has the exact probabilities of one rank: tests/statistical/selection_distribution_test.cpp.
TEST_F(SelectionOverRanks, TheChoiceDependsNeitherOnTheNumberOfRanksNorOnTheirParts) {
  const PlannedSelection selection = selection_of(0.2, 7, 12);
  const Utilities whole = some_utilities(selection);
  const auto chosen = [&](Statistic local) {
    return all_chosen(releaser(selection, 7).select(selection, std::move(local)));
  };
  const std::vector<std::uint64_t> expected{5, 3, 3, 1, 0, 6, 5, 5, 5, 2, 2, 0};
  EXPECT_EQ(chosen(whole_on(0, selection, whole)), expected);
  EXPECT_EQ(chosen(whole_on(test_ranks().size() - 1, selection, whole)), expected);
  for (unsigned partition = 0; partition < 5; ++partition) {
    EXPECT_EQ(chosen(part_of(selection, whole, partition, std::int64_t{1} << 50)), expected);
  }
}

// This rank's columns of `whole`, where ranks have shares of `cut` candidates, and the last the rest.
struct Part {
  std::uint64_t first;
  SecretVector<std::int64_t> utilities;
};
Part columns_of(const PlannedSelection& selection, const Utilities& whole, std::uint64_t cut) {
  const std::uint64_t candidates = selection.terms.candidates;
  const auto rank = static_cast<std::uint64_t>(test_ranks().rank());
  const bool is_last = test_ranks().rank() + 1 == test_ranks().size();
  Part part{std::min(candidates, rank * cut), {}};
  const std::uint64_t end = is_last ? candidates : std::min(candidates, part.first + cut);
  for (std::uint64_t group = 0; group < selection.terms.groups; ++group) {
    for (std::uint64_t z = part.first; z < end; ++z) part.utilities.push_back(whole[group * candidates + z]);
  }
  return part;
}

// The same choice as from sums.
TEST_F(SelectionOverRanks, PartsOfTheCandidatesChooseWhatTheirSumDoes) {
  for (const std::uint64_t wanted : {1, 3}) {
    const PlannedSelection selection = selection_of(0.2, 7, 12, wanted);
    const Utilities whole = some_utilities(selection);
    const std::vector<std::uint64_t> expected =
        all_chosen(releaser(selection, 7).select(selection, whole_on(0, selection, whole)));
    Releaser exact(test_ranks());
    const std::vector<std::uint64_t> best = all_chosen(exact.select(selection, whole_on(0, selection, whole)));
    for (const std::uint64_t cut : {0, 1, 2, 4}) {
      Part part = columns_of(selection, whole, cut);
      Releaser chooses = releaser(selection, 7);
      EXPECT_EQ(all_chosen(chooses.select_from_parts(selection, part.first, part.utilities)), expected) << cut;
      EXPECT_EQ(all_chosen(exact.select_from_parts(selection, part.first, part.utilities)), best) << cut;
    }
  }
}

TEST_F(SelectionOverRanks, WithoutNoiseItIsTheArgmaxOfTheSums) {
  const PlannedSelection selection = selection_of(0.2, 4, 2, 2);
  const Utilities whole{-3, -1, -2, -1, 0, 5, 9, 7};
  Releaser exact(test_ranks());
  for (unsigned partition = 0; partition < 5; ++partition) {
    const Selection chosen = exact.select(selection, part_of(selection, whole, partition, 1000));
    EXPECT_EQ(all_chosen(chosen), (std::vector<std::uint64_t>{1, 3, 2, 3}));
  }
}

// exp(-2^40 0.01 / 2) is below 2^-10000.
TEST_F(SelectionOverRanks, NeverWrongWhereUtilitiesDifferByTwoToTheForty) {
  constexpr std::int64_t kGap = std::int64_t{1} << 40;
  const PlannedSelection selection = selection_of(0.01, 3, 50);
  const std::vector<Utilities> ends{{kLeast, kMost - kGap, kMost}, {kLeast, kLeast + kGap, kLeast}, {kMost, kLeast, 0}};
  const std::vector<std::uint64_t> best{2, 1, 0};
  for (std::size_t end = 0; end < ends.size(); ++end) {
    Utilities whole;
    for (std::uint64_t group = 0; group < 50; ++group) whole.insert(whole.end(), ends[end].begin(), ends[end].end());
    // Halves of every utility on the first and the last rank.
    Statistic local = empty_utilities(selection);
    for (std::size_t e = 0; e < whole.size(); ++e) {
      const std::int64_t half = whole[e] / 2;
      if (test_ranks().rank() == 0) local.block(0)[e] += half;
      if (test_ranks().rank() + 1 == test_ranks().size()) local.block(0)[e] += whole[e] - half;
    }
    const auto chosen = all_chosen(releaser(selection).select(selection, std::move(local)));
    EXPECT_EQ(chosen, std::vector<std::uint64_t>(50, best[end]));
  }
}

// False alarm: 1e-9.
TEST_F(SelectionOverRanks, HasTheExactProbabilities) {
  constexpr std::uint64_t kGroups = 50'000;
  const PlannedSelection selection = selection_of(1.0, 5, kGroups);
  const Utilities one{4, 0, 7, 5, 4};  // gamma = 1 / 2
  Utilities whole;
  for (std::uint64_t group = 0; group < kGroups; ++group) whole.insert(whole.end(), one.begin(), one.end());
  const Selection chosen = releaser(selection, 3).select(selection, part_of(selection, whole, 1, 1000));
  std::vector<double> counts(one.size());
  for (std::uint64_t group = 0; group < kGroups; ++group) ++counts[chosen.of_group(group)[0]];
  double total = 0;
  for (const std::int64_t utility : one) total += std::exp(0.5 * static_cast<double>(utility));
  double statistic = 0;
  for (std::size_t candidate = 0; candidate < one.size(); ++candidate) {
    const double expected = kGroups * std::exp(0.5 * static_cast<double>(one[candidate])) / total;
    statistic += (counts[candidate] - expected) * (counts[candidate] - expected) / expected;
  }
  EXPECT_LT(statistic, quantile(complement(boost::math::chi_squared(4), 1e-9)));
}

TEST_F(SelectionOverRanks, ARunThatGoesOnTakesTheChoiceThatIsSaved) {
  const PlannedSelection selection = selection_of(0.2, 7, 12);
  const auto file = [&] { return test_ranks().is_coordinator() ? resumed_file(ledger_) : RunFile(); };
  std::vector<std::uint64_t> chosen;
  {
    Releaser selecting = releaser(selection, std::nullopt, std::nullopt, file());
    chosen = all_chosen(selecting.select(selection, part_of(selection, some_utilities(selection), 1, 1000)));
    EXPECT_FALSE(selecting.saved(selection).has_value());
  }
  Releaser resumed = releaser(selection, std::nullopt, std::nullopt, file());
  const std::optional<Selection> saved = resumed.saved(selection);
  ASSERT_TRUE(saved.has_value()) << "on every rank";
  EXPECT_EQ(all_chosen(*saved), chosen);
  EXPECT_EQ(lines(), test_ranks().is_coordinator() ? 1u : 0u);
}

// Expects that an assertion ends every rank. Returns the rank that it is of.
int rank_of_assertion(const std::function<void()>& action) {
  try {
    action();
  } catch (const PeerFailed& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kInternal);
    return failure.rank;
  } catch (const std::logic_error&) {
    return test_ranks().rank();
  }
  ADD_FAILURE() << "no rank may go on";
  return -1;
}

// From here on failures are agreed upon.
TEST_F(SelectionOverRanks, ARankWithAnotherShapeEndsAllBeforeAnythingIsCharged) {
  const PlannedSelection selection = selection_of(0.2, 7, 12);
  const bool is_wrong = test_ranks().rank() + 1 == test_ranks().size();
  Releaser selecting = releaser(selection);
  const int failing = rank_of_assertion([&] {
    selecting.select(selection, is_wrong ? Statistic({{"utilities", 7}}) : empty_utilities(selection));
  });
  EXPECT_EQ(failing, test_ranks().size() - 1);
  EXPECT_EQ(lines(), 0u);
}

TEST_F(SelectionOverRanks, PartsThatAreNotAllCandidatesEndAllBeforeAnythingIsCharged) {
  const PlannedSelection selection = selection_of(0.2, 7, 12);
  const Utilities whole = some_utilities(selection);
  const Part part = columns_of(selection, whole, 1);
  const bool is_last = test_ranks().rank() + 1 == test_ranks().size();
  SecretVector<std::int64_t> fewer(is_last ? 0 : part.utilities.size());
  SecretVector<std::int64_t> torn(part.utilities.size() + (is_last ? 1 : 0));
  const auto failing = [&](std::uint64_t first, const SecretVector<std::int64_t>& utilities) {
    Releaser selecting = releaser(selection);
    return rank_of_assertion([&] { selecting.select_from_parts(selection, first, utilities); });
  };
  const int last = test_ranks().size() - 1;
  EXPECT_EQ(failing(part.first, fewer), 0) << "no rank has all";
  EXPECT_EQ(failing(part.first, torn), last);
  EXPECT_EQ(failing(part.first + (is_last ? 1 : 0), part.utilities), last);
  EXPECT_EQ(lines(), 0u);
}

TEST_F(SelectionOverRanks, SumsThatCouldWrapAroundEndAllBeforeAnythingIsCharged) {
  if (test_ranks().size() == 1) GTEST_SKIP() << "one rank's utilities are their own sum";
  const PlannedSelection selection = selection_of(0.2, 7, 1);
  Statistic local = empty_utilities(selection);
  local.block(0)[3] = kMost / 2 + 2;
  Releaser selecting = releaser(selection);
  expect_end(ExitCode::kBadInput, [&] { selecting.select(selection, std::move(local)); });
  EXPECT_EQ(lines(), 0u);
}

TEST_F(SelectionOverRanks, ARefusedBudgetEndsAllWithExitCodeFour) {
  const PlannedSelection selection = selection_of(0.2, 7, 12);
  const std::string said = expect_end(ExitCode::kBudgetRefused, [&] {
    releaser(selection, std::nullopt, DataSetBudget{0.1, 1e-12});
  });
  if (test_ranks().is_coordinator()) {
    EXPECT_THAT(said, HasSubstr("budget of epsilon 0.1"));
  }
  EXPECT_EQ(lines(), 0u);
}

}  // namespace dpreduce::selection_over_ranks_test
