// A fit on rows in memory: each rank has a part of them, and all get the model of one rank that has them all.
#include <fstream>
#include <random>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace fit_over_ranks_test {

constexpr std::size_t kRows = 61;

// What each rank gives, and one rank that has all of it.
struct Shares {
  FitOptions options;
  RowsInMemory part;
  RowsInMemory whole;
};

Shares shares_of(const std::string& method, const FittedRows& rows, const FittedRows& other,
                 const TemporaryFolder& folder) {
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  Shares shares{seeded_fit(method, folder), rows.part(kRows * rank / size, kRows * (rank + 1) / size), rows.all()};
  if (method == "gd") shares.options.method.rounds = 2;
  if (method == "mean") shares.options.rows.center = Centering::kPublic;
  if (method == "mean" || method == "public") shares.part.public_x = shares.whole.public_x = other.features();
  if (method == "ls") {
    shares.options.method.shared_gram = shares.options.method.choose = true;
    shares.part.validation_x = shares.whole.validation_x = other.features();
    shares.part.validation_y = shares.whole.validation_y = other.labels();
  }
  return shares;
}

TEST(FitOverRanks, GivesTheModelOfOneRank) {
  const FittedRows rows(kRows, 3);
  const FittedRows other(20, 4);
  for (const std::string method : {"mean", "ls", "gd", "public", "fc"}) {
    SCOPED_TRACE(method);
    const TemporaryFolder folder;
    const Shares shares = shares_of(method, rows, other, folder);
    FittedRun over_ranks = fit(shares.options, shares.part, test_ranks(), Accounts::kElsewhere);
    over_ranks.finish();
    Communicator alone = Communicator::alone();
    FittedRun by_one = fit(shares.options, shares.whole, alone, Accounts::kElsewhere);
    by_one.finish();
    EXPECT_EQ(to_bytes(over_ranks.classifier), to_bytes(by_one.classifier));
  }
}

// Ranks share eigenvectors of 800 features (three groups), their Gram matrix's noise (five pieces), and regressions of
// 300 classes (three groups), which without noise are the coordinator's.
TEST(FitOverRanks, WhatRanksShareIsThatOfOneRank) {
  constexpr std::size_t kWide = 800;
  std::mt19937 engine(6);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kWide);
  for (float& entry : x) entry = normal(engine);
  std::vector<std::int64_t> y;
  for (std::size_t row = 0; row < kRows; ++row) y.push_back(static_cast<std::int64_t>(row % FittedRows::kClasses));
  const auto rows = [&](std::size_t first, std::size_t end) -> RowsInMemory {
    return {.train_x = array_view(std::span(x).subspan(first * kWide, (end - first) * kWide), kWide),
            .train_y = array_view(std::span(y).subspan(first, end - first))};
  };
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  for (const std::string what : {"fc", "ls", "ls without noise"}) {
    SCOPED_TRACE(what);
    const TemporaryFolder folder;
    FitOptions options = seeded_fit(what.substr(0, 2), folder);
    if (what == "fc") options.method.rounds = 2;
    if (what != "fc") {
      options.method.shared_gram = true;
      options.data.classes = 300;
    }
    if (what == "ls without noise") {
      options.privacy.budget = {};
      options.privacy.budget.non_private = true;
    }
    FittedRun over_ranks =
        fit(options, rows(kRows * rank / size, kRows * (rank + 1) / size), test_ranks(), Accounts::kElsewhere);
    over_ranks.finish();
    Communicator alone = Communicator::alone();
    FittedRun by_one = fit(options, rows(0, kRows), alone, Accounts::kElsewhere);
    by_one.finish();
    EXPECT_EQ(to_bytes(over_ranks.classifier), to_bytes(by_one.classifier));
  }
}

// What only some ranks were asked for would leave the others waiting, or clip rows by a norm that no noise is made for.
void expect_refused_on_every_rank(const FitOptions& options, const RowsInMemory& rows,
                                  Accounts accounts = Accounts::kElsewhere, TrainingTerms terms = {}) {
  EXPECT_THROW(fit(options, rows, test_ranks(), accounts, std::move(terms)), Error);
  const double rank = test_ranks().rank();
  EXPECT_EQ(test_ranks().max_everywhere(rank), test_ranks().size() - 1.0);  // nobody is somewhere else
  const TemporaryFolder folder;
  fit(seeded_fit("mean", folder), FittedRows(30, 5).all(), test_ranks())
      .finish();  // the next call is as if there were none
}

TEST(FitOverRanksFailure, RowsOfDifferentWidthsAreRefusedOnEveryRank) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  RowsInMemory mine = rows.all();
  const std::vector<std::int64_t> labels(72, 0);
  if (test_ranks().rank() == 0) mine = {.train_x = array_view(rows.x, 5), .train_y = array_view(labels)};
  EXPECT_THROW(fit(seeded_fit("mean", folder), mine, test_ranks(), Accounts::kElsewhere), Error);
}

TEST(FitOverRanksFailure, PublicRowsAreTheSameOnEveryRank) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  const FittedRows other(test_ranks().rank() == 0 ? 20 : 21, 4);
  RowsInMemory mine = rows.all();
  mine.public_x = other.features();
  FitOptions options = seeded_fit("mean", folder);
  options.rows.center = Centering::kPublic;
  EXPECT_THROW(fit(options, mine, test_ranks(), Accounts::kElsewhere), Error);
}

TEST(FitOverRanksFailure, AllRanksMakeTheSameCall) {
  if (test_ranks().size() == 1) return;
  const bool is_last = test_ranks().rank() == test_ranks().size() - 1;
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  const FitOptions options = seeded_fit("mean", folder);
  FitOptions other = options;
  other.rows.clip_norm = 2.0;
  other.rows.normalize = Normalize::kNone;
  expect_refused_on_every_rank(is_last ? other : options, rows.all());
  other = options;
  other.data.classes = 0;
  expect_refused_on_every_rank(is_last ? other : options, rows.all());
  other = options;
  other.privacy.budget.mu = 100.0;
  expect_refused_on_every_rank(is_last ? other : options, rows.all());

  FitOptions centered = options;
  centered.rows.center = Centering::kPublic;
  RowsInMemory mine = rows.all();
  if (!is_last) mine.public_x = rows.features();
  expect_refused_on_every_rank(centered, mine);
}

TEST(FitOverRanksFailure, AccountsAreKeptInOnePlace) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  expect_refused_on_every_rank(seeded_fit("mean", folder), rows.all(),
                               test_ranks().is_coordinator() ? Accounts::kElsewhere : Accounts::kLedger);
}

TEST(FitOverRanksFailure, AnOnlookerOfOneRankEndsTheFitOnAll) {
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  TrainingTerms terms;
  if (test_ranks().rank() == 0) {
    terms.progress = [](std::string_view) -> OnChunk { return [](double) { throw Interrupted("stop"); }; };
  }
  expect_refused_on_every_rank(seeded_fit("gd", folder), rows.all(), Accounts::kElsewhere, terms);
}

TEST(FitOverRanksFailure, ALedgerThatCannotBeEndedIsToldOnEveryRank) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const FittedRows rows(60, 3);
  const FitOptions options = seeded_fit("mean", folder);
  FittedRun run = fit(options, rows.all(), test_ranks());
  if (test_ranks().is_coordinator()) std::ofstream(options.privacy.ledger, std::ios::app) << "damaged\n";
  try {
    run.finish();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kLedgerCorrupt);
  }
}

}  // namespace fit_over_ranks_test
}  // namespace dpreduce
