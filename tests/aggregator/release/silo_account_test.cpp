// What silos charge on ledgers of their own, whatever their coordinator says, and where they refuse. Ledgers that
// cannot be used are looked at by tests/cli/silo_accounts_test.cpp.
#include <mutex>

#include "aggregator/release/charged_run.hpp"
#include "aggregator/release/release.hpp"
#include "aggregator/release/selection_sampler.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "common/ledger/statistic.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/common/silos/silo_communicators.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_account_test {

constexpr std::size_t kAccountElements = 50;
constexpr std::uint64_t kRounds = 3;
constexpr double kDelta = 1e-6;

NoisePlan plan_of(double mu, std::uint64_t squared_sensitivity = 1000U * 1000U) {
  return make_noise_plan(mu, Adjacency::kAddRemove,
                         {{.name = "sums",
                           .share = 1.0,
                           .rounds = kRounds,
                           .blocks = {{"sums", kAccountElements, 1.0}},
                           .profiles = {{"add-remove", {squared_sensitivity}}}}});
}

const SelectionTerms kChoice{.epsilon = 0.5, .sensitivity = 1, .candidates = 4};

NoisePlan plan_of_choice() {
  return with_selections(NoisePlan{.adjacency = Adjacency::kAddRemove}, {{"choice", kChoice}});
}

// How one silo ended.
struct Ended {
  std::string error;
  std::optional<ExitCode> code;  // none: well, or killed
};

class SiloAccountTest : public testing::Test {
 protected:
  std::string ledger(std::uint32_t party) const { return folder_ / ("ledger" + std::to_string(party)); }
  LedgerState state(std::uint32_t party) const { return Ledger::read(ledger(party)); }
  std::vector<LedgerCharge> charges(std::uint32_t party) const { return charges_of(ledger(party)); }
  double charged_mu(std::uint32_t party) const { return spending_of(charges(party), Adjacency::kAddRemove).mu; }

  // On the ledger of silo 2.
  void reserve_another_run(double mu) const {
    RunTerms terms = sample_terms();
    terms.is_private = true;
    Ledger(ledger(2)).reserve(reservation_of(plan_of(mu), "another-run", terms));
  }

  void expect_end(std::uint32_t silo, ExitCode code, const std::string& reason = {}) {
    EXPECT_EQ(ended_[silo].code, code) << silo;
    EXPECT_THAT(ended_[silo].error, HasSubstr(reason)) << silo;
  }

  // Releases of all rounds among these silos; `watch` is told what a silo is about to begin.
  std::string release_all(const SiloTerms& terms, const NoisePlan& plan, std::optional<Fault> fault = std::nullopt) {
    ended_.clear();
    std::mutex endings;
    run_among_silos(terms, fault, [&](std::uint32_t rank, const std::function<Communicator()>& join) {
      Ended ended;
      try {
        Communicator ranks = join();
        if (rank == 0 && liar_) {
          liar_(ranks);
          throw AggregationAborted("the coordinator has lied");
        }
        const auto limit = limits_.find(rank);
        Releaser releaser(ranks, plan, RunFile(),
                          {.ledger_path = ledger(rank),
                           .limit = limit == limits_.end() ? std::nullopt : std::optional(limit->second),
                           .most_mu = rank == 2 ? most_mu_ : std::nullopt},
                          sample_terms(), shares_);
        for (const PlannedSelection& selection : plan.selections) {
          releaser.select(selection, empty_utilities(selection));
        }
        const std::uint64_t rounds = plan.releases.empty() ? 0 : kRounds;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          if (before_round_) before_round_(rank, round, ranks, releaser);
          releaser.release("sums", Statistic({{"sums", kAccountElements}}));
        }
        if (rank != 0) releaser.finish();
        ranks.together([] {});
        if (rank == 0) releaser.finish();
      } catch (const Error& error) {
        ended = {error.what(), error.code()};
      } catch (const std::logic_error& error) {
        ended = {error.what(), ExitCode::kInternal};
      }
      const std::lock_guard lock(endings);
      ended_[rank] = ended;
    });
    return ended_[0].error;
  }

  const TemporaryFolder folder_;
  std::map<std::uint32_t, DataSetBudget> limits_;
  std::optional<double> most_mu_;  // of silo 2
  std::optional<NoiseShares> shares_;
  std::function<void(std::uint32_t rank, std::uint64_t round, Communicator& ranks, Releaser& releaser)> before_round_;
  std::function<void(Communicator& ranks)> liar_;  // in the coordinator's place
  std::map<std::uint32_t, Ended> ended_;
};

