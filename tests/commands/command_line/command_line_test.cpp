#include "commands/command_line.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/version.hpp"
#include "tests/commands/parsed_command.hpp"

namespace dpreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> fit_arguments(std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"fit", "--train-x", "x.npy", "--train-y", "y.npy", "--classes", "10"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

FitOptions parse_fit(std::vector<std::string> more = {}) {
  return parsed_fit(fit_arguments(std::move(more)));
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
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--normalize", "l2"}, {"--clip", "1"}, {"--feature-range", "none"}}) {
    EXPECT_FALSE(parse_fit(words).rows.leaves_columns_open()) << words.front();
    EXPECT_FALSE(parse_fit(words).rows.finds_some()) << words.front();
  }
  EXPECT_EQ(parse_fit({"--feature-range", "private"}).rows.finds_ranges, FindRanges::kAlways);
  EXPECT_EQ(parse_fit({"--feature-range=-1,2"}).rows.feature_range, (std::vector<double>{-1.0, 2.0}));
  EXPECT_FALSE(parse_fit({"--feature-range=-1,2"}).rows.finds_some());
}

TEST(CommandLine, AValueThatMayBeLeftOutIsTheNextWordUnlessThatIsAnOption) {
  const auto scores_of = [](const std::vector<std::string>& words) {
    std::optional<std::string> scores;
    CommandEntry root{.name = "program", .help = {}};
    root.options.optional_text("--scores", scores, "");
    std::string out;
    root.options.text("--out", out, "");
    NamedLists lists;
    read_arguments(root, words, lists);
    return scores;
  };
  EXPECT_EQ(scores_of({"--scores", "s.csv", "--out", "o.csv"}), "s.csv");
  EXPECT_EQ(scores_of({"--scores=s.csv", "--out=o.csv"}), "s.csv");
  EXPECT_EQ(scores_of({"--scores", "--out", "o.npy"}), "");
  EXPECT_EQ(scores_of({"--out", "o.npy", "--scores"}), "");
  EXPECT_EQ(scores_of({"--scores", "a.csv", "--scores", "b.csv"}), "b.csv");
  EXPECT_EQ(scores_of({}), std::nullopt);
}

TEST(CommandLine, FitTakesEveryOption) {
  const FitOptions fit =
      parse_fit({"--train-x", "a.npy",    "b.npy",    "--test-x",       "tx.npy",      "--test-y",    "ty.npy",
                 "--method",  "mean",     "--metric", "euclidean",      "--normalize", "none",        "--clip",
                 "2.5",       "--center", "dp",       "--center-share", "0.1",         "--pool",      "4",
                 "--epsilon", "0.5",      "--delta",  "1e-6",           "--adjacency", "replace-one", "--out",
                 "m",         "--report", "r",        "--ledger",       "l",           "--threads",   "3",
                 "--seed",    "7",        "--format", "json",           "--dry-run",   "--bad-rows",  "zero"});
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
}

TEST(CommandLine, NegativeNumbersAreValuesNotOptions) {
  EXPECT_THAT(
      [] {
        parse_fit({"--epsilon", "-1", "--delta", "1e-5"});
      },
      testing::ThrowsMessage<UsageError>(testing::StartsWith("--epsilon = -1: must be a finite number")));
}

// What a command of one result prints with --format json.
nlohmann::json printed_json(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  Communicator alone = Communicator::alone();
  testing::internal::CaptureStdout();
  parsed_command(std::move(words))(alone);
  return parse_json(testing::internal::GetCapturedStdout());
}

TEST(CommandLine, CalibrateAccountsByPldWhereStepsAreSampled) {
  const auto accountant_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"privacy", "calibrate", "--epsilon", "1", "--delta", "1e-5"};
    words.insert(words.end(), more.begin(), more.end());
    return printed_json(words)["accountant"];
  };
  EXPECT_EQ(accountant_of({}), "gdp");
  EXPECT_EQ(accountant_of({"--steps", "10"}), "gdp");
  EXPECT_EQ(accountant_of({"--sampling-rate", "0.1"}), "pld");
  EXPECT_EQ(accountant_of({"--sampling-rate", "0.1", "--accountant", "rdp"}), "rdp");
  EXPECT_EQ(accountant_of({"--sampling-rate", "1", "--accountant", "zcdp"}), "zcdp");
}

