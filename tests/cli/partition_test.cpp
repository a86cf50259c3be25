// Simulated federations: partitions of one data set, and what trains on them.
#include "tests/cli/program_test.hpp"

namespace dpreduce::partition_test {

constexpr int kSilos = 3;

class PartitionTest : public ProgramTest {
 protected:
  PartitionTest() { write_rows(make_rows({90, 60, 30}, 6)); }
  json partition(const std::string& out, const std::string& scheme) {
    return figures(fmt::format("{}--first-silo 0 --seed 4 --out {} --scheme {}", cut_, out, scheme));
  }
  // Of silos in the folder `silos`, one a rank.
  json fit(const std::string& silos, const std::string& options) {
    const std::string paths = "fit --train-x " + silos + "/silo{rank}/x.npy --train-y " + silos + "/silo{rank}/y.npy";
    return figures(paths + " --classes 3 " + options, kSilos);
  }

  const std::string cut_ = "synth partition --x x.npy --y y.npy --classes 3 --silos 3 ";
};

// Whose rows these are: tests/common/data/silo_files_test.cpp and silo_assignment_test.cpp.
TEST_F(PartitionTest, APartitionTellsTheClassesOfEachSilo) {
  for (const std::string scheme : {"iid", "dirichlet --alpha 0.3", "classes --classes-per-silo 1", "quantity --alpha 1",
                                   "feature-shift --rotation 20 --offset 0.1"}) {
    const json summary = partition(scheme.substr(0, 3), scheme);
    ASSERT_EQ(summary["silos"].size(), 3u);
    for (const json& silo : summary["silos"]) {
      const auto counts = silo["class_counts"].get<std::vector<std::uint64_t>>();
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), silo["rows"].get<std::uint64_t>());
      EXPECT_TRUE(has(silo["x"].get<std::string>()));
    }
  }
}

TEST_F(PartitionTest, TheSameSeedGivesTheSameBytesAloneAndOnRanks) {
  const std::string cut = cut_ + "--scheme dirichlet --alpha 1 ";
  EXPECT_EQ(lines_of(succeed(cut + "--seed 2 --out alone").out).size(), 6u);
  succeed(cut + "--seed 2 --out ranks", 2);
  succeed(cut + "--seed 3 --out other");
  bool differs = false;
  for (const std::string name : {"/silo1/x.npy", "/silo2/x.npy", "/silo3/y.npy"}) {
    EXPECT_EQ(bytes("alone" + name), bytes("ranks" + name));
    differs = differs || bytes("alone" + name) != bytes("other" + name);
  }
  EXPECT_TRUE(differs);
}

TEST_F(PartitionTest, FilesOfEitherFormatAndOfSeveralShardsAreOneDataSet) {
  const TrainingRows rows = make_rows({90, 60, 30}, 6);
  write_hdf5(rows, folder_ / "data.h5");
  write_rows(rows.part(0, 50), "x_0.npy", "y_0.npy");
  write_rows(rows.part(50, 130), "x_1.npy", "y_1.npy");
  const std::string cut = "synth partition --classes 3 --silos 2 --scheme quantity --alpha 1 ";
  succeed(cut + "--x x.npy --y y.npy --out plain");
  succeed(cut + "--x data.h5:/x --y data.h5:/y --out hdf5");
  succeed(cut + "--x x_0.npy --x x_1.npy --y y_0.npy --y y_1.npy --out shards");
  for (const std::string name : {"/silo1/x.npy", "/silo1/y.npy", "/silo2/x.npy", "/silo2/y.npy"}) {
    for (const std::string way : {"hdf5", "shards"}) EXPECT_EQ(bytes("plain" + name), bytes(way + name)) << way;
  }
}

TEST_F(PartitionTest, FederatedAveragingChargesOneGradientAStepAndRepeatsItself) {
  partition("even", "iid");
  const std::string fedavg = "--method fedavg --mu 4 --rounds 4 --local-steps 3 --seed 6 --out ";
  const json report = fit("even", fedavg + "first --report report.json");
  expect_members(report, {{"method", "fedavg"}, {"rounds", 4}, {"local_steps", 3}, {"ranks", kSilos}});
  ASSERT_EQ(report["privacy"]["releases"].size(), 12u);
  EXPECT_EQ(report["privacy"]["releases"][11]["release"], "gradient/12");
  EXPECT_EQ(charges_in(bytes("ledger.jsonl")).size(), 12u);
  succeed("ledger verify ledger.jsonl");
  EXPECT_THAT(succeed("privacy explain report.json").out, HasSubstr("gradient/1 to gradient/12"));
  fit("even", fedavg + "second");
  EXPECT_TRUE(bytes("first") == bytes("second"));
}

TEST_F(PartitionTest, AnAuditOfFederatedAveragingDoesNotRefuteIt) {
  const json audit = figures("audit --method fedavg --rounds 1 --local-steps 2 --mu 6 --trials 300");
  EXPECT_FALSE(audit["refuted"].get<bool>());
  EXPECT_GT(audit["mu_lower"].get<double>(), 0.5);  // it sees something, where there is something to see
}

// One numbering: from 1, as --secure-aggregation counts, or from 0 where it is asked for.
TEST_F(PartitionTest, APartitionIsNumberedForTheRunThatReadsIt) {
  const std::string cut = cut_ + "--seed 4 --out ";
  const std::string train = " --classes 3 --mu 1 --out model --ledger ledger";
  const auto fit_of = [&](const std::string& folder) {
    return "fit --train-x " + folder + "/silo{rank}/x.npy --train-y " + folder + "/silo{rank}/y.npy" + train;
  };
  succeed(cut + "from_one");
  succeed(cut + "from_zero --first-silo 0");
  EXPECT_FALSE(has("from_one/silo0"));
  succeed(fit_of("from_one") + " --secure-aggregation", 4);
  succeed(fit_of("from_zero"), 3);
  const auto expect_unread = [&](const std::string& line, int ranks, const Strings& said) {
    const ProgramRun refused = expect_code(line, 3, ranks);
    expect_parts(refused.err, said);
    const Strings told = messages_in(refused.err);  // each silo at its own terminal, which is one here
    EXPECT_EQ(std::set(told.begin(), told.end()).size(), 1U) << refused.err;
  };
  expect_unread(fit_of("from_zero") + " --secure-aggregation", 3,
                {"from_zero/silo0/x.npy: no rank would read it: {rank} is 1 to 2 here", "--first-silo 1"});
  expect_unread(fit_of("from_zero") + " --secure-aggregation", 4, {"from_zero/silo0/x.npy: no rank would read it"});
  expect_unread(fit_of("from_one"), 3,
                {"from_one/silo3/x.npy: no rank would read it: {rank} is 0 to 2 here", "--first-silo 0"});
  expect_unread(fit_of("from_zero"), 0, {"from_zero/silo1/x.npy: no rank would read it"});
}

}  // namespace dpreduce::partition_test
