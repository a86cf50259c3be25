// What is wrong with words alone, whatever the data: told in one line before anything is opened.
#include "common/base/error.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/testing.hpp"

namespace dpreduce::refused_arguments_test {

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 10 ";
const std::string kGoodFit = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 ";
const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";

struct RefusedArguments {
  std::string name;
  std::string arguments;
  std::string says;
};

class ArgumentsAlone : public testing::TestWithParam<RefusedArguments> {};

TEST_P(ArgumentsAlone, AreRefusedInOneLine) {
  const std::string said = refusal<UsageError>([] { parsed_command(words_in(GetParam().arguments)); });
  EXPECT_THAT(said, HasSubstr(GetParam().says));
  EXPECT_THAT(said, Not(HasSubstr("\n")));
}

std::vector<RefusedArguments> refused_arguments() {
  return {
      {"ClassesNegative", kGoodFit + "--classes -3", "-3: must not be negative"},
      {"OneRunAuditOfPrototypes", "audit --one-run --method public --epsilon 1 --delta 1e-5",
       "--one-run with --method public: it releases no class sums"},
      {"SelectByUnknown", kGoodFit + "--select 2 --select-by luck", "distance|t"},
      {"AuditOfAPublicCenter", "audit --method mean --center public --mu 1", "--public-x"},
      {"UnknownAccountant", kGoodFit + "--accountant tax", "must be one of gdp|zcdp|rdp|pld"},
      {"AlphaAWord", kGoodFit + "--method ls --alpha much", "must be a number or auto"},
      {"UnknownIterate", kGoodFit + "--method gd --iterate best", "last|average"},
      {"UnknownLoss", kGoodFit + "--method fc --loss hinge", "softmax|sigmoid|square"},
      {"UnknownAdjacency", kGoodFit + "--adjacency swap", "must be one of add-remove|replace-one"},
      {"UnknownMethod", kFit + "--method magic", "magic"},
      {"UnknownCommand", "train", "'train' is not a command (see dpreduce --help)"},
      {"UnknownOption", kFit + "--epsilonn 1", "--epsilonn is not an option of fit; did you mean --epsilon?"},
      {"ShortOption", kFit + "-x 3", "-x is not an option of fit"},
      {"StrayWord", kFit + "--mu 1 more", "'more' belongs to no option"},
      {"OptionWithoutValue", kFit + "--mu", "--mu needs a value"},
      {"ConfigAlone", "--config no.toml", "--config no.toml: cannot be read"},
      {"NearestCommand", "fitt", "did you mean fit?"},
      {"NearestSubcommand", "privacy cal", "not a command of privacy; did you mean calibrate?"},
      {"NearestOptionOfAll", "--versoin", "did you mean --version?"},
      {"NearestOptionOfPredict", "predict --modle m", "did you mean --model?"},
      {"NearestHelp", "fit --helpall", "did you mean --help-all?"},
      {"NearestChoice", kFit + "--format jsn", "did you mean json?"},
      {"NameOfAnotherLibrary", "fit --max_iter 9", "use --rounds, the number of steps"},
      {"FitWithoutRows", "fit --classes 3", "fit needs --train-x and --train-y ("},
      {"FitWithoutClasses", "fit --train-x x --train-y y", "--classes"},
      {"ClipNan", kFit + "--clip nan", "--clip nan"},
      {"ClipAWord", kFit + "--clip much", "much"},
      {"SeedAWord", kFit + "--seed soon", "soon"},
      {"CenterShareOfAll", kFit + "--center-share 1", "--center-share 1"},
      {"SameOutputs", kFit + "--out f --report f", "different files"},
      {"ModelAsPickle", kFit + "--mu 1 --out a/x.pkl", "name it a/x.safetensors"},
      {"ModelAsOnnx", kFit + "--mu 1 --out x.onnx", "python3 -m dpreduce onnx"},
      {"InspectWithoutClasses", "inspect --x x.npy --y y.npy", "--train-y goes with --classes or --class-names"},
      {"ReportWithoutFile", "report", "report needs FILE ...: reports of fit or evaluate --private, and ledgers"},
      {"ScoresWithoutOut", "predict --model m --x x --scores", "--scores needs --out"},
      {"SetsWithoutOut", "predict --model m --x x.npy --sets", "--sets needs --out"},
      {"SetsAndScores", "predict --model m --x x.npy --out o --sets --scores", "cannot share one file"},
      {"TopOfNone", "predict --model m --x x.npy --top-k 0", "--top-k 0: must be"},
      {"ThresholdOfLabels", "predict --model m --x x.npy --threshold 0.5", "--threshold goes with --sets"},
      {"ThresholdThatIsNone", "evaluate --model m --x x.npy --y y.npy --threshold nan",
       "--threshold nan: must be a finite number"},
      {"EvaluateTopOfNone", "evaluate --model m --x x.npy --y y.npy --top-k 0", "--top-k 0"},
      {"PrivacyWithoutCommand", "privacy", "privacy needs a command: calibrate"},
      {"SensitivityNegative", "privacy calibrate --sensitivity -1", "--sensitivity -1"},
      {"CalibrateNoSteps", "privacy calibrate --mu 1 --steps 0", "--steps 0"},
      {"SamplingRateAboveOne", "privacy calibrate --sampling-rate 1.5", "--sampling-rate 1.5"},
      {"CalibrateSampledByMu", "privacy calibrate --sampling-rate 0.5 --mu 1", "samples have no mu"},
      {"CalibrateSampledByGdp", "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.5 --accountant gdp",
       "--accountant gdp: it does not cover sampling"},
      {"CalibrateSampledByZcdp", "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.1 --accountant zcdp",
       "--accountant zcdp: it does not cover sampling"},
      {"NothingToConvert", "privacy convert", "nothing to convert"},
      {"TwoToConvert", "privacy convert --sigma 1 --mu 1", "--sigma with --mu"},
      {"SigmaZero", "privacy convert --sigma 0", "--sigma 0"},
      {"NothingToCompose", "privacy compose --delta 1e-5", "nothing to compose"},
      {"ComposeWithoutDelta", "privacy compose --gaussian 1", "compose needs --delta"},
      {"ComposeTooManyParts", "privacy compose --gaussian 1:2:3 --delta 1e-5", "--gaussian 1:2:3: must be Z[:K]"},
      {"ComposeACountThatIsNone", "privacy compose --exponential 1:x --delta 1e-5", "--exponential 1:x"},
      {"GroupOfNone", "privacy compose --gaussian 1 --delta 1e-5 --group 0", "--group 0"},
      {"SplitWithoutBlock", "privacy split --mu 1", "split needs --block"},
      {"BlockTwice", "privacy split --mu 1 --block a:1 --block a:2", "occurs twice"},
      {"ExplainWithoutReport", "privacy explain", "explain needs FILE: report of fit or evaluate --private"},
      {"SynthWithoutFolder", "synth --rows 10", "--out is required, a folder"},
      {"SanitizeWithoutRows", "synth sanitize --out made --mu 1", "synth sanitize needs --x"},
      {"SanitizeWithoutFolder", "synth sanitize --x x.npy --mu 1", "synth sanitize needs --out"},
      {"SanitizeUnclipped", "synth sanitize --x x.npy --out made --mu 1 --clip 0", "--clip 0"},
      {"PartitionWithoutSilos", kPartition, "synth partition needs --silos"},
      {"PartitionIntoNoSilos", kPartition + "--silos 0", "--silos 0: must be from 1"},
      {"PartitionAlphaNegative", kPartition + "--silos 2 --scheme quantity --alpha -1",
       "--alpha -1: must be a positive"},
      {"PartitionWithoutAlpha", kPartition + "--silos 2 --scheme dirichlet", "--scheme dirichlet goes with --alpha"},
      {"PartitionAlphaOfNoShares", kPartition + "--silos 2 --alpha 1",
       "--alpha goes with --scheme dirichlet or quantity"},
      {"PartitionWithoutClassesPerSilo", kPartition + "--silos 3 --scheme classes",
       "--scheme classes goes with --classes-per-silo"},
      {"PartitionThatLeavesAClassHomeless", kPartition + "--silos 2 --scheme classes --classes-per-silo 1",
       "2 silos hold at most 2 of 3 classes"},
      {"PartitionWithoutShift", kPartition + "--silos 2 --scheme feature-shift",
       "give the size of the shift with --rotation"},
      {"PartitionRotatedTooFar", kPartition + "--silos 2 --scheme feature-shift --rotation 200",
       "--rotation 200: must be from 0 to 180"},
      {"PartitionRotatedByMistake", kPartition + "--silos 2 --rotation 5", "--rotation goes with"},
      {"PartitionByAnUnknownScheme", kPartition + "--silos 2 --scheme fair", "--scheme fair"},
      {"RefitOfMeansWithARidge", "refit s --method mean --lambda 1", "--lambda goes with --method ls"},
      {"RefitOfMeansOfOneGram", "refit s --method mean --shared-gram", "--shared-gram goes with --method ls"},
      {"RefitOfAPathWithWeights", "refit s --shared-gram --lambda path --weights 1,1,5",
       "--lambda path with --weights"},
      {"RefitByTOfMeans", "refit s --method mean --select 3 --select-by t", "--select-by t goes with --method fisher"},
  };
}

INSTANTIATE_TEST_SUITE_P(Table, ArgumentsAlone, testing::ValuesIn(refused_arguments()),
                         [](const auto& row) { return row.param.name; });

}  // namespace dpreduce::refused_arguments_test