TEST(CommandLine, ComposeCollectsTheMechanismsOfAllItsOptions) {
  const nlohmann::json composed = printed_json({"privacy", "compose", "--gaussian", "10:2", "30", "--delta", "1e-6",
                                                "--gaussian", "40", "--subsampled", "50:0.5:6"});
  ASSERT_EQ(composed["mechanisms"].size(), 4U);
  std::uint64_t count = 0;
  for (const nlohmann::json& part : composed["mechanisms"]) count += part["count"].get<std::uint64_t>();
  EXPECT_EQ(count, 2U + 1 + 1 + 6);
  EXPECT_EQ(composed["delta"], 1e-6);
  const nlohmann::json of_group = printed_json(
      {"privacy", "compose", "--gaussian", "10", "--delta", "1e-6", "--group", "2", "--adjacency", "replace-one"});
  EXPECT_EQ(of_group["group"], 2U);
  EXPECT_EQ(of_group["adjacency"], "replace-one");
}

TEST(CommandLine, SplitKeepsTheOrderOfBlocks) {
  const nlohmann::json split = printed_json({"privacy", "split", "--block", "b:1:768", "--mu", "1", "--block", "a:2"});
  ASSERT_EQ(split["blocks"].size(), 2U);
  EXPECT_EQ(split["blocks"][0]["name"], "b");
  EXPECT_EQ(split["blocks"][1]["name"], "a");
  EXPECT_EQ(split["mu"], 1.0);
}

TEST(CommandLine, ExplainTakesTheReportAsAWordOrAnOption) {
  Communicator alone = Communicator::alone();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"privacy", "explain", "/absent/r.json"}, {"privacy", "explain", "--report", "/absent/r.json"}}) {
    EXPECT_THAT([&] { parsed_command(words)(alone); }, testing::ThrowsMessage<BadInput>(HasSubstr("/absent/r.json")));
  }
}

TEST(CommandLine, ExportWantsAModelAndACard) {
  EXPECT_NO_THROW(parsed_command({"export", "m", "--card", "c", "--report", "r"}));
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"export"}, {"export", "--card", "c"}, {"export", "m", "--report", "r"}, {"export", "m", "--out", "o"}}) {
    EXPECT_THROW(parsed_command(words), UsageError);
  }
}

