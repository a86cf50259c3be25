// What is spent never depends on what was released. Of two data sets one has directions that are longer than others, so
// that fc trains in rounds and releases a Gram matrix, and the other has none, so that it trains by class means and
// makes no Gram matrix: their ledgers say the same.
#include "tests/cli/program_test.hpp"

namespace dpreduce::planned_charges_test {

constexpr std::size_t kRows = 500;
constexpr std::size_t kDim = 32;
constexpr std::size_t kLong = 3;  // directions of the uneven set that are longer
constexpr std::size_t kParts = 3;

class PlannedChargesTest : public ProgramTest {
 protected:
  PlannedChargesTest() {
    for (const bool is_even : {true, false}) {
      const std::string name = is_even ? "even" : "uneven";
      TrainingRows rows{.dim = kDim, .features = {}, .labels = {}};
      std::mt19937_64 engine(7);
      std::normal_distribution<float> normal;
      for (std::size_t row = 0; row < kRows; ++row) {
        rows.labels.push_back(static_cast<std::int64_t>(row % 3));
        for (std::size_t e = 0; e < kDim; ++e) {
          rows.features.push_back(normal(engine) * (!is_even && e < kLong ? 8.0F : 1.0F));
        }
      }
      write_rows(rows, name + "_x.npy", name + "_y.npy");
      write_silos(rows, std::vector<std::size_t>(kParts, kRows / kParts), name + "_");
    }
  }
  static std::string fit(const std::string& set, const std::string& part) {
    return fmt::format(
        "fit --train-x {0}_x{1}.npy --train-y {0}_y{1}.npy --classes 3 --method fc --center dp --center-share 0.02 "
        "--isotropy-share 0.8 --gram-share 0.9 --rounds 2 --mu 0.68 --threads 1 --out {0}.safetensors --report "
        "{0}.json --overwrite ",
        set, part);
  }
  // Name, mu and blocks of each charge of a ledger.
  std::vector<json> charges(const std::string& ledger) const {
    std::vector<json> all;
    const json releases = figures("ledger show " + ledger)["releases"];
    for (const json& release : releases) {
      const std::string id = release["release"];
      all.push_back({id.substr(id.find('/') + 1), release["mu"], release["blocks"]});
    }
    return all;
  }
  void expect_branches() const {
    const json even = document("even.json");
    const json uneven = document("uneven.json");
    EXPECT_EQ(even["choice"]["setting"], "class means");
    EXPECT_EQ(uneven["choice"]["setting"], "rounds");
    for (const char* figure : {"epsilon", "delta", "mu", "rho"}) {
      EXPECT_EQ(even["privacy"][figure], uneven["privacy"][figure]) << figure;
    }
    EXPECT_EQ(even["ledger"]["spent"], uneven["ledger"]["spent"]);
  }
};

TEST_F(PlannedChargesTest, OfBothBranchesTheLedgerSaysTheSame) {
  for (const int ranks : {0, 3}) {
    for (const char* set : {"even", "uneven"}) {
      succeed(fit(set, "") + fmt::format("--ledger {}{}.jsonl --metrics {}.metrics --quiet", set, ranks, set), ranks);
    }
    expect_branches();
    const std::vector<json> charged = charges(fmt::format("even{}.jsonl", ranks));
    EXPECT_EQ(charged, charges(fmt::format("uneven{}.jsonl", ranks))) << "what is spent follows from what was released";
    EXPECT_EQ(charged.size(), 6U);
    EXPECT_NEAR(figures(fmt::format("ledger show even{}.jsonl", ranks))["mu"].get<double>(), 0.68, 1e-9);
    // The Gram matrix has no line, but the round after it says what is spent.
    std::map<std::string, std::vector<json>> spent;
    for (const std::string set : {"even", "uneven"}) {
      for (const json& line : documents(set + ".metrics")) {
        if (line["phase"] == "gradient") spent[set].push_back(line["spent"]);
      }
    }
    EXPECT_EQ(spent["even"].size(), 2U);
    EXPECT_EQ(spent["even"], spent["uneven"]);
  }
}

TEST_F(PlannedChargesTest, SoDoesTheLedgerOfEachSilo) {
  for (const std::string noise : {"central", "distributed"}) {
    std::map<std::string, std::vector<std::vector<json>>> of_parties;
    for (const std::string set : {"even", "uneven"}) {
      run_among(kParts,
                fmt::format("{} --secure-aggregation --silo-timeout 20 --quiet --noise {} --ledger {}_{}{{rank}}.jsonl",
                            fit(set, "{rank}"), noise, set, noise),
                0);
      for (std::size_t party = 0; party <= kParts; ++party) {
        of_parties[set].push_back(charges(fmt::format("{}_{}{}.jsonl", set, noise, party)));
      }
    }
    expect_branches();
    EXPECT_THAT(of_parties["even"], testing::Each(testing::SizeIs(6)));
    EXPECT_EQ(of_parties["even"], of_parties["uneven"]);
  }
}

TEST_F(PlannedChargesTest, WhatHasRoomAfterwardsIsTheSame) {
  for (const char* set : {"even", "uneven"}) {
    const std::string budget = fmt::format("--ledger {}.jsonl --budget-epsilon 3 --budget-delta 1e-5 --quiet ", set);
    succeed(fit(set, "") + budget);
    const std::string further = fmt::format("fit --train-x {0}_x.npy --train-y {0}_y.npy --classes 3 ", set) + budget;
    expect_refused(further + "--method gd --rounds 1 --batch 0.001 --epsilon 2.55 --delta 1e-5 --out sampled", 4,
                   "budget of epsilon 3");
    succeed(further + "--method mean --mu 0.22 --overwrite");
  }
  expect_branches();
}

}  // namespace dpreduce::planned_charges_test