TEST_F(SiloAccountTest, EverySiloChargesEveryReleaseUnderANameOfItsOwn) {
  shares_ = NoiseShares{3};
  ASSERT_EQ(release_all({5, 4, 1}, plan_of(1.0)), "");
  std::set<std::string> runs;
  for (std::uint32_t party = 0; party <= 5; ++party) {
    const std::vector<LedgerCharge> charged = charges(party);
    ASSERT_EQ(charged.size(), kRounds);
    EXPECT_NEAR(spending_of(charged, Adjacency::kAddRemove).mu, 1.0, 1e-9);
    const std::string run = run_of(charged[0].entry.release_id);
    EXPECT_TRUE(runs.insert(run).second) << "the coordinator does not name it";
    EXPECT_EQ(state(party).outcome(run), RunOutcome::kFinished);
    EXPECT_EQ(charged[0].entry.terms.silos, (LedgerSilos{.noise = NoiseSource::kDistributed,
                                                         .left = party == 0 ? 5U : 0U,
                                                         .threshold = 4,
                                                         .colluding = 1,
                                                         .silo = party,
                                                         .is_ephemeral = true}));
  }
  ASSERT_EQ(release_all({5, 4, 1}, plan_of(1.0)), "");
  for (std::uint32_t party = 1; party <= 5; ++party) {
    EXPECT_EQ(charges(party).size(), 2 * kRounds);
    EXPECT_NEAR(charged_mu(party), std::sqrt(2.0), 1e-9) << "another run is charged anew";
  }
}

TEST_F(SiloAccountTest, UnderCentralNoiseThePlannedMuIsChargedAndMarkedAndSoIsASelection) {
  ASSERT_EQ(release_all({3, 3, 0}, plan_of(0.5)), "");
  for (std::uint32_t silo = 1; silo <= 3; ++silo) EXPECT_NEAR(charged_mu(silo), 0.5, 1e-9);
  ASSERT_EQ(release_all({3, 3, 0}, plan_of_choice()), "");
  for (std::uint32_t silo = 1; silo <= 3; ++silo) {
    ASSERT_EQ(charges(silo).size(), kRounds + 1);
    EXPECT_EQ(charges(silo)[0].entry.terms.silos->noise, NoiseSource::kCentral);
    EXPECT_EQ(charges(silo)[kRounds].entry.selection, kChoice);
  }
}

// A silo that is lost between a statistic's fingerprint and the statistic would leave its own behind: there is none.
TEST_F(SiloAccountTest, EachReleaseIsOneSum) {
  std::uint64_t begun = 0;
  before_round_ = [&](std::uint32_t rank, std::uint64_t round, Communicator& ranks, Releaser&) {
    if (rank == 0 && round == kRounds) begun = ranks.silos()->coordinator()->costs().at("begin").messages;
  };
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  EXPECT_EQ(begun, 4 * (kRounds - 1));
}

// Silos use what was chosen as a place in a list of theirs.
TEST_F(SiloAccountTest, ACandidateThatIsNoneIsRefused) {
  const NoisePlan plan = plan_of_choice();
  liar_ = [&](Communicator& ranks) {
    ranks.together([] {});  // reservation
    ranks.together([] {});
    Statistic utilities = empty_utilities(plan.selections[0]);
    ranks.together([] {});
    ranks.sum_to_coordinator(utilities.words());
    ranks.together([] {});
    std::vector<std::uint64_t> chosen{4};
    ranks.broadcast(std::as_writable_bytes(std::span(chosen)));
  };
  release_all({3, 3, 0}, plan);
  for (const std::uint32_t silo : {1U, 2U, 3U}) {
    expect_end(silo, ExitCode::kAggregationAborted, "names a candidate outside the 4");
  }
}

// Noise that is larger than planned costs less: shares are never below 4.
TEST_F(SiloAccountTest, WhatItsShareGuaranteesIsCharged) {
  shares_ = NoiseShares{3};
  ASSERT_EQ(release_all({5, 4, 1}, plan_of(2.0, 1)), "");
  EXPECT_NEAR(charged_mu(0), 2.0, 1e-9);
  for (std::uint32_t silo = 1; silo <= 5; ++silo) {
    EXPECT_NEAR(charged_mu(silo), std::sqrt(3.0) / (std::sqrt(3.0) * kSmallestShareSigma), 1e-9);
    EXPECT_NEAR(charges(silo)[0].entry.blocks[0].sigma, std::sqrt(3.0) * kSmallestShareSigma, 1e-9);
  }
}

