#include "fit/run_cost.hpp"

#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "tests/testing.hpp"
#include "worker/identified_rows.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce::run_cost_test {

constexpr std::uint64_t kRows = 40;
constexpr std::size_t kDim = 7;
constexpr std::size_t kClasses = 3;

struct CostedFit {
  FitOptions options;
  FitPlan plan;
};

CostedFit run_of(const std::string& method, std::size_t classes = kClasses, std::size_t memory_mib = 64) {
  FitOptions options;
  options.data.classes = classes;
  options.method.name = method;
  options.method.shared_gram = method == "ls";
  options.rows.center = Centering::kNone;
  options.privacy.budget.mu = 1.0;
  options.machine.memory_mib = memory_mib;
  if (method != "ls" && method != "mean") options.method.rounds = 5;
  options = resolved(options, kDim);
  return {options, make_fit_plan(options, kDim)};
}

double words(const CostedFit& run, int ranks = 1) {
  return words_of_rank(run.options, run.plan, ranks);
}

std::uint64_t memory(const CostedFit& run, std::uint64_t rows, int ranks = 1) {
  return memory_of_rank(run.options, run.plan, rows, ranks);
}

// Of two ranks beside those of one rank.
double words_of_sharing(const CostedFit& run) {
  return words(run, 2) - words(run);
}

TEST(RunCost, WhatRanksShareCostsWords) {
  constexpr double kMany = 193.0;  // classes: one more than what a rank makes at once
  constexpr double kSquare = kDim * kDim;
  EXPECT_EQ(words_of_sharing(run_of("fc")), 3.0 * kSquare);
  EXPECT_EQ(words_of_sharing(run_of("ls")), 0.0);
  EXPECT_EQ(words_of_sharing(run_of("ls", 193)), 3.0 * kMany * kDim + 2.0 * kSquare);
}

TEST(RunCost, LocalStepsOfSilosCostNoMessages) {
  EXPECT_EQ(words(run_of("fedavg"), 4), 2.0 * 5.0 * kClasses * (kDim + 1)) << "5 rounds of 5 steps";
}

// Prototypes among `candidates` public rows; clipped cosines are compared pair by pair.
CostedFit run_of_prototypes(std::uint64_t candidates, bool clipped) {
  CostedFit run = run_of("mean");
  run.options.method.name = "public";
  if (clipped) run.options.method.d_min = 1.0;
  run.plan = make_fit_plan(run.options, kDim, candidates);
  return run;
}

TEST(RunCost, UtilitiesAreSentAndClassSumsWhereRanksShareThePublicRows) {
  constexpr double kModel = kClasses * (kDim + 1);
  CostedFit run = run_of_prototypes(50, false);
  EXPECT_EQ(words(run, 3), kClasses * (50.0 + 2.0 * kDim) + kModel);
  run.options.silos.secure_aggregation = true;
  EXPECT_EQ(words(run, 3), kClasses * 50.0 + kModel);
  EXPECT_EQ(words(run_of_prototypes(50, true), 3), kClasses * 50.0 + kModel);
}

// A mean of many classes takes little; test rows are scored for all of them.
TEST(RunCost, MemoryHoldsTestRows) {
  constexpr std::size_t kManyClasses = 20'000;
  CostedFit run = run_of("mean", kManyClasses);
  run.options.machine.threads = 1;
  const std::uint64_t training = memory(run, 10);
  run.options.data.test.x = {"t.npy"};
  const std::uint64_t tested = memory(run, 10);
  EXPECT_GT(tested, training);
  EXPECT_LE(memory_of_test(run.options, run.plan), tested);
  const std::uint64_t model = 2 * sizeof(double) * kManyClasses * (kDim + 1);
  EXPECT_LE(tested, training + kPredictionMemory + 2 * model + 1000 * kManyClasses)
      << "linear in the number of classes";
  EXPECT_EQ(rows_predicted_at_once(kDim, 10, 1), 4096u);
  const TestedModel known{.input_dim = kDim, .dim = run.plan.dim, .classes = kManyClasses};
  EXPECT_EQ(memory_of_test(known), memory_of_test(run.options, run.plan));
  EXPECT_LE(rows_predicted_at_once(kDim, kManyClasses, kManyClasses) * kManyClasses * 12, kPredictionMemory);
  EXPECT_EQ(rows_predicted_at_once(1, std::size_t{1} << 24, 1), 1u);
}

