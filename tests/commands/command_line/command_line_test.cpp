#include "commands/command_line/command_line.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/version.hpp"

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
  return std::get<FitOptions>(parse_command_line(fit_arguments(std::move(more))));
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

TEST(CommandLine, ScoresGoToAFileOfTheirOwnOrInThePlaceOfLabels) {
  const auto predict = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", "--model", "m", "--x", "x.npy"});
    return std::get<PredictOptions>(parse_command_line(more));
  };
  for (const bool is_joined : {false, true}) {
    const PredictOptions options =
        is_joined ? predict({"--scores=s.csv", "--out=o.csv"}) : predict({"--scores", "s.csv", "--out", "o.csv"});
    EXPECT_EQ(options.scores, "s.csv");
    EXPECT_EQ(options.out, "o.csv");
  }
  EXPECT_EQ(predict({"--scores", "--out", "o.npy"}).scores, "");
  EXPECT_EQ(predict({"--out", "o.npy", "--scores"}).scores, "");
  EXPECT_EQ(predict({"--scores", "a.csv", "--scores", "b.csv"}).scores, "b.csv");
  EXPECT_EQ(predict({"--probabilities", "p.npy"}).probabilities, "p.npy");
  EXPECT_EQ(predict({}).scores, std::nullopt);
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

CalibrateOptions parse_calibrate(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"privacy", "calibrate", "--epsilon", "1", "--delta", "1e-5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return std::get<CalibrateOptions>(parse_command_line(arguments));
}

TEST(CommandLine, CalibrateAccountsByPldWhereStepsAreSampled) {
  EXPECT_EQ(parse_calibrate({}).budget.accountant, Accountant::kGdp);
  EXPECT_EQ(parse_calibrate({"--steps", "10"}).budget.accountant, Accountant::kGdp);
  EXPECT_EQ(parse_calibrate({"--steps", "10"}).steps, 10U);
  EXPECT_EQ(parse_calibrate({"--sampling-rate", "0.1"}).budget.accountant, Accountant::kPld);
  EXPECT_EQ(parse_calibrate({"--sampling-rate", "0.1", "--accountant", "rdp"}).budget.accountant, Accountant::kRdp);
  EXPECT_EQ(parse_calibrate({"--sampling-rate", "1", "--accountant", "zcdp"}).budget.accountant, Accountant::kZcdp);
}

TEST(CommandLine, ComposeCollectsTheMechanismsOfAllItsOptions) {
  const auto compose = std::get<ComposeOptions>(
      parse_command_line({"privacy", "compose", "--gaussian", "1:2", "3", "--delta", "1e-6", "--gaussian", "4",
                          "--subsampled", "5:0.5:6", "--group", "2", "--adjacency", "replace-one"}));
  ASSERT_EQ(compose.run.size(), 4U);
  std::uint64_t gaussians = 0;
  for (const MechanismSpec& spec : compose.run) gaussians += spec.kind == MechanismKind::kGaussian ? spec.count : 0;
  EXPECT_EQ(gaussians, 4U);
  EXPECT_EQ(compose.delta, 1e-6);
  EXPECT_EQ(compose.group, 2U);
  EXPECT_EQ(compose.adjacency, Adjacency::kReplaceOne);
}

TEST(CommandLine, SplitKeepsTheOrderOfBlocks) {
  const auto split = std::get<SplitOptions>(
      parse_command_line({"privacy", "split", "--block", "b:1:768", "--mu", "1", "--block", "a:2"}));
  ASSERT_EQ(split.blocks.size(), 2U);
  EXPECT_EQ(split.blocks[0].name, "b");
  EXPECT_EQ(split.blocks[1].name, "a");
  EXPECT_EQ(split.budget.mu, 1.0);
}

TEST(CommandLine, ExplainTakesTheReportAsAWordOrAnOption) {
  EXPECT_EQ(std::get<ExplainOptions>(parse_command_line({"privacy", "explain", "r.json"})).report, "r.json");
  EXPECT_EQ(std::get<ExplainOptions>(parse_command_line({"privacy", "explain", "--report", "r.json"})).report,
            "r.json");
}

TEST(CommandLine, ExportWantsAFormAndWhatGoesWithIt) {
  const auto options = std::get<ExportOptions>(
      parse_command_line({"export", "m", "--onnx", "o", "--onnx-width", "float64", "--card", "c", "--report", "r"}));
  EXPECT_EQ(options, (ExportOptions{.model = "m",
                                    .onnx = "o",
                                    .onnx_width = FloatWidth::kFloat64,
                                    .card = "c",
                                    .report = "r",
                                    .overwrite = false}));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"export", "m"},
                                             {"export", "--onnx", "o"},
                                             {"export", "m", "--card", "c", "--onnx-width", "float64"},
                                             {"export", "m", "--onnx", "o", "--onnx-width", "float16"},
                                             {"export", "m", "--onnx", "o", "--report", "r"},
                                             {"export", "m", "--onnx", "o", "--card", "./o"},
                                             {"ledger", "export", "l"}}) {
    EXPECT_THROW(parse_command_line(arguments), UsageError);
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
                                             {"ledger", "export", "--help"},
                                             {"export", "--help"},
                                             {"synth", "--help"},
                                             {"inspect", "--help"},
                                             {"bench", "gram", "--help"},
                                             {"bench", "noise", "--help"},
                                             {"bench", "reduce", "--help"},
                                             {"bench", "round", "--help"}}) {
    const std::string text = std::get<PrintText>(parse_command_line(arguments)).text;
    EXPECT_THAT(text, HasSubstr("Examples:")) << arguments.front();
    EXPECT_THAT(text, HasSubstr("dpreduce " + arguments.front()));
  }
  EXPECT_THAT(std::get<PrintText>(parse_command_line({"--help"})).text, HasSubstr("fit"));
}

