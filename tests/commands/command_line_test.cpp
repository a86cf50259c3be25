#include "commands/command_line.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/version.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/testing.hpp"

namespace dpreduce::command_line_test {

FitOptions parse_fit(const std::string& more = "") {
  return parsed_fit(words_in("fit --train-x x.npy --train-y y.npy --classes 10 " + more));
}

TEST(CommandLine, FitHasTheContractsDefaults) {
  const FitOptions fit = parse_fit();
  EXPECT_THAT(fit.data.train.x, ElementsAre("x.npy"));
  EXPECT_THAT(fit.data.train.y, ElementsAre("y.npy"));
  EXPECT_EQ(fit.data.classes, 10U);
  EXPECT_EQ(fit.method.name, "auto");
  EXPECT_EQ(fit.rows.normalize, Normalize::kL2);
  EXPECT_EQ(fit.rows.clip_norm, 1.0);
  EXPECT_FALSE(fit.rows.center.has_value());
  EXPECT_EQ(fit.privacy.adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(fit.output.out, "model.safetensors");
  EXPECT_FALSE(fit.privacy.seed.has_value());
  EXPECT_FALSE(fit.output.dry_run);
}

TEST(CommandLine, WhatIsSaidOfLengthsAndRangesIsTakenAsSaid) {
  EXPECT_TRUE(parse_fit().rows.leaves_columns_open());
  for (const char* said : {"--normalize l2", "--clip 1", "--feature-range none"}) {
    EXPECT_FALSE(parse_fit(said).rows.leaves_columns_open()) << said;
    EXPECT_FALSE(parse_fit(said).rows.finds_some()) << said;
  }
  EXPECT_EQ(parse_fit("--feature-range private").rows.finds_ranges, FindRanges::kAlways);
  EXPECT_THAT(parse_fit("--feature-range=-1,2").rows.feature_range, ElementsAre(-1.0, 2.0));
  EXPECT_FALSE(parse_fit("--feature-range=-1,2").rows.finds_some());
}

TEST(CommandLine, AValueThatMayBeLeftOutIsTheNextWordUnlessThatIsAnOption) {
  const auto scores_of = [](const std::string& words) {
    std::optional<std::string> scores;
    CommandEntry root{.name = "program", .help = {}};
    root.options.optional_text("--scores", scores, "");
    std::string out;
    root.options.text("--out", out, "");
    NamedLists lists;
    read_arguments(root, words_in(words), lists);
    return scores;
  };
  EXPECT_EQ(scores_of("--scores s.csv --out o.csv"), "s.csv");
  EXPECT_EQ(scores_of("--scores=s.csv --out=o.csv"), "s.csv");
  EXPECT_EQ(scores_of("--scores --out o.npy"), "");
  EXPECT_EQ(scores_of("--out o.npy --scores"), "");
  EXPECT_EQ(scores_of("--scores a.csv --scores b.csv"), "b.csv");
  EXPECT_EQ(scores_of(""), std::nullopt);
}

TEST(CommandLine, FitTakesEveryOptionAndNegativeNumbersAsValues) {
  const FitOptions fit = parse_fit(
      "--train-x a.npy b.npy --test-x tx.npy --test-y ty.npy --method mean --metric euclidean --normalize none "
      "--clip 2.5 --center dp --center-share 0.1 --pool 4 --epsilon 0.5 --delta 1e-6 --adjacency replace-one --out m "
      "--report r --ledger l --threads 3 --seed 7 --format json --dry-run --bad-rows zero");
  EXPECT_THAT(fit.data.train.x, ElementsAre("x.npy", "a.npy", "b.npy"));
  EXPECT_EQ(fit.method.metric, Metric::kEuclidean);
  EXPECT_EQ(fit.rows.normalize, Normalize::kNone);
  EXPECT_EQ(fit.rows.clip_norm, 2.5);
  EXPECT_EQ(fit.rows.center, Centering::kDp);
  EXPECT_EQ(fit.rows.pool, 4U);
  EXPECT_EQ(fit.privacy.budget.epsilon, 0.5);
  EXPECT_EQ(fit.privacy.budget.delta, 1e-6);
  EXPECT_EQ(fit.privacy.adjacency, Adjacency::kReplaceOne);
  EXPECT_EQ(fit.privacy.seed, 7U);
  EXPECT_EQ(fit.output.format, OutputFormat::kJson);
  EXPECT_TRUE(fit.output.dry_run);
  EXPECT_EQ(fit.data.train.bad_rows, BadRows::kZero);
  EXPECT_EQ(fit.data.test.bad_rows, BadRows::kZero);
  EXPECT_THAT(refusal<UsageError>([] { parse_fit("--epsilon -1 --delta 1e-5"); }),
              StartsWith("--epsilon = -1: must be a finite number"));
}

// What a command of one result prints with --format json.
nlohmann::json printed_json(const std::string& words) {
  Communicator alone = Communicator::alone();
  testing::internal::CaptureStdout();
  parsed_command(words_in(words + " --format json"))(alone);
  return parse_json(testing::internal::GetCapturedStdout());
}

TEST(CommandLine, CalibrateAccountsByPldWhereStepsAreSampled) {
  const auto accountant_of = [](const std::string& more) {
    return printed_json("privacy calibrate --epsilon 1 --delta 1e-5 " + more)["accountant"];
  };
  EXPECT_EQ(accountant_of(""), "gdp");
  EXPECT_EQ(accountant_of("--steps 10"), "gdp");
  EXPECT_EQ(accountant_of("--sampling-rate 0.1"), "pld");
  EXPECT_EQ(accountant_of("--sampling-rate 0.1 --accountant rdp"), "rdp");
  EXPECT_EQ(accountant_of("--sampling-rate 1 --accountant zcdp"), "zcdp");
}

TEST(CommandLine, ComposeCollectsTheMechanismsOfAllItsOptionsAndSplitKeepsTheOrderOfBlocks) {
  const nlohmann::json composed =
      printed_json("privacy compose --gaussian 10:2 30 --delta 1e-6 --gaussian 40 --subsampled 50:0.5:6");
  std::vector<int> counts;
  for (const nlohmann::json& part : composed["mechanisms"]) counts.push_back(part["count"]);
  EXPECT_THAT(counts, testing::UnorderedElementsAre(2, 1, 1, 6));
  EXPECT_EQ(composed["delta"], 1e-6);
  const nlohmann::json of_group =
      printed_json("privacy compose --gaussian 10 --delta 1e-6 --group 2 --adjacency replace-one");
  EXPECT_EQ(of_group["group"], 2U);
  EXPECT_EQ(of_group["adjacency"], "replace-one");
  const nlohmann::json split = printed_json("privacy split --block b:1:768 --mu 1 --block a:2");
  ASSERT_EQ(split["blocks"].size(), 2U);
  EXPECT_EQ(split["blocks"][0]["name"], "b");
  EXPECT_EQ(split["blocks"][1]["name"], "a");
  EXPECT_EQ(split["mu"], 1.0);
}

TEST(CommandLine, ExplainTakesTheReportAsAWordOrAnOption) {
  Communicator alone = Communicator::alone();
  for (const char* words : {"privacy explain /absent/r.json", "privacy explain --report /absent/r.json"}) {
    EXPECT_THAT(refusal<BadInput>([&] { parsed_command(words_in(words))(alone); }), HasSubstr("/absent/r.json"));
  }
}

TEST(CommandLine, ExportWantsAModelAndACard) {
  EXPECT_NO_THROW(parsed_command(words_in("export m --card c --report r")));
  for (const char* words : {"export", "export --card c", "export m --report r", "export m --out o"}) {
    EXPECT_THROW(parsed_command(words_in(words)), UsageError) << words;
  }
}

TEST(CommandLine, HelpOfEveryCommandHasExamples) {
  for (const std::string command :
       {"fit", "predict", "evaluate", "privacy calibrate", "privacy convert", "privacy compose", "privacy split",
        "privacy explain", "ledger show", "ledger verify", "export", "synth", "inspect"}) {
    const std::string text = printed_text(words_in(command + (command == "predict" ? " -h" : " --help")));
    EXPECT_THAT(text, AllOf(HasSubstr("Examples:"), HasSubstr("dpreduce " + command.substr(0, command.find(' ')))))
        << command;
  }
  EXPECT_THAT(printed_text({"--help"}), HasSubstr("fit"));
  EXPECT_THAT(printed_text({"--version"}), HasSubstr(version()));
}

TEST(CommandLine, FirstHelpFitsOnOneScreenAndNamesHelpAll) {
  for (const std::string command : {"fit", "audit"}) {
    const std::string text = printed_text({command, "--help"});
    EXPECT_LE(std::ranges::count(text, '\n'), 45) << text;
    EXPECT_THAT(text, HasSubstr("dpreduce " + command + " --help-all shows all "));
    EXPECT_EQ(printed_text({command, "-h"}), text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(CommandLine, FirstHelpHasWhatAFirstFitNeedsOfItsTable) {
  const std::string text = printed_text({"fit", "--help"});
  for (const std::string option : {"--train-x", "--train-y", "--classes", "--test-x", "--test-y", "--method",
                                   "--center", "--epsilon", "--delta", "--ledger", "--out", "--report", "--dry-run"}) {
    EXPECT_THAT(text, HasSubstr("\n  " + option)) << option;
  }
  EXPECT_THAT(text, HasSubstr("\nPrivacy:\n"));
  EXPECT_THAT(text, Not(HasSubstr("--silo-timeout")));
  OptionTable table;
  EXPECT_THROW(table.put_first("--absent", "a line"), std::logic_error);
  EXPECT_FALSE(table.has_first());
}

TEST(CommandLine, HelpAllHasEveryOptionAndIsHelpWhereThatLeavesNothingOut) {
  const CommandEntry root = dpreduce_command();
  for (const std::string command : {"fit", "audit", "sweep"}) {
    const std::string text = printed_text({command, "--help-all"});
    for (const std::string& option : root.command(command)->options.long_names()) {
      EXPECT_THAT(text, HasSubstr("  --" + option)) << command;
    }
    EXPECT_THAT(text, HasSubstr("Examples:"));
  }
  EXPECT_THAT(printed_text({"fit", "--help-all"}), HasSubstr("Methods:"));
  EXPECT_EQ(printed_text({"predict", "--help-all"}), printed_text({"predict", "--help"}));
  EXPECT_EQ(printed_text({"--help-all"}), printed_text({"--help"}));
  EXPECT_THAT(printed_text({"predict", "--help"}), Not(HasSubstr("--help-all")));
}

TEST(CommandLine, HelpAndVersionAreCommandsToo) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(with_help_as_option({"help"}), Words{"--help"});
  EXPECT_EQ(with_help_as_option({"help", "ledger", "show"}), (Words{"ledger", "show", "--help"}));
  EXPECT_EQ(with_help_as_option({"version"}), Words{"--version"});
  EXPECT_EQ(with_help_as_option({"fit", "--out", "help"}), (Words{"fit", "--out", "help"}));
  EXPECT_EQ(with_help_as_option({}), Words{});
}

TEST(CommandLine, NothingPrintsHelpAndIsRefused) {
  Communicator alone = Communicator::alone();
  testing::internal::CaptureStdout();
  EXPECT_THROW(parsed_command({})(alone), UsageError);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), printed_text({"--help"}));
}

}  // namespace dpreduce::command_line_test
