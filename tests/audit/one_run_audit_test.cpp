#include "audit/one_run_audit.hpp"

#include <gtest/gtest.h>

#include "audit/neighbor_rows.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kAuditClasses = 5;
constexpr std::size_t kAuditDim = 256;
constexpr double kError = 1e-6;  // of each test below

OneRunResult audit(double mu, std::size_t canaries, Adjacency adjacency, Centering center,
                   std::string method_name = "mean", std::uint64_t rows_per_person = 0) {
  FitOptions options;
  options.data.classes = kAuditClasses;
  options.method.name = method_name;
  options.method.shared_gram = true;
  options.rows.normalize = Normalize::kNone;
  options.rows.center = center;
  if (center == Centering::kDp) options.rows.center_share = 0.05;
  options.privacy.budget.mu = mu;
  options.privacy.adjacency = adjacency;
  if (rows_per_person > 0) {
    options.data.rows_per_person = rows_per_person;
    options.data.train.person = {"persons"};
  }
  const AuditedMethod method(options, kAuditDim);
  const PrivateFolder folder;
  LabeledRows rows{kAuditDim, {}, {}, {}};
  std::vector<float> row(kAuditDim, 0.0625F);  // of norm 1
  for (int copy = 0; copy < 50; ++copy) rows.add(row, copy % static_cast<int>(kAuditClasses));
  const WorldRows files = rows.write(folder.path(), "rest");
  return audit_in_one_run(method, files.x, files.y, {.canaries = canaries, .delta = 1e-9, .error = kError}, folder);
}

TEST(OneRunAudit, SeesAlmostEveryCanaryThroughFaintNoise) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const OneRunResult result = audit(100.0, 200, adjacency, Centering::kNone);
    EXPECT_GE(result.guesses.guesses, 100U);
    EXPECT_EQ(result.guesses.correct, result.guesses.guesses);
  }
}

TEST(OneRunAudit, HasWholePersonsAsCanaries) {
  const OneRunResult faint = audit(100.0, 200, Adjacency::kAddRemove, Centering::kNone, "mean", 2);
  EXPECT_EQ(faint.guesses.correct, faint.guesses.guesses);
  const OneRunResult result = audit(3.0, 1000, Adjacency::kReplaceOne, Centering::kNone, "mean", 3);
  EXPECT_GT(result.mu, 0.5);
  EXPECT_LT(result.mu, 3.0);
}

TEST(OneRunAudit, SeesThroughACenter) {
  const OneRunResult result = audit(100.0, 200, Adjacency::kAddRemove, Centering::kDp);
  EXPECT_GE(result.guesses.correct, result.guesses.guesses * 9 / 10);
}

TEST(OneRunAudit, ProvesSomethingButNotMoreThanIsClaimed) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const OneRunResult result = audit(3.0, 1000, adjacency, Centering::kNone);
    EXPECT_GT(result.mu, 0.5);
    EXPECT_LT(result.mu, 3.0);
    EXPECT_GT(result.epsilon, 0.3);
    EXPECT_LT(result.epsilon, 22.0);  // epsilon of mu = 3 at 1e-9 is 22.2
  }
}

TEST(OneRunAudit, ProvesNothingThroughHeavyNoise) {
  EXPECT_LT(audit(1e-3, 1000, Adjacency::kAddRemove, Centering::kNone).epsilon, 5e-3);
}

TEST(OneRunAudit, FindsSumsBesideAGramMatrixAndNoneAmongGradients) {
  const OneRunResult result = audit(100.0, 200, Adjacency::kAddRemove, Centering::kDp, "ls");
  EXPECT_GE(result.guesses.correct, result.guesses.guesses * 9 / 10);
  EXPECT_THROW(audit(1.0, 200, Adjacency::kAddRemove, Centering::kNone, "fc"), UsageError);
}

TEST(OneRunAudit, RefusesASingleCanary) {
  EXPECT_THROW(audit(1.0, 1, Adjacency::kAddRemove, Centering::kNone), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
