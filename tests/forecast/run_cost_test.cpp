#include "forecast/run_cost.hpp"

#include "fit/resolved_fit.hpp"
#include "forecast/prediction_memory.hpp"
#include "methods/training_method.hpp"
#include "persons/identified_rows.hpp"
#include "tests/testing.hpp"
#include "worker/feature_rows.hpp"
#include "worker/kept_chunks.hpp"

namespace dpreduce::run_cost_test {

constexpr std::uint64_t kRows = 40;
constexpr std::size_t kDim = 7;
constexpr std::size_t kClasses = 3;

struct CostedFit {
  FitOptions options;
  FitPlan plan;
};

CostedFit run_of(std::string method, std::size_t classes = kClasses, std::size_t memory_mib = 64,
                 std::uint64_t rounds = 5) {
  FitOptions options;
  options.data.classes = classes;
  options.method.name = method;
  options.method.shared_gram = method == "ls";
  options.rows.center = Centering::kNone;
  options.privacy.budget.mu = 1.0;
  options.machine.memory_mib = memory_mib;
  if (method != "ls" && method != "mean") options.method.rounds = rounds;
  options = resolved(options, kDim);
  return {options, make_fit_plan(options, kDim)};
}

PhaseWork total(const CostedFit& run, const JobShape& job) {
  PhaseWork sum;
  for (const PhaseWork& phase : phases_of(run.options, run.plan, job)) {
    sum.rows_prepared += phase.rows_prepared;
    sum.product_macs += phase.product_macs;
    sum.round_macs += phase.round_macs;
    sum.words_up += phase.words_up;
    sum.words_down += phase.words_down;
  }
  return sum;
}

JobShape job_of(std::uint64_t rows, int ranks = 1) {
  return {rows, rows / static_cast<std::uint64_t>(ranks), ranks, 1};
}

TEST(RunCost, AGramMatrixIsCountedMultiplicationByMultiplication) {
  double counted = 0.0;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    for (std::size_t a = 0; a < kDim; ++a) {
      for (std::size_t b = a; b < kDim; ++b) ++counted;
    }
  }
  EXPECT_EQ(total(run_of("ls"), job_of(kRows)).product_macs, counted);
}

TEST(RunCost, ARoundIsCountedMultiplicationByMultiplication) {
  double counted = 0.0;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t a = 0; a < kDim + 1; ++a) counted += 2.0;  // scores, gradient; an intercept
    }
  }
  EXPECT_EQ(total(run_of("adam", kClasses, 64, 1), job_of(kRows)).round_macs, counted);
  EXPECT_EQ(total(run_of("adam", kClasses, 64, 11), job_of(kRows)).round_macs, 11.0 * counted);
}

// By ranks beside those of one rank: words up and down.
std::pair<double, double> words_of_sharing(const CostedFit& run) {
  const PhaseWork alone = total(run, job_of(kRows));
  const PhaseWork shared = total(run, job_of(kRows, 2));
  return {shared.words_up - alone.words_up, shared.words_down - alone.words_down};
}

TEST(RunCost, WhatRanksShareCostsWords) {
  constexpr double kMany = 193.0;  // classes: one more than what a rank makes at once
  constexpr double kSquare = kDim * kDim;
  EXPECT_EQ(words_of_sharing(run_of("fc")), (std::pair{1.5 * kSquare, 1.5 * kSquare}));
  EXPECT_EQ(words_of_sharing(run_of("ls")), (std::pair{0.0, 0.0}));
  EXPECT_EQ(words_of_sharing(run_of("ls", 193)),
            (std::pair{kMany * kDim + 0.5 * kSquare, 2.0 * kMany * kDim + 1.5 * kSquare}));
}

TEST(RunCost, LocalStepsOfSilosCostProductsButNoMessages) {
  const CostedFit run = run_of("fedavg");  // 5 rounds of 5 steps
  const PhaseWork work = total(run, job_of(kRows, 4));
  const PhaseWork descent = total(run_of("gd", kClasses, 64, 25), job_of(kRows, 4));
  EXPECT_EQ(work.round_macs, descent.round_macs);
  EXPECT_EQ(work.words_up, 5.0 * kClasses * (kDim + 1));
  EXPECT_EQ(work.words_down, 5.0 * kClasses * (kDim + 1));
  EXPECT_EQ(descent.words_up, 25.0 * kClasses * (kDim + 1));
}

TEST(RunCost, ClassGramMatricesCostTheSameForAnyNumberOfClasses) {
  const auto macs = [](std::size_t classes) {
    CostedFit run = run_of("ls", classes);
    run.options.method.shared_gram = false;
    run.plan = make_fit_plan(run.options, kDim);
    return total(run, job_of(kRows)).product_macs;
  };
  EXPECT_EQ(macs(3), macs(30));
  // Of classes and of all rows, and two digests of 8 lanes.
  EXPECT_EQ(macs(3), static_cast<double>(kRows * (2 * kDim * (kDim + 1) / 2 + 2 * 8 * kDim)));
}

TEST(RunCost, MeansCostNoProducts) {
  const PhaseWork sum = total(run_of("mean"), job_of(kRows));
  EXPECT_EQ(sum.product_macs, 0.0);
  EXPECT_EQ(sum.rows_prepared, static_cast<double>(kRows));
}

// Prototypes among `candidates` public rows; clipped cosines are compared pair by pair.
CostedFit run_of_prototypes(std::uint64_t candidates, bool clipped, std::size_t memory_mib = 64) {
  CostedFit run = run_of("mean", kClasses, memory_mib);
  run.options.method.name = "public";
  if (clipped) run.options.method.d_min = 1.0;
  run.plan = make_fit_plan(run.options, kDim, candidates);
  return run;
}

