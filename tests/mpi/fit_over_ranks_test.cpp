// A fit on rows in memory: each rank has a part of them, and all get the model of one rank that has them all.
#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::fit_over_ranks_test {

constexpr std::size_t kRows = 61;

// What each rank gives, and one rank that has all of it.
struct Shares {
  FitOptions options;
  RowsInMemory part;
  RowsInMemory whole;
};

Shares shares_of(const std::string& method, const FittedRows& rows, const FittedRows& other,
                 const TemporaryFolder& folder) {
  const OwnRows own = own_rows(kRows);
  Shares shares{seeded_fit(method, folder), rows.part(own.first, own.end), rows.all()};
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

// Ranks with their parts, and one rank with all rows.
void expect_the_model_of_one_rank(const FitOptions& options, const RowsInMemory& part, const RowsInMemory& whole) {
  FittedRun over_ranks = fit(options, part, test_ranks(), Accounts::kElsewhere);
  over_ranks.finish();
  Communicator alone = Communicator::alone();
  FittedRun by_one = fit(options, whole, alone, Accounts::kElsewhere);
  by_one.finish();
  EXPECT_EQ(to_bytes(over_ranks.classifier), to_bytes(by_one.classifier));
}

TEST(FitOverRanks, GivesTheModelOfOneRank) {
  const FittedRows rows(kRows, 3);
  const FittedRows other(20, 4);
  for (const std::string method : {"mean", "ls", "gd", "public", "fc"}) {
    SCOPED_TRACE(method);
    const TemporaryFolder folder;
    const Shares shares = shares_of(method, rows, other, folder);
    expect_the_model_of_one_rank(shares.options, shares.part, shares.whole);
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
  const OwnRows own = own_rows(kRows);
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
    expect_the_model_of_one_rank(options, rows(own.first, own.end), rows(0, kRows));
  }
}

// What only some ranks were asked for would leave the others waiting, or clip rows by a norm that no noise is made for.
void expect_refused_on_every_rank(const FitOptions& options, const RowsInMemory& rows,
                                  Accounts accounts = Accounts::kElsewhere, TrainingTerms terms = {}) {
  EXPECT_THROW(fit(options, rows, test_ranks(), accounts, std::move(terms)), Error);
  const double rank = test_ranks().rank();
  EXPECT_EQ(test_ranks().max_everywhere(rank), test_ranks().size() - 1.0);  // nobody is somewhere else
  const TemporaryFolder folder;                                             // the next call is as if there were none
  fit(seeded_fit("mean", folder), FittedRows(30, 5).all(), test_ranks()).finish();
}

class FitOverRanksFailure : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const FittedRows rows_{60, 3};
  const FitOptions options_ = seeded_fit("mean", folder_);
};

TEST_F(FitOverRanksFailure, RowsOfDifferentWidthsAreRefusedOnEveryRank) {
  if (test_ranks().size() == 1) return;
  RowsInMemory mine = rows_.all();
  const std::vector<std::int64_t> labels(72, 0);
  if (test_ranks().rank() == 0) mine = {.train_x = array_view(rows_.x, 5), .train_y = array_view(labels)};
  EXPECT_THROW(fit(options_, mine, test_ranks(), Accounts::kElsewhere), Error);
}

TEST_F(FitOverRanksFailure, PublicRowsAreTheSameOnEveryRank) {
  if (test_ranks().size() == 1) return;
  const FittedRows other(test_ranks().rank() == 0 ? 20 : 21, 4);
  RowsInMemory mine = rows_.all();
  mine.public_x = other.features();
  FitOptions options = options_;
  options.rows.center = Centering::kPublic;
  EXPECT_THROW(fit(options, mine, test_ranks(), Accounts::kElsewhere), Error);
}

TEST_F(FitOverRanksFailure, AllRanksMakeTheSameCall) {
  if (test_ranks().size() == 1) return;
  const bool is_last = test_ranks().rank() == test_ranks().size() - 1;
  const std::function<void(FitOptions&)> changes[] = {[](FitOptions& options) {
                                                        options.rows.clip_norm = 2.0;
                                                        options.rows.normalize = Normalize::kNone;
                                                      },
                                                      [](FitOptions& options) { options.data.classes = 0; },
                                                      [](FitOptions& options) { options.privacy.budget.mu = 100.0; }};
  for (const auto& change : changes) {
    FitOptions options = options_;
    if (is_last) change(options);
    expect_refused_on_every_rank(options, rows_.all());
  }
  FitOptions centered = options_;
  centered.rows.center = Centering::kPublic;
  RowsInMemory mine = rows_.all();
  if (!is_last) mine.public_x = rows_.features();
  expect_refused_on_every_rank(centered, mine);
}

TEST_F(FitOverRanksFailure, AccountsAreKeptInOnePlace) {
  if (test_ranks().size() == 1) return;
  expect_refused_on_every_rank(options_, rows_.all(),
                               test_ranks().is_coordinator() ? Accounts::kElsewhere : Accounts::kLedger);
}

TEST_F(FitOverRanksFailure, AnOnlookerOfOneRankEndsTheFitOnAll) {
  TrainingTerms terms;
  if (test_ranks().rank() == 0) {
    terms.progress = [](std::string_view) -> OnChunk { return [](double) { throw Interrupted("stop"); }; };
  }
  expect_refused_on_every_rank(seeded_fit("gd", folder_), rows_.all(), Accounts::kElsewhere, terms);
}

TEST_F(FitOverRanksFailure, ALedgerThatCannotBeEndedIsToldOnEveryRank) {
  if (test_ranks().size() == 1) return;
  FittedRun run = fit(options_, rows_.all(), test_ranks());
  if (test_ranks().is_coordinator()) std::ofstream(options_.privacy.ledger, std::ios::app) << "damaged\n";
  expect_end(ExitCode::kLedgerCorrupt, [&] { run.finish(); });
}

}  // namespace dpreduce::fit_over_ranks_test
