// `audit` as its users see it. That it catches bugs is shown in tests/audit.
#include "tests/cli/program_test.hpp"

namespace dpreduce::audit_test {

class AuditCommandTest : public ProgramTest {
 protected:
  ProgramRun run(const std::string& arguments, int ranks = 0) const override {
    // Half a minute of computing, on a machine that others use.
    return run_with({.ranks = ranks, .timeout_seconds = 240.0}, "audit " + arguments);
  }
};

TEST_F(AuditCommandTest, TellsClaimBoundsAndVerdict) {
  const json report = figures("--method mean --epsilon 2 --delta 1e-5 --metric euclidean --trials 100");
  expect_members(report, {{"method", "mean"},
                          {"adjacency", "add-remove"},
                          {"claimed", {{"epsilon", 2.0}, {"delta", 1e-5}}},
                          {"confidence", 0.999},
                          {"trials", 100},
                          {"refuted", false}});
  EXPECT_NEAR(report["claimed"]["mu"], 0.5013, 1e-3);
  EXPECT_GE(report["epsilon_lower"], 0.0);
  EXPECT_LE(report["epsilon_lower"], 2.0);
  EXPECT_LE(report["mu_lower"], report["claimed"]["mu"]);
  EXPECT_GT(report["seconds"], 0.0);
  EXPECT_EQ(report["pairs"].size(), 2U);
  EXPECT_THAT(run("--method mean --mu 1 --trials 100").out, HasSubstr("the claim stands"));
  EXPECT_THAT(succeed("--help").out,
              AllOf(HasSubstr("Examples:"), HasSubstr("dpreduce audit --method mean --one-run")));
}

TEST_F(AuditCommandTest, RoundsOnSamplesClaimNoMu) {
  const char* options = "--method gd --batch 0.5 --rounds 1 --epsilon 2 --delta 1e-5 --accountant rdp --trials 100";
  const json report = figures(options);
  EXPECT_TRUE(report["claimed"]["mu"].is_null());
  EXPECT_LE(report["epsilon_lower"], 2.0);
  EXPECT_THAT(run(options).out, HasSubstr("mu none"));
}

TEST_F(AuditCommandTest, ChoicesAmongPublicRowsArePure) {
  const std::string options = "--method public --epsilon 1 --trials 100";
  const json report = figures(options);
  expect_members(report, {{"method", "public"}, {"claimed", {{"epsilon", 1.0}, {"delta", 0.0}}}});
  EXPECT_LE(report["epsilon_lower"], 1.0);
  EXPECT_LE(report["mu_lower"], report["claimed"]["mu"]);
  EXPECT_TRUE(report["epsilon_lower_if_gaussian"].is_null());
  EXPECT_THAT(run(options).out, HasSubstr("mu of a mechanism that is mu-GDP"));
}

TEST_F(AuditCommandTest, TakesPrototypesAndWhatTheyAreComparedWith) {
  for (const std::string method :
       {"public --top-k 2 --adjacency replace-one --center public", "public --d-min 1", "prototypes --auto",
        "coinpress", "global-adapt --rounds 1", "auto --objective balanced --rounds 1"}) {
    EXPECT_LE(figures("--trials 100 --mu 1 --method " + method)["mu_lower"], 1.0) << method;
  }
}

TEST_F(AuditCommandTest, HidesCanariesAmongTheUsersRows) {
  write_npy(folder_ / "x.npy", std::vector<float>(60 * 8, 0.25F), 8);
  write_numbers("y.npy", 60, [](std::size_t row) { return row % 3; });
  const std::string audit = "--method mean --one-run --mu 1 ";
  const std::string rows = audit + "--train-x x.npy --train-y y.npy --classes 3 --canaries 200";
  const json report = figures(rows);
  expect_members(report, {{"trials", 1}, {"canaries", 200}, {"refuted", false}});
  EXPECT_LE(report["correct"], report["guesses"]);
  EXPECT_THAT(run(rows).out, HasSubstr("guesses right"));
  EXPECT_EQ(run(audit + "--train-x x.npy --train-y y.npy --classes 2").exit_code, 3);
  EXPECT_EQ(run(audit + "--train-x none.npy --train-y y.npy --classes 3").exit_code, 3);
}

TEST_F(AuditCommandTest, ReducedRowsAreAuditedAsTheyAreReleased) {
  for (const std::string method : {"fisher --select 2", "ls --shared-gram --select 3", "mean --pca 3"}) {
    succeed("--one-run --canaries 200 --mu 1 --method " + method);
  }
  succeed("--trials 100 --mu 1 --method fisher --pca 3 --select 2");
  EXPECT_THAT(run("--one-run --mu 1 --method fc --select 2").err, HasSubstr("releases no class sums"));
}

TEST_F(AuditCommandTest, RefusesWhatItCannotDo) {
  expect_refused("", 2, "no privacy budget");
  expect_refused("--epsilon 1", 2, "needs --delta");
  for (const std::string option : {"--non-private", "--confidence 1", "--confidence 0.2", "--trials 10"}) {
    expect_refused("--mu 1 " + option, 2, option);
  }
  for (const std::string option : {"--canaries 10", "--classes 1"})
    expect_refused("--mu 1 --one-run " + option, 2, option);
  expect_refused("--mu 1 --train-x x.npy --train-y y.npy", 2, "--train-x goes with --one-run");
  expect_refused("--mu 1 --one-run --train-x x.npy", 2, "--train-y is missing");
  expect_refused("--mu 1 --threads 100000", 2, "--threads");
  expect_refused("--mu 1 --trials 1000", 2, "without mpirun", 2);
}

}  // namespace dpreduce::audit_test