TEST(RunCost, UtilitiesAreAProductWithTwoDigitsOfClassSumsThatRanksShare) {
  for (const int ranks : {1, 3}) {
    const PhaseWork work = total(run_of_prototypes(50, false), job_of(kRows, ranks));
    EXPECT_EQ(work.product_macs, 2.0 * kClasses * 50 * kDim);
    EXPECT_EQ(work.rows_prepared, kRows + 50.0);
    EXPECT_EQ(work.words_up, kClasses * (50.0 + kDim));
  }
  CostedFit among_silos = run_of_prototypes(50, false);
  among_silos.options.silos.secure_aggregation = true;
  EXPECT_EQ(total(among_silos, job_of(kRows, 3)).product_macs, 3 * 2.0 * kClasses * 50 * kDim);
  EXPECT_EQ(total(among_silos, job_of(kRows, 3)).words_up, kClasses * 50.0);
}

TEST(RunCost, ClippedUtilitiesMultiplyAllPairsOnceOverAllRanks) {
  for (const int ranks : {1, 2}) {
    EXPECT_EQ(total(run_of_prototypes(50, true), job_of(kRows, ranks)).product_macs, kRows * 50.0 * kDim);
  }
  // A MiB holds half a MiB of rows of 2 d + 4 bytes: public rows are read again for the others.
  const std::uint64_t at_once = (std::uint64_t{1} << 19) / (2 * kDim + 4);
  const CostedFit small = run_of_prototypes(50, true, 1);
  EXPECT_EQ(total(small, job_of(at_once)).rows_prepared, static_cast<double>(at_once) + 50.0);
  EXPECT_EQ(total(small, job_of(at_once + 1)).rows_prepared, static_cast<double>(at_once) + 1.0 + 2.0 * 50.0);
}

// A mean of many classes takes little; test rows are scored for all of them.
TEST(RunCost, MemoryHoldsTestRows) {
  constexpr std::size_t kManyClasses = 20'000;
  CostedFit run = run_of("mean", kManyClasses);
  run.options.machine.threads = 1;
  const std::uint64_t training = memory_of_rank(run.options, run.plan, 10);
  run.options.data.test.x = {"t.npy"};
  const std::uint64_t tested = memory_of_rank(run.options, run.plan, 10);
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
  EXPECT_EQ(memory_of_rank(many.options, many.plan, kRows) - memory_of_rank(few.options, few.plan, kRows),
            20'000 * kClasses * sizeof(std::int64_t));
  // Of four ranks the coordinator holds a quarter, and one class's of all.
  const CostedFit clipped = run_of_prototypes(30'000, true);
  EXPECT_EQ(memory_of_rank(many.options, many.plan, kRows, 1) - memory_of_rank(many.options, many.plan, kRows, 4),
            (30'000 * kClasses - 7'501 * kClasses - 30'000) * sizeof(std::int64_t));
  EXPECT_EQ(memory_of_rank(clipped.options, clipped.plan, kRows, 4),
            memory_of_rank(clipped.options, clipped.plan, kRows, 1));
}

TEST(RunCost, ARoundSendsAGradientUpAndWeightsOnTheLatticeDown) {
  const PhaseWork sum = total(run_of("adam"), job_of(kRows));
  EXPECT_EQ(sum.words_up, 5.0 * kClasses * (kDim + 1));
  EXPECT_EQ(sum.words_down, sum.words_up / 4.0);
}

TEST(RunCost, RowsAreReadOnceWhereTheyFitAndEveryRoundWhereTheyDoNot) {
  const std::uint64_t most = most_kept_rows(std::size_t{1} << 20, kDim, kDim + 1, 1, false);
  const CostedFit run = run_of("adam", kClasses, 1);
  EXPECT_EQ(total(run, job_of(most)).rows_prepared, static_cast<double>(most));
  EXPECT_EQ(total(run, job_of(most + 1)).rows_prepared, 5.0 * static_cast<double>(most + 1));
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
  const std::uint64_t records = memory_of_rank(run.options, run.plan, kRows);
  CostedFit of_persons = run;
  of_persons.options.data.train.person = {"p.npy"};
  const auto with_persons = [&](std::uint64_t rows) {
    return memory_of_rank(of_persons.options, of_persons.plan, rows);
  };
  EXPECT_GE(with_persons(kRows), records + kRows * kBytesOfRowWeight);
  EXPECT_GE(with_persons(std::uint64_t{1} << 30), kMostBytesToIdentify << 30);
  of_persons.plan.requests.back().clips_units = true;
  run.options.data.classes = of_persons.options.data.classes = 1000;  // scores of rows take more than identifiers
  EXPECT_GE(with_persons(kRows),
            memory_of_rank(run.options, run.plan, kRows) + kRows * (kBytesOfRowWeight + kBytesOfRowPerson));
}

TEST(RunCost, MemoryGrowsWithTheRowsOfARankUpToWhatIsAllowed) {
  const CostedFit run = run_of("adam", kClasses, 4);
  const std::uint64_t few = memory_of_rank(run.options, run.plan, 5'000);
  EXPECT_EQ(memory_of_rank(run.options, run.plan, 6'000) - few, 1'000 * bytes_per_kept_row(kDim + 1, 1, false));
  std::uint64_t largest = 0;
  for (std::uint64_t rows = 1; rows < (std::uint64_t{1} << 40); rows *= 2) {
    largest = std::max(largest, memory_of_rank(run.options, run.plan, rows));
  }
  const std::uint64_t without_rows = memory_of_rank(run.options, run.plan, 0);
  EXPECT_GT(largest, few);
  EXPECT_LE(largest, without_rows + (std::uint64_t{4} << 20) + 4096 * kClasses * 10);
}

}  // namespace dpreduce::run_cost_test
