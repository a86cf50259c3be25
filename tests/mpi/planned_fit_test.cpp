// The plan of a job is decided at rank 0, whatever the other ranks would have decided.
#include "common/base/error.hpp"
#include "common/ranks/rank_archive.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_plan.hpp"
#include "methods/registry.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::planned_fit_test {

constexpr std::size_t kDim = 24;
constexpr std::uint64_t kPublicRows = 300;

FitOptions options_of(const MethodEntry& method, int rank, const TemporaryFolder& folder) {
  FitOptions options = seeded_fit(std::string(method.name), folder);
  options.privacy.budget.mu = 1.0 + rank;
  options.data.max_labels = 1;
  if (method.name == "prototypes") {  // which may become a selection
    options.privacy.budget = {};
    options.privacy.budget.epsilon = 1.0 + rank;
    options.privacy.budget.delta = 1e-6;
  }
  return options;
}

std::string bytes_of(const ResolvedFit& fit) {
  return archived(fit.options()) + archived(fit.plan());
}

TEST(ResolvedFit, OfAJobIsThatOfRank0ForEveryMethod) {
  Communicator& ranks = test_ranks();
  const TemporaryFolder folder;
  for (const MethodEntry* method : all_methods()) {
    SCOPED_TRACE(method->name);
    FitOptions mine = options_of(*method, ranks.rank(), folder);
    FitOptions of_coordinator = options_of(*method, 0, folder);
    mine.privacy.ledger = of_coordinator.privacy.ledger = "ledger.jsonl";
    const auto fit = resolved_for_job(mine, kDim, kPublicRows, std::numeric_limits<std::uint64_t>::max(), ranks);
    const ResolvedFit decided(of_coordinator, kDim, kPublicRows);
    EXPECT_EQ(bytes_of(*fit), bytes_of(decided));
  }
}

TEST(ResolvedFit, KeepsAsManyRowsAsTheRankWithTheLeastMemoryHolds) {
  Communicator& ranks = test_ranks();
  const TemporaryFolder folder;
  const auto bytes_of = [&](int rank) { return std::uint64_t{4} << (30 - (rank == ranks.size() - 1 ? 1 : 0)); };
  const FitOptions options = options_of(*find_method("gd"), 0, folder);
  const auto fit = resolved_for_job(options, kDim, 0, bytes_of(ranks.rank()), ranks);
  EXPECT_EQ(fit->options().machine.memory_mib, (std::uint64_t{2} << 30) >> 21);
}

TEST(ResolvedFit, WhatRank0RefusesEndsAll) {
  Communicator& ranks = test_ranks();
  const TemporaryFolder folder;
  FitOptions mine = seeded_fit("mean", folder);
  if (ranks.is_coordinator()) mine.rows.pca = kDim + 1;  // more than there are
  expect_failure_of<UsageError>(
      0, [&] { resolved_for_job(mine, kDim, 0, std::numeric_limits<std::uint64_t>::max(), ranks); });
}

}  // namespace dpreduce::planned_fit_test