TEST_F(SiloAccountTest, ASiloWithoutRoomLeavesAloneAndWritesNothing) {
  limits_[2] = {gdp_epsilon(0.99, kDelta), kDelta};
  limits_[3] = {gdp_epsilon(1.01, kDelta), kDelta};
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  expect_end(2, ExitCode::kBudgetRefused, "above the data set's budget");
  EXPECT_THAT(ended_[2].error, HasSubstr(ledger(2)));
  EXPECT_FALSE(std::filesystem::exists(ledger(2)));
  for (const std::uint32_t other : {0U, 1U, 3U, 4U}) {
    EXPECT_EQ(ended_[other].code, std::nullopt) << ended_[other].error;
    EXPECT_EQ(charges(other).size(), kRounds);
  }
  // Silo 3 has no room for another, whatever the coordinator's ledger says.
  std::filesystem::remove(ledger(0));
  EXPECT_THAT(release_all({4, 3, 0}, plan_of(1.0)), HasSubstr("2 of 4 silos are left"));
  expect_end(3, ExitCode::kBudgetRefused);
  EXPECT_EQ(charges(3).size(), kRounds);
  EXPECT_EQ(charges(1).size(), kRounds) << "nothing was released";
  EXPECT_TRUE(state(1).open_runs().empty()) << "what was reserved is given back";
}

// Two runs that a coordinator has with a silo at once do not both count on the same room.
TEST_F(SiloAccountTest, WhatAnotherRunMayStillChargeHasNoRoomForThisOne) {
  limits_[2] = {gdp_epsilon(1.2, kDelta), kDelta};
  reserve_another_run(1.0);
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  expect_end(2, ExitCode::kBudgetRefused, "open runs may still charge 4.89");
  EXPECT_EQ(charges(2).size(), 0U);
}

// Consent is compared before rows are opened; what reserves after that counts all the same.
TEST_F(SiloAccountTest, MuInAllIsLookedAtOnceMoreWhenTheRunIsReserved) {
  most_mu_ = 1.0;
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  EXPECT_EQ(charges(2).size(), kRounds) << ended_[2].error;
  most_mu_ = 2.0;  // 1.42 with both runs, 2.07 with the other one
  before_round_ = [&](std::uint32_t rank, std::uint64_t round, Communicator&, Releaser&) {
    if (rank == 2 && round == 1) reserve_another_run(1.5);
  };
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  expect_end(2, ExitCode::kBudgetRefused, "above the 2 that [consent] allows");
  EXPECT_EQ(charges(2).size(), kRounds);
  EXPECT_EQ(state(2).open_runs().size(), 1U) << "what was reserved is given back";
}

// Charged as its masked words leave, and not before all have agreed on who takes part.
TEST_F(SiloAccountTest, ALostSiloHasChargedWhereItMasked) {
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0), Fault{2, FaultKind::kKill, FrameKind::kConsent, 1}), "");
  EXPECT_EQ(charges(2).size(), 0U);
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0), Fault{3, FaultKind::kKill, FrameKind::kMasked, 1}), "");
  EXPECT_EQ(charges(3).size(), kRounds + 1);
  EXPECT_EQ(charges(1).size(), 2 * kRounds);
  // How many were left is the coordinator's to say, and on its ledger alone.
  EXPECT_EQ(charges(0).back().entry.terms.silos->left, 3U);
  EXPECT_EQ(charges(1).back().entry.terms, charges(1).front().entry.terms);
}

TEST_F(SiloAccountTest, ACoordinatorThatIsLostHasCostWhatWasMasked) {
  release_all({3, 3, 0}, plan_of(1.0), Fault{0, FaultKind::kKill, FrameKind::kDone, 3});
  for (std::uint32_t silo = 1; silo <= 3; ++silo) {
    const std::size_t charged = charges(silo).size();
    EXPECT_GE(charged, 1U);
    EXPECT_LT(charged, kRounds);
    EXPECT_TRUE(state(silo).open_runs().empty());
  }
}

// Its owner may give a run up while it is alive.
TEST_F(SiloAccountTest, ARunThatItsOwnerHasReleasedGetsNothingMoreOfThatSilo) {
  before_round_ = [&](std::uint32_t rank, std::uint64_t round, Communicator&, Releaser& releaser) {
    if (rank == 2 && round == 2) Ledger(ledger(2)).end(releaser.run().run_id(), RunOutcome::kReleased);
  };
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  expect_end(2, ExitCode::kBudgetRefused, "was given up");
  EXPECT_EQ(charges(2).size(), 1U);
  EXPECT_EQ(charges(1).size(), kRounds);
}

TEST_F(SiloAccountTest, NothingOfItsRowsLeavesOutsideOfARelease) {
  before_round_ = [&](std::uint32_t rank, std::uint64_t round, Communicator& ranks, Releaser&) {
    if (round != 2) return;
    std::array<std::uint64_t, 2> words{0, rank == 2 ? 1U : 0U};
    ranks.sum_to_coordinator(words);
  };
  ASSERT_EQ(release_all({4, 3, 0}, plan_of(1.0)), "");
  expect_end(2, ExitCode::kInternal);
  EXPECT_EQ(charges(2).size(), 1U);
  EXPECT_EQ(charges(1).size(), kRounds);
}

}  // namespace dpreduce::silo_account_test