TEST(RunCost, MemoryOfPrototypesGrowsWithTheUtilities) {
  const CostedFit few = run_of_prototypes(10'000, false);
  const CostedFit many = run_of_prototypes(30'000, false);
  EXPECT_EQ(memory(many, kRows) - memory(few, kRows), 20'000 * kClasses * sizeof(std::int64_t));
  // Of four ranks the coordinator holds a quarter, and one class's of all.
  const CostedFit clipped = run_of_prototypes(30'000, true);
  EXPECT_EQ(memory(many, kRows, 1) - memory(many, kRows, 4),
            (30'000 * kClasses - 7'501 * kClasses - 30'000) * sizeof(std::int64_t));
  EXPECT_EQ(memory(clipped, kRows, 4), memory(clipped, kRows, 1));
}

TEST(RunCost, ARoundSendsAGradientUpAndWeightsOnTheLatticeDown) {
  EXPECT_EQ(words(run_of("adam")), 5.0 * kClasses * (kDim + 1) * (1.0 + 1.0 / 4.0));
}

// Rows that are clipped by person are kept with person and weight, and with inner products of their persons.
TEST(RunCost, FewerRowsAreKeptByPerson) {
  constexpr std::size_t kMemory = std::size_t{1} << 20;
  constexpr std::size_t kOfPerson = 8 + 4 * 65 / 2 + 8;
  EXPECT_EQ(bytes_per_kept_row(kDim + 1, 1, true), bytes_per_kept_row(kDim + 1, 1, false) + kOfPerson);
  EXPECT_LT(most_kept_rows(kMemory, kDim, kDim + 1, 1, true), most_kept_rows(kMemory, kDim, kDim + 1, 1, false));
}

// Identifiers are read before rows, so that either of the two decides.
TEST(RunCost, MemoryHoldsIdentifiersAndThenPersons) {
  CostedFit run = run_of("adam");
  const std::uint64_t records = memory(run, kRows);
  CostedFit of_persons = run;
  of_persons.options.data.train.person = {"p.npy"};
  EXPECT_GE(memory(of_persons, kRows), records + kRows * kBytesOfRowWeight);
  EXPECT_GE(memory(of_persons, std::uint64_t{1} << 30), kMostBytesToIdentify << 30);
  of_persons.plan.requests.back().clips_units = true;
  run.options.data.classes = of_persons.options.data.classes = 1000;  // scores of rows take more than identifiers
  EXPECT_GE(memory(of_persons, kRows), memory(run, kRows) + kRows * (kBytesOfRowWeight + kBytesOfRowPerson));
}

TEST(RunCost, MemoryGrowsWithTheRowsOfARankUpToWhatIsAllowed) {
  const CostedFit run = run_of("adam", kClasses, 4);
  const std::uint64_t few = memory(run, 5'000);
  EXPECT_EQ(memory(run, 6'000) - few, 1'000 * bytes_per_kept_row(kDim + 1, 1, false));
  std::uint64_t largest = 0;
  for (std::uint64_t rows = 1; rows < (std::uint64_t{1} << 40); rows *= 2) {
    largest = std::max(largest, memory(run, rows));
  }
  const std::uint64_t without_rows = memory(run, 0);
  EXPECT_GT(largest, few);
  EXPECT_LE(largest, without_rows + (std::uint64_t{4} << 20) + 4096 * kClasses * 10);
}

}  // namespace dpreduce::run_cost_test
