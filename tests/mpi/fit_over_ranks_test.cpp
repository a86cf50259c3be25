// A fit on rows in memory: each rank has a part of them, and all get the model of one rank that has them all. Its plan
// is decided at rank 0, whatever the other ranks would have decided.
#include "common/model/classifier_file.hpp"
#include "common/ranks/rank_archive.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::fit_over_ranks_test {

// Ranks with even shares of the rows, and one rank with all of them. Returns the model of all ranks.
Classifier expect_the_model_of_one_rank(const FitOptions& options, const FittedRows& rows, const RowsInMemory& whole,
                                        std::optional<std::size_t> memory = std::nullopt) {
  const OwnRows own = own_rows(rows.y.size());
  RowsInMemory part = whole;
  part.train_x = rows.part(own.first, own.end).train_x, part.train_y = rows.part(own.first, own.end).train_y;
  FittedRun over_ranks = fit(options, part, test_ranks(), Accounts::kElsewhere, {.memory_bytes = memory});
  over_ranks.finish();
  EXPECT_EQ(to_bytes(over_ranks.classifier), to_bytes(fitted_run(options, whole).classifier));
  return over_ranks.classifier;
}

TEST(FitOverRanks, GivesTheModelOfOneRank) {
  const FittedRows rows(61, 3);
  const FittedRows other(20, 4);
  for (const std::string method : {"mean", "ls", "gd", "public", "fc"}) {
    SCOPED_TRACE(method);
    const TemporaryFolder folder;
    FitOptions options = seeded_fit(method, folder);
    if (method == "gd") options.method.rounds = 2;
    RowsInMemory whole = rows.all();
    use_others(options, whole, other);
    expect_the_model_of_one_rank(options, rows, whole);
  }
}

// Ranks share eigenvectors of 800 features (three groups), their Gram matrix's noise (five pieces), and regressions of
// 300 classes (three groups), which without noise are the coordinator's.
TEST(FitOverRanks, WhatRanksShareIsThatOfOneRank) {
  const FittedRows rows(61, 6, 800);
  for (const std::string what : {"fc", "ls", "ls without noise"}) {
    SCOPED_TRACE(what);
    const TemporaryFolder folder;
    FitOptions options = seeded_fit(what.substr(0, 2), folder);
    if (what == "fc") options.method.rounds = 2;
    if (what != "fc") options.method.shared_gram = true, options.data.classes = 300;
    if (what == "ls without noise") options.privacy.budget = kWithoutNoise;
    expect_the_model_of_one_rank(options, rows, rows.all());
  }
}

// There are more classes than ranks, and class 3 has no rows. What each solves: tests/cli/reference_test.cpp.
TEST(FitOverRanks, RegressionsByClassAreThoseOfOneRankWithAnyMemory) {
  constexpr std::size_t kDim = 12;
  FittedRows rows(240, 8, kDim);
  for (std::size_t row = 0; row < rows.y.size(); ++row) rows.y[row] = row % 9 == 3 ? 0 : static_cast<int>(row % 9);
  for (const auto& [is_private, alpha] : {std::pair{false, 0.0}, {false, 1.0}, {true, 0.3}}) {
    const TemporaryFolder folder;
    FitOptions options = seeded_fit("ls", folder);
    options.data.classes = 9;
    options.method.alpha = alpha;  // 0: without a Gram matrix of all rows
    if (!is_private) options.privacy.budget = kWithoutNoise;
    for (const std::size_t memory : {1 << 20, 300, 700, 3000}) {
      SCOPED_TRACE(fmt::format("alpha {}, {} bytes", alpha, memory));
      const Classifier model = expect_the_model_of_one_rank(options, rows, rows.all(), memory);
      const std::vector<double> of_none(model.parts().weights.begin() + 3 * kDim,
                                        model.parts().weights.begin() + 4 * kDim);
      EXPECT_EQ(of_none == std::vector<double>(kDim, 0.0), !is_private) << "it scores nothing but noise";
    }
  }
}

constexpr std::size_t kPlannedDim = 24;
constexpr std::uint64_t kPublic = 300;
constexpr std::uint64_t kAnyMemory = std::numeric_limits<std::uint64_t>::max();

FitOptions options_of(const MethodEntry& method, int rank, const TemporaryFolder& folder) {
  FitOptions options = seeded_fit(std::string(method.name), folder);
  options.privacy.budget.mu = 1.0 + rank;
  options.data.max_labels = 1;
  // Prototypes may become a selection.
  if (method.name == "prototypes") options.privacy.budget = {{.epsilon = 1.0 + rank, .delta = 1e-6}};
  return options;
}

std::string bytes_of(const ResolvedFit& fit) {
  return archived(fit.options()) + archived(fit.plan());
}

TEST(ResolvedFit, OfAJobIsThatOfRank0ForEveryMethod) {
  const TemporaryFolder folder;
  for (const MethodEntry* method : all_methods()) {
    SCOPED_TRACE(method->name);
    FitOptions mine = options_of(*method, test_ranks().rank(), folder);
    FitOptions of_coordinator = options_of(*method, 0, folder);
    mine.privacy.ledger = of_coordinator.privacy.ledger = "ledger.jsonl";
    const auto fit = resolved_for_job(mine, kPlannedDim, kPublic, kAnyMemory, test_ranks());
    const ResolvedFit decided(of_coordinator, kPlannedDim, kPublic);
    EXPECT_EQ(bytes_of(*fit), bytes_of(decided));
  }
}

TEST(ResolvedFit, KeepsAsManyRowsAsTheRankWithTheLeastMemoryHolds) {
  const TemporaryFolder folder;
  const auto bytes_of = [&](int rank) { return std::uint64_t{4} << (30 - (rank == test_ranks().size() - 1 ? 1 : 0)); };
  const FitOptions options = options_of(*find_method("gd"), 0, folder);
  const auto fit = resolved_for_job(options, kPlannedDim, 0, bytes_of(test_ranks().rank()), test_ranks());
  EXPECT_EQ(fit->options().machine.memory_mib, (std::uint64_t{2} << 30) >> 21);
}

TEST(ResolvedFit, WhatRank0RefusesEndsAll) {
  const TemporaryFolder folder;
  FitOptions mine = seeded_fit("mean", folder);
  if (test_ranks().is_coordinator()) mine.rows.pca = kPlannedDim + 1;  // more than there are
  expect_failure_of<UsageError>(0, [&] { resolved_for_job(mine, kPlannedDim, 0, kAnyMemory, test_ranks()); });
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
  const std::function<void(FitOptions&)> changes[] = {
      [](auto& options) { options.rows.clip_norm = 2.0, options.rows.normalize = Normalize::kNone; },
      [](auto& options) { options.data.classes = 0; }, [](auto& options) { options.privacy.budget.mu = 100.0; }};
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