TEST(CommandLine, HelpOfEveryCommandHasExamples) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"fit", "--help"},
                                             {"predict", "-h"},
                                             {"evaluate", "--help"},
                                             {"privacy", "calibrate", "--help"},
                                             {"privacy", "convert", "--help"},
                                             {"privacy", "compose", "--help"},
                                             {"privacy", "split", "--help"},
                                             {"privacy", "explain", "--help"},
                                             {"ledger", "show", "--help"},
                                             {"ledger", "verify", "--help"},
                                             {"export", "--help"},
                                             {"synth", "--help"},
                                             {"inspect", "--help"}}) {
    const std::string text = printed_text(arguments);
    EXPECT_THAT(text, HasSubstr("Examples:")) << arguments.front();
    EXPECT_THAT(text, HasSubstr("dpreduce " + arguments.front()));
  }
  EXPECT_THAT(printed_text({"--help"}), HasSubstr("fit"));
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommandLine, FirstHelpFitsOnOneScreenAndNamesHelpAll) {
  for (const std::string command : {"fit", "audit"}) {
    const std::string text = printed_text({command, "--help"});
    EXPECT_LE(lines_of(text), 45U) << text;
    EXPECT_THAT(text, HasSubstr("dpreduce " + command + " --help-all shows all "));
    EXPECT_EQ(printed_text({command, "-h"}), text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(CommandLine, FirstHelpHasWhatAFirstFitNeeds) {
  const std::string text = printed_text({"fit", "--help"});
  for (const std::string option : {"--train-x", "--train-y", "--classes", "--test-x", "--test-y", "--method",
                                   "--center", "--epsilon", "--delta", "--ledger", "--out", "--report", "--dry-run"}) {
    EXPECT_THAT(text, HasSubstr("\n  " + option)) << option;
  }
  EXPECT_THAT(text, HasSubstr("\nPrivacy:\n"));
  EXPECT_THAT(text, Not(HasSubstr("--silo-timeout")));
}

TEST(CommandLine, HelpAllHasEveryOption) {
  const CommandEntry root = dpreduce_command();
  for (const std::string command : {"fit", "audit", "sweep"}) {
    const std::string text = printed_text({command, "--help-all"});
    for (const std::string& option : root.command(command)->options.long_names()) {
      EXPECT_THAT(text, HasSubstr("  --" + option)) << command;
    }
    EXPECT_THAT(text, HasSubstr("Examples:"));
  }
  EXPECT_THAT(printed_text({"fit", "--help-all"}), HasSubstr("Methods:"));
}

TEST(CommandLine, HelpAllIsHelpWhereHelpLeavesNothingOut) {
  EXPECT_EQ(printed_text({"predict", "--help-all"}), printed_text({"predict", "--help"}));
  EXPECT_EQ(printed_text({"--help-all"}), printed_text({"--help"}));
  EXPECT_THAT(printed_text({"predict", "--help"}), Not(HasSubstr("--help-all")));
}

TEST(CommandLine, FirstOptionsAreOfTheirTable) {
  OptionTable table;
  EXPECT_THROW(table.put_first("--absent", "a line"), std::logic_error);
  EXPECT_FALSE(table.has_first());
}

TEST(CommandLine, VersionIsPrinted) {
  EXPECT_THAT(printed_text({"--version"}), HasSubstr(version()));
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

struct BadCommand {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
};

class BadCommandLine : public testing::TestWithParam<BadCommand> {};

TEST_P(BadCommandLine, IsRefusedInOneLine) {
  try {
    parsed_command(GetParam().arguments);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadCommandLine,
    testing::Values(
        BadCommand{"option_alone", {"--config", "no.toml"}, "--config no.toml: cannot be read"},
        BadCommand{"no_file", {"report"}, "report needs FILE ...: reports of fit or evaluate --private, and ledgers"},
        BadCommand{"pickle", fit_arguments({"--mu", "1", "--out", "a/x.pkl"}), "name it a/x.safetensors"},
        BadCommand{"onnx", fit_arguments({"--mu", "1", "--out", "x.onnx"}), "python3 -m dpreduce onnx"},
        BadCommand{"unknown_command", {"train"}, "'train' is not a command (see dpreduce --help)"},
        BadCommand{"unknown_option", fit_arguments({"--epsilonn", "1"}),
                   "--epsilonn is not an option of fit; did you mean --epsilon?"},
        BadCommand{"no_data", {"fit", "--classes", "3"}, "fit needs --train-x and --train-y ("},
        BadCommand{"no_classes", {"fit", "--train-x", "x", "--train-y", "y"}, "--classes"},
        BadCommand{"one_class", {"fit", "--train-x", "x", "--train-y", "y", "--classes", "1"}, "--classes 1"},
        BadCommand{"negative_classes", {"fit", "--train-x", "x", "--train-y", "y", "--classes", "-3"}, "-3"},
        BadCommand{"method", fit_arguments({"--method", "magic"}), "magic"},
        BadCommand{"normalize", fit_arguments({"--normalize", "l1"}), "l1"},
        BadCommand{"adjacency", fit_arguments({"--adjacency", "both"}), "both"},
        BadCommand{"clip_zero", fit_arguments({"--clip", "0"}), "--clip 0"},
        BadCommand{"clip_nan", fit_arguments({"--clip", "nan"}), "--clip nan"},
        BadCommand{"clip_word", fit_arguments({"--clip", "much"}), "much"},
        BadCommand{"center_share", fit_arguments({"--center-share", "1"}), "--center-share 1"},
        BadCommand{"pool_zero", fit_arguments({"--pool", "0"}), "--pool 0"},
        BadCommand{"test_x_alone", fit_arguments({"--test-x", "t.npy"}), "--test-y is missing"},
        BadCommand{"same_outputs", fit_arguments({"--out", "f", "--report", "f"}), "different files"},
        BadCommand{"seed_word", fit_arguments({"--seed", "soon"}), "soon"},
        BadCommand{"scores_without_out", {"predict", "--model", "m", "--x", "x", "--scores"}, "--scores needs --out"},
        BadCommand{"sensitivity", {"privacy", "calibrate", "--sensitivity", "-1"}, "--sensitivity -1"},
        BadCommand{"no_steps", {"privacy", "calibrate", "--mu", "1", "--steps", "0"}, "--steps 0"},
        BadCommand{"sampling_rate", {"privacy", "calibrate", "--sampling-rate", "1.5"}, "--sampling-rate 1.5"},
        BadCommand{"sampled_mu", {"privacy", "calibrate", "--sampling-rate", "0.5", "--mu", "1"}, "samples have no mu"},
        BadCommand{"sampled_gdp",
                   {"privacy", "calibrate", "--epsilon", "1", "--delta", "1e-5", "--sampling-rate", "0.5",
                    "--accountant", "gdp"},
                   "--accountant gdp: it does not cover sampling"},
        BadCommand{"nothing_to_convert", {"privacy", "convert"}, "nothing to convert"},
        BadCommand{"two_to_convert", {"privacy", "convert", "--sigma", "1", "--mu", "1"}, "--sigma with --mu"},
        BadCommand{"sigma_zero", {"privacy", "convert", "--sigma", "0"}, "--sigma 0"},
        BadCommand{"nothing_to_compose", {"privacy", "compose", "--delta", "1e-5"}, "nothing to compose"},
        BadCommand{"compose_without_delta", {"privacy", "compose", "--gaussian", "1"}, "compose needs --delta"},
        BadCommand{"bad_spec", {"privacy", "compose", "--exponential", "1:x", "--delta", "1e-5"}, "--exponential 1:x"},
        BadCommand{
            "empty_group", {"privacy", "compose", "--gaussian", "1", "--delta", "1e-5", "--group", "0"}, "--group 0"},
        BadCommand{"no_block", {"privacy", "split", "--mu", "1"}, "split needs --block"},
        BadCommand{
            "block_twice", {"privacy", "split", "--mu", "1", "--block", "a:1", "--block", "a:2"}, "occurs twice"},
        BadCommand{"no_report", {"privacy", "explain"}, "explain needs FILE: report of fit or evaluate --private"},
        BadCommand{"nearest_command", {"fitt"}, "did you mean fit?"},
        BadCommand{"nearest_subcommand", {"privacy", "cal"}, "not a command of privacy; did you mean calibrate?"},
        BadCommand{"nearest_option_of_all", {"--versoin"}, "did you mean --version?"},
        BadCommand{"name_of_another_library", {"fit", "--max_iter", "9"}, "use --rounds, the number of steps"},
        BadCommand{"nearest_model_option", {"predict", "--modle", "m"}, "did you mean --model?"},
        BadCommand{"nearest_help", {"fit", "--helpall"}, "did you mean --help-all?"},
        BadCommand{"short_option", fit_arguments({"-x", "3"}), "-x is not an option of fit"},
        BadCommand{"nearest_choice", fit_arguments({"--format", "jsn"}), "did you mean json?"},
        BadCommand{"stray_word", fit_arguments({"--mu", "1", "more"}), "'more' belongs to no option"},
        BadCommand{"option_without_value", fit_arguments({"--mu"}), "--mu needs a value"},
        BadCommand{"inspect_without_classes",
                   {"inspect", "--x", "x.npy", "--y", "y.npy"},
                   "--train-y goes with --classes or --class-names"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace dpreduce