std::string help_of(const std::vector<std::string>& arguments) {
  return std::get<PrintText>(parse_command_line(arguments)).text;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommandLine, FirstHelpFitsOnOneScreenAndNamesHelpAll) {
  for (const std::string command : {"fit", "audit"}) {
    const std::string text = help_of({command, "--help"});
    EXPECT_LE(lines_of(text), 45U) << text;
    EXPECT_THAT(text, HasSubstr("dpreduce " + command + " --help-all shows all "));
    EXPECT_EQ(help_of({command, "-h"}), text);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(CommandLine, FirstHelpHasWhatAFirstFitNeeds) {
  const std::string text = help_of({"fit", "--help"});
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
    const std::string text = help_of({command, "--help-all"});
    for (const std::string& option : root.command(command)->options.long_names()) {
      EXPECT_THAT(text, HasSubstr("  --" + option)) << command;
    }
    EXPECT_THAT(text, HasSubstr("Examples:"));
  }
  EXPECT_THAT(help_of({"fit", "--help-all"}), HasSubstr("Methods:"));
}

TEST(CommandLine, HelpAllIsHelpWhereHelpLeavesNothingOut) {
  EXPECT_EQ(help_of({"predict", "--help-all"}), help_of({"predict", "--help"}));
  EXPECT_EQ(help_of({"--help-all"}), help_of({"--help"}));
  EXPECT_THAT(help_of({"predict", "--help"}), Not(HasSubstr("--help-all")));
}

TEST(CommandLine, FirstOptionsAreOfTheirTable) {
  OptionTable table;
  EXPECT_THROW(table.put_first("--absent", "a line"), std::logic_error);
  EXPECT_FALSE(table.has_first());
}

TEST(CommandLine, VersionIsPrinted) {
  EXPECT_THAT(std::get<PrintText>(parse_command_line({"--version"})).text, HasSubstr(version()));
}

struct BadCommand {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
};

class BadCommandLine : public testing::TestWithParam<BadCommand> {};

TEST_P(BadCommandLine, IsRefusedInOneLine) {
  try {
    parse_command_line(GetParam().arguments);
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
        BadCommand{"nothing", {}, "the command line needs a command: fit, sweep"},
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
        BadCommand{"sampled_mu",
                   {"privacy", "calibrate", "--sampling-rate", "0.5", "--mu", "1"},
                   "steps on samples have no mu"},
        BadCommand{"sampled_gdp",
                   {"privacy", "calibrate", "--epsilon", "1", "--delta", "1e-5", "--sampling-rate", "0.5",
                    "--accountant", "gdp"},
                   "--accountant gdp knows no gain from sampling"},
        BadCommand{"nothing_to_convert", {"privacy", "convert"}, "nothing to convert"},
        BadCommand{"two_to_convert", {"privacy", "convert", "--sigma", "1", "--mu", "1"}, "--sigma goes without"},
        BadCommand{"sigma_zero", {"privacy", "convert", "--sigma", "0"}, "--sigma 0"},
        BadCommand{"nothing_to_compose", {"privacy", "compose", "--delta", "1e-5"}, "nothing to compose"},
        BadCommand{"compose_without_delta", {"privacy", "compose", "--gaussian", "1"}, "compose needs --delta"},
        BadCommand{"bad_spec", {"privacy", "compose", "--laplace", "1:x", "--delta", "1e-5"}, "--laplace 1:x"},
        BadCommand{
            "empty_group", {"privacy", "compose", "--gaussian", "1", "--delta", "1e-5", "--group", "0"}, "--group 0"},
        BadCommand{"no_block", {"privacy", "split", "--mu", "1"}, "split needs --block"},
        BadCommand{
            "block_twice", {"privacy", "split", "--mu", "1", "--block", "a:1", "--block", "a:2"}, "occurs twice"},
        BadCommand{"no_report", {"privacy", "explain"}, "explain needs --report"},
        BadCommand{"nearest_command", {"fitt"}, "did you mean fit?"},
        BadCommand{"nearest_subcommand", {"privacy", "cal"}, "not a command of privacy; did you mean calibrate?"},
        BadCommand{"nearest_option_of_all", {"--versoin"}, "did you mean --version?"},
        BadCommand{"nearest_model_option", {"predict", "--modle", "m"}, "did you mean --model?"},
        BadCommand{"nearest_help", {"fit", "--helpall"}, "did you mean --help-all?"},
        BadCommand{"short_option", fit_arguments({"-x", "3"}), "-x is not an option of fit"},
        BadCommand{"nearest_choice", fit_arguments({"--format", "jsn"}), "did you mean json?"},
        BadCommand{"stray_word", fit_arguments({"--mu", "1", "more"}), "'more' belongs to no option"},
        BadCommand{"option_without_value", fit_arguments({"--mu"}), "--mu needs a value"},
        BadCommand{"inspect_without_classes", {"inspect", "--x", "x.npy", "--y", "y.npy"}, "--train-y needs --classes"},
        BadCommand{"bench_repeats", {"bench", "gram", "--repeats", "0"}, "at least 1"},
        BadCommand{"bench_one_class", {"bench", "round", "--classes", "1"}, "--classes 1"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace dpreduce
