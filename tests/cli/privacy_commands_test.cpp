// dpreduce privacy: calibrate, convert, compose, split, explain against the tables, as JSON and as text, and in time.
#include "common/accounting/gaussian_dp.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/common/accounting/vector_table.hpp"

namespace dpreduce::privacy_commands_test {

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 3 ";

// A figure that a command prints is a column of a table, up to this share of it.
struct OfColumn {
  std::string figure;
  std::string column;
  double tolerance;
};

class PrivacyCommandsTest : public ProgramTest {
 protected:
  ProgramRun run(const std::string& arguments, int ranks = 0) const override {
    return ProgramTest::run("privacy " + arguments, ranks);
  }
  // A report of a fit with these options on 12 rows.
  json report_of(const std::string& options) {
    write_rows(make_rows({4, 4, 4}, 4));
    const ProgramRun fit = ProgramTest::run(kFit + "--report report.json " + options);
    EXPECT_EQ(fit.exit_code, 0) << fit.err;
    return document("report.json");
  }
  std::string explained(const std::string& file = "report.json") const { return succeed("explain " + file).out; }
  // What the line gives with the row's text for each {column}; the figures are those of their columns.
  json figures_of(std::string line, const VectorRow& row, const std::vector<OfColumn>& columns) const {
    for (std::size_t open = 0; (open = line.find('{')) != std::string::npos;) {
      const std::size_t close = line.find('}');
      line.replace(open, close + 1 - open, row.text(line.substr(open + 1, close - open - 1)));
    }
    json found = figures(line);
    for (const OfColumn& one : columns) {
      SCOPED_TRACE(line + ": " + one.figure);
      expect_relative(found[one.figure], row.number(one.column), one.tolerance);
    }
    return found;
  }
};

// What compose says of the noise that calibrate asks for is the budget, for both relations and for steps on samples.
TEST_F(PrivacyCommandsTest, CalibrateMeetsTheBudgetForTheNeighborsAskedFor) {
  const std::string budget = "calibrate --epsilon 1 --delta 1e-6 --sensitivity 3 ";
  for (const std::string adjacency : {"--adjacency add-remove", "--adjacency replace-one"}) {
    const json all = figures(budget + adjacency + " --steps 4");
    EXPECT_EQ("--adjacency " + all["adjacency"].get<std::string>(), adjacency);
    const auto composed = [&](const std::string& kind, const json& calibrated, const std::string& rest) {
      return figures(fmt::format("compose {} {:.17g}{} --delta 1e-6 {}", kind, calibrated["sigma"].get<double>() / 3,
                                 rest, adjacency));
    };
    expect_relative(composed("--gaussian", all, ":4")["epsilon_gdp"], 1.0, 1e-9);
    const json sampled = figures(budget + adjacency + " --steps 20 --sampling-rate 0.1");
    expect_relative(composed("--subsampled", sampled, ":0.1:20")["epsilon_pld"], 1.0, 1e-3);
  }
  expect_relative(figures(budget + "--adjacency replace-one")["sigma"], 2 * figures(budget)["sigma"].get<double>(),
                  1e-14);
  EXPECT_THAT(succeed(budget + "--adjacency replace-one").out,
              HasSubstr("for L2 sensitivity 3 of one record, and an exchange of two"));
  expect_refused("calibrate --epsilon 1 --delta 1e-6 --adjacency replace-one --sampling-rate 0.1 --accountant rdp", 2,
                 "no useful bound for a replaced record");
}

TEST_F(PrivacyCommandsTest, CalibrateDividesTheBudgetAmongSteps) {
  for (const std::string accountant : {"gdp", "zcdp", "rdp", "pld"}) {
    const std::string budget = "calibrate --epsilon 1 --delta 1e-6 --sensitivity 3 --accountant " + accountant;
    const json one = figures(budget);
    const json hundred = figures(budget + " --steps 100");
    expect_relative(hundred["sigma"], 10 * one["sigma"].get<double>(), 1e-14);
    expect_members(hundred, {{"mu", one["mu"]}, {"steps", 100}, {"accountant", accountant}});
  }
}

// A row of each table, all of whose rows are those of tests/common/accounting: options reach what computes, and its
// figures their names.
TEST_F(PrivacyCommandsTest, FiguresAreThoseOfTheTables) {
  const std::vector<OfColumn> of_sigma{{"sigma", "sigma_mpmath", 1e-11},
                                       {"mu", "mu_mpmath", 1e-11},
                                       {"rho", "rho_equiv_mpmath", 1e-11},
                                       {"epsilon", "epsilon", 0},
                                       {"delta", "delta", 0}};
  const auto of_table = [&](const std::string& table, const std::string& line, const std::vector<OfColumn>& columns) {
    return figures_of(line, read_few_vectors(table).at(1), columns);
  };
  of_table("analytic_gaussian_sigma.csv", "calibrate --epsilon {epsilon} --delta {delta}", of_sigma);
  of_table("analytic_gaussian_sigma.csv", "convert --epsilon {epsilon} --delta {delta}", of_sigma);
  const json of_rho = of_table("zcdp_to_eps.csv", "convert --rho {rho} --delta {delta}",
                               {{"epsilon_zcdp_simple", "eps_simple", 1e-13},
                                {"epsilon_zcdp_tight", "eps_tight", 1e-11},
                                {"epsilon_gdp", "eps_gaussian_exact_mu_sqrt2rho", 1e-11},
                                {"rho", "rho", 0}});
  EXPECT_EQ(of_rho["epsilon"], of_rho["epsilon_zcdp_tight"]);
  EXPECT_THAT(of_rho["why"].get<std::string>(), HasSubstr("any zCDP mechanism"));
  const json gaussian =
      of_table("gaussian_composition.csv", "compose --gaussian {noise_multiplier_z}:{k} --delta {delta}",
               {{"mu", "mu_total", 1e-12},
                {"rho", "rho_total", 1e-12},
                {"epsilon_gdp", "eps_exact_gdp_mpmath", 1e-11},
                {"epsilon_zcdp_simple", "eps_zcdp_simple", 1e-12},
                {"epsilon_zcdp_tight", "eps_zcdp_tight", 1e-11},
                {"epsilon_pld", "eps_exact_gdp_mpmath", 1e-4}});
  EXPECT_EQ(gaussian["epsilon"], gaussian["epsilon_gdp"]);
  EXPECT_GE(gaussian["epsilon_rdp"], gaussian["epsilon"]);
  EXPECT_LE(gaussian["epsilon_pld_lower"], gaussian["epsilon_pld"]);
  of_table("exponential_mechanism.csv", "compose --exponential {eps_pure} --delta {delta}",
           {{"rho", "rho_bounded_range_eps2_over_8", 1e-12},
            {"epsilon_zcdp_simple", "eps_at_delta_via_rho_simple", 1e-12},
            {"epsilon_zcdp_tight", "eps_at_delta_via_rho_tight", 1e-11}});
  expect_relative(figures("compose --gaussian 3 --gaussian 5:10 --delta 1e-5")["mu"], std::sqrt(1. / 9 + 10. / 25),
                  1e-12);
  expect_relative(figures("calibrate --mu 0.5 --sensitivity 3", 2)["sigma"], 6.0, 1e-12);
  EXPECT_THAT(succeed("calibrate --rho 0.5").out, HasSubstr("sigma      1 "));
}

TEST_F(PrivacyCommandsTest, SampledStepsHaveNoMuAndTheSmallerOfTwoBounds) {
  const json f = figures("compose --subsampled 2:0.1:10 --delta 1e-5");
  for (const char* key : {"epsilon_gdp", "epsilon_zcdp_tight", "mu"}) EXPECT_TRUE(f[key].is_null()) << key;
  EXPECT_EQ(f["epsilon"], std::min(f["epsilon_pld"].get<double>(), f["epsilon_rdp"].get<double>()));
  const std::string calibration = "calibrate --epsilon 1 --delta 1e-5 --steps 1000 --sampling-rate 0.01";
  const json calibrated = figures(calibration);
  for (const char* key : {"mu", "rho"}) EXPECT_TRUE(calibrated[key].is_null()) << key;
  EXPECT_THAT(succeed(calibration + " --accountant rdp").out, HasSubstr("mu, rho    none"));
}

TEST_F(PrivacyCommandsTest, SplitGivesEachBlockItsShare) {
  const VectorRow row = read_vectors("joint_block_split.csv").front();
  const json f = figures_of("split --epsilon {epsilon} --delta {delta} --block sum:1:768 --block count:1:1", row,
                            {{"mu", "mu", 1e-11}});
  double shares = 0;
  for (const json& block : f["blocks"]) {
    shares += block["share_of_mu2"].get<double>();
    if (block["name"] != row.text("block")) continue;
    expect_relative(block["sigma"], row.number("optimal_sd"), 1e-10);
    expect_relative(block["variance"], row.number("optimal_variance"), 1e-10);
    expect_relative(block["share_of_mu2"], row.number("share_of_mu2"), 1e-10);
  }
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_THAT(succeed("split --block a:3 --mu 0.5").out,
              testing::ContainsRegex("a +6.00000000000001 +36.0000000000001 +1\n"));
}

TEST_F(PrivacyCommandsTest, ConvertOfSigmaAndOfMuAgree) {
  const json of_sigma = figures("convert --sigma 6 --sensitivity 3 --delta 1e-6");
  EXPECT_EQ(of_sigma, figures("convert --mu 0.5 --sensitivity 3 --delta 1e-6"));
  EXPECT_EQ(of_sigma["sigma"], 6);
  EXPECT_EQ(figures("convert --mu 0.5")["delta"], 1e-5);  // where none is given
}

TEST_F(PrivacyCommandsTest, WhatAnAccountantCannotGiveIsNullWithAReason) {
  const json tiny = figures("convert --mu 1e-12 --delta 1e-5");
  for (const char* key : {"epsilon_pld", "epsilon_rdp"}) EXPECT_TRUE(tiny[key].is_null()) << key;
  EXPECT_EQ(tiny["epsilon_gdp"], 0);
  EXPECT_THAT(tiny["not_computed"]["epsilon_pld"].get<std::string>(), HasSubstr("from 0.01"));
  EXPECT_THAT(succeed("convert --mu 1e-12 --delta 1e-5").out, HasSubstr("epsilon_pld         none: "));
  const json huge = figures("compose --gaussian 0.01:10000000 --delta 1e-6");
  for (const char* key : {"epsilon_gdp", "epsilon_zcdp_tight"}) {
    EXPECT_TRUE(huge[key].is_null()) << key;
    EXPECT_TRUE(huge["not_computed"].contains(key)) << key;
  }
}

TEST_F(PrivacyCommandsTest, ExplainTellsThePromiseOfAReport) {
  const json report = report_of("--method mean --epsilon 1 --delta 1e-6 --metric euclidean --center dp");
  const double mu = report["privacy"]["mu"];
  const json f = figures("explain report.json");
  expect_members(f, {{"private", true}, {"epsilon", 1.0}, {"delta", 1e-6}, {"mu", mu}, {"adjacency", "add-remove"}});
  ASSERT_EQ(f["releases"].size(), report["privacy"]["releases"].size());
  for (std::size_t block = 0; block < f["releases"].size(); ++block) {
    for (const char* key : {"name", "release", "sigma", "sensitivity", "coordinates"}) {
      EXPECT_EQ(f["releases"][block][key], report["privacy"]["releases"][block][key]) << key;
    }
  }
  // Phi(Phi^-1(1 %) + mu)
  EXPECT_NEAR(f["attack"]["true_positive_rate"].get<double>(),
              std::erfc((2.3263478740408408 - mu) / std::sqrt(2.0)) / 2, 1e-12);
  EXPECT_EQ(f["attack"]["false_positive_rate"], 0.01);
  for (const int group : {0, 1}) {
    const int records = group == 0 ? 2 : 10;
    const json composed = figures(fmt::format("compose --gaussian {} --delta 1e-6 --group {}", 1 / mu, records));
    EXPECT_EQ(f["groups"][group]["records"], records);
    expect_relative(f["groups"][group]["epsilon"], composed["epsilon_gdp"], 1e-12);
  }
  for (const char* heading : {"guarantee", "attacker", "released", "holds_for", "not_for", "not_covered", "groups"}) {
    EXPECT_FALSE(f["words"][heading].empty()) << heading;
  }
  expect_parts(explained(), {"epsilon 1 at delta 1e-06", "add-remove", "1 % false alarms",
                             "class_sums (class_means): 12", "row_count (center): 1 number,", "the coordinator",
                             "test metrics", "10 records", "1 / (10 n)", "up to 100000 records"});
}

// A pipe gets whole lines.
TEST_F(PrivacyCommandsTest, ExplainIsAsWideAsTheTerminal) {
  report_of("--mu 0.5");
  const std::string shown = fmt::format("stty cols 60; {} privacy explain report.json", program_path());
  std::string words;
  for (std::string one : lines_of(run_in_shell("script -qec '" + shown + "' /dev/null").out)) {
    if (one.ends_with('\r')) one.pop_back();
    EXPECT_LE(one.size(), 60U) << one;
    words += one.substr(std::min<std::size_t>(one.size(), 12)) + " ";
  }
  expect_parts(words, {"anyone who reads the model, the report and the ledger",
                       "an exit code or a missing model reveals that a row was refused"});
  const std::string margin(12, ' ');
  const std::string line = "running times, file sizes, and the memory, swap and disks of the machines that computed it";
  EXPECT_THAT(explained(), HasSubstr(margin + line + "\n"));
}

// Two runs of mu 0.5 are one of mu sqrt(1/2) for who is in both.
TEST_F(PrivacyCommandsTest, ExplainOfALedgerSaysWhatAllItsRunsPromiseTogether) {
  for (int run = 0; run < 2; ++run) report_of("--method mean --mu 0.5 --overwrite");
  const json ledger = figures("explain ledger.jsonl");
  EXPECT_NEAR(ledger["mu"].get<double>(), std::sqrt(0.5), 1e-9);
  EXPECT_NEAR(ledger["epsilon"].get<double>(), gdp_epsilon(std::sqrt(0.5), ledger["delta"].get<double>()), 1e-9);
  EXPECT_NEAR(ledger["attack"]["true_positive_rate"].get<double>(), gdp_attack_power(std::sqrt(0.5), 0.01), 1e-9);
  expect_parts(explained("ledger.jsonl"), {"mu 0.708 (Gaussian DP)", "it covers all runs on the ledger together",
                                           "10 records", "is in the report of each run"});
  report_of("--method mean --mu 1 --seed 3 --ledger seeded.jsonl --overwrite");
  EXPECT_EQ(run("explain seeded.jsonl").exit_code, 3);
}

TEST_F(PrivacyCommandsTest, ExplainOfAModelSaysWhatItPromisesAndWhereTheRestStands) {
  report_of("--method mean --epsilon 1 --delta 1e-6");
  const std::string text = explained("model.safetensors");
  expect_parts(text, {"epsilon 1 at delta 1e-06", "1 % false alarms", "10 records", "privacy explain report.json"});
  EXPECT_THAT(text, Not(HasSubstr("accountant")));
  EXPECT_EQ(figures("explain model.safetensors")["attack"], figures("explain report.json")["attack"]);
}

TEST_F(PrivacyCommandsTest, WordsFollowTheNumbers) {
  report_of("--method mean --epsilon 1 --delta 1e-6");
  expect_parts(explained(), {"the probability of any set of outcomes is at most 2.72 times what it was, plus 1e-06"},
               {"hardly"});
  EXPECT_TRUE(figures("explain report.json")["warning"].is_null());
  json report = report_of("--method mean --epsilon 1e6 --delta 0.1");
  EXPECT_THAT(report["privacy"]["warning"].get<std::string>(), HasSubstr("epsilon 1e+06 is a weak guarantee"));
  expect_parts(explained(),
               {"e^1e+06 times what it was, plus 0.1", "epsilon 1e+06 is a weak guarantee", "0.1 is too large"},
               {"hardly", "is suitable up to"});
  EXPECT_EQ(figures("explain report.json")["warning"], report["privacy"]["warning"]);
  report_of("--method mean --epsilon 1 --delta 1e-6 --adjacency replace-one");
  EXPECT_THAT(explained(), HasSubstr("which of two given ones is in the data"));
}

TEST_F(PrivacyCommandsTest, ExplainSaysWhoAddsTheNoise) {
  json report = report_of("--method mean --epsilon 1 --delta 1e-6");
  EXPECT_THAT(explained(), HasSubstr("the ranks that computed it, including the coordinator: they hold rows"));
  // Expects words under a heading of the report as it is by then.
  const auto expect_words = [&](const char* heading, const testing::Matcher<std::string>& matcher) {
    write_bytes(folder_ / "changed.json", report.dump());
    EXPECT_THAT(figures("explain changed.json")["words"][heading].dump(), matcher);
  };
  report["method"] = "fedavg";
  expect_words("not_for", HasSubstr("each adds noise to its own sums"));
  expect_words("not_covered", Not(HasSubstr("silo's own ledger")));
  report["method"] = "mean";
  json& silos = report["silos"];
  silos = {{"colluding", 0}, {"noise", {{"source", "central"}}}};
  expect_words("not_for", HasSubstr("the coordinator, which adds the noise"));
  expect_words("not_covered", HasSubstr("each silo's own ledger records all runs in which it took part"));
  expect_words("released", Not(HasSubstr("lost")));
  silos["lost"] = json::array();
  expect_words("released", HasSubstr("no silo was lost"));
  silos["lost"] = {{{"name", "silo 3 (west)"}, {"phase", "masked"}, {"reason", "its process has ended"}}};
  expect_words("released",
               HasSubstr("in no sum after that: silo 3 (west) (waiting for masked: its process has ended)"));
  silos.erase("lost");
  silos["noise"]["source"] = "distributed";
  expect_words("holds_for", HasSubstr("the coordinator: each silo adds a share"));
  expect_words("not_for", AllOf(Not(HasSubstr("the coordinator")), HasSubstr("remove its own share of the noise")));
  silos["colluding"] = 2;
  expect_words("holds_for", HasSubstr("together with up to 2 silos"));
}

TEST_F(PrivacyCommandsTest, ABudgetThatPromisesLittleIsSaidOnce) {
  write_rows(make_rows({4, 4, 4}, 4));
  for (const auto& [options, warnings] :
       {std::pair{"--epsilon 20 --delta 9e-4", 0}, std::pair{"--epsilon 20.5 --delta 1e-6", 1},
        std::pair{"--epsilon 1 --delta 1e-3 --dry-run", 1},
        std::pair{"--epsilon 30 --delta 0.01", 1},                // both, in one line
        std::pair{"--mu 4", 1},                                   // epsilon 24 at 1e-5
        std::pair{"--epsilon 1000 --delta 1e-6 --seed 1", 0}}) {  // says that it is not private
    for (const int ranks : {0, 2}) {
      const ProgramRun run = ProgramTest::run(kFit + "--method mean --out model --ledger weak " + options, ranks);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      const auto is_warning = [](const std::string& line) { return line.starts_with("dpreduce: warning: "); };
      EXPECT_EQ(std::ranges::count_if(lines_of(run.err), is_warning), warnings) << options;
    }
  }
}

TEST_F(PrivacyCommandsTest, ExplainSaysWhereThereIsNoGuarantee) {
  report_of("--mu 1 --seed 1");
  EXPECT_THAT(explained(), HasSubstr("none: the noise has a seed"));
  const json seeded = figures("explain report.json");
  EXPECT_EQ(seeded["private"], false);
  for (const char* figure : {"epsilon", "attack"}) EXPECT_TRUE(seeded[figure].is_null()) << figure;
  report_of("--non-private");
  EXPECT_THAT(explained(), HasSubstr("none: no noise was added"));
  EXPECT_TRUE(figures("explain report.json")["epsilon"].is_null());
}

TEST_F(PrivacyCommandsTest, ExplainReadsEveryKindOfFit) {
  for (const std::string options :
       {"--rho 0.1 --adjacency replace-one", "--epsilon 3 --delta 1e-7 --accountant zcdp", "--mu 1e-3", "--mu 50",
        "--method mean --epsilon 1000 --delta 1e-9 --metric euclidean --adjacency replace-one"}) {
    const json report = report_of(options);
    const json f = figures("explain report.json");
    for (const char* key : {"adjacency", "accountant"}) EXPECT_EQ(f[key], report["privacy"][key]) << options;
  }
  write_bytes(folder_ / "plan.json", ProgramTest::run(kFit + "--mu 1 --dry-run --format json").out);
  EXPECT_THAT(explained("plan.json"), HasSubstr("nothing: this is a dry run"));
}

TEST_F(PrivacyCommandsTest, ExplainTellsRoundsOnce) {
  report_of("--mu 1 --rounds 7");
  expect_parts(explained(), {"gradient (gradient/1 to gradient/7): 15 numbers, 7 times, each with",
                             "gram (gram): 10 numbers, each with", "off-diagonal entries"});
}

// Names in a file may come from anybody; what reaches the terminal is plain text.
TEST_F(PrivacyCommandsTest, ExplainPrintsNoControlCharacters) {
  json report = report_of("--mu 1");
  report["privacy"]["releases"][0]["name"] = "a\x1b[2J\x07\x7f\nb" + std::string(1000, 'c');
  write_bytes(folder_ / "strange.json", report.dump());
  const std::string text = explained("strange.json");
  EXPECT_THAT(text, HasSubstr(R"(a\u001b[2J\u0007\u007f\nb)"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  EXPECT_EQ(text.find(std::string(100, 'c')), std::string::npos);
}

TEST_F(PrivacyCommandsTest, RanksPrintOnceWhatOneProcessPrints) {
  report_of("--mu 1");
  for (const std::string command : {"calibrate --epsilon 1 --delta 1e-5 --steps 10", "convert --rho 0.1 --delta 1e-6",
                                    "compose --gaussian 10:50 --exponential 0.1 --delta 1e-6 --format json",
                                    "split --block a:1:5 --block b:2 --mu 1", "explain report.json"}) {
    EXPECT_EQ(succeed(command, 2).out, succeed(command).out) << command;
  }
}

}  // namespace dpreduce::privacy_commands_test
