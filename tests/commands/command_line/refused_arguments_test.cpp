// What is wrong with words alone, whatever the data: told in one line before anything is opened.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/commands/parsed_command.hpp"

namespace dpreduce {
namespace {

const std::string kGoodFit = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 ";
const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";

struct RefusedArguments {
  std::string name;
  std::string arguments;
  std::string says;
};

class ArgumentsAlone : public testing::TestWithParam<RefusedArguments> {};

TEST_P(ArgumentsAlone, AreRefusedInOneLine) {
  std::istringstream all(GetParam().arguments);
  std::vector<std::string> words;
  for (std::string word; all >> word;) words.push_back(word);
  try {
    parsed_command(words);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().says));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

std::vector<RefusedArguments> refused_arguments() {
  return {
      {.name = "OptionWithoutValue", .arguments = kGoodFit + "--clip", .says = "--clip"},
      {.name = "ClassesNegative", .arguments = kGoodFit + "--classes -3", .says = "must not be negative"},
      {.name = "NegativeComponents", .arguments = kGoodFit + "--pca -1", .says = "must not be negative"},
      {.name = "OneRunAuditOfPrototypes",
       .arguments = "audit --one-run --method public --epsilon 1 --delta 1e-5",
       .says = "--one-run with --method public: it releases no class sums"},
      {.name = "SelectByUnknown", .arguments = kGoodFit + "--select 2 --select-by luck", .says = "distance|t"},
      {.name = "AuditOfAPublicCenter", .arguments = "audit --method mean --center public --mu 1", .says = "--public-x"},
      {.name = "UnknownAccountant",
       .arguments = kGoodFit + "--accountant tax",
       .says = "must be one of gdp|zcdp|rdp|pld"},
      {.name = "AlphaAWord", .arguments = kGoodFit + "--method ls --alpha much", .says = "must be a number or auto"},
      {.name = "UnknownIterate", .arguments = kGoodFit + "--method gd --iterate best", .says = "last|average"},
      {.name = "UnknownLoss", .arguments = kGoodFit + "--method fc --loss hinge", .says = "softmax|sigmoid|square"},
      {.name = "UnknownAdjacency",
       .arguments = kGoodFit + "--adjacency swap",
       .says = "must be one of add-remove|replace-one"},
      {.name = "SetsWithoutOut", .arguments = "predict --model m --x x.npy --sets", .says = "--sets needs --out"},
      {.name = "SetsAndScores",
       .arguments = "predict --model m --x x.npy --out o --sets --scores",
       .says = "cannot share one file"},
      {.name = "TopOfNone", .arguments = "predict --model m --x x.npy --top-k 0", .says = "--top-k 0: must be"},
      {.name = "ThresholdOfLabels",
       .arguments = "predict --model m --x x.npy --threshold 0.5",
       .says = "--threshold goes with --sets"},
      {.name = "ThresholdThatIsNone",
       .arguments = "evaluate --model m --x x.npy --y y.npy --threshold nan",
       .says = "--threshold nan: must be a finite number"},
      {.name = "EvaluateTopOfNone",
       .arguments = "evaluate --model m --x x.npy --y y.npy --top-k 0",
       .says = "--top-k 0"},
      {.name = "PrivacyWithoutCommand", .arguments = "privacy", .says = "privacy needs a command: calibrate"},
      {.name = "CalibrateSampledByZcdp",
       .arguments = "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.1 --accountant zcdp",
       .says = "--accountant zcdp: it does not cover sampling"},
      {.name = "ComposeTooManyParts",
       .arguments = "privacy compose --gaussian 1:2:3 --delta 1e-5",
       .says = "--gaussian 1:2:3: must be Z[:K]"},
      {.name = "SynthWithoutFolder", .arguments = "synth --rows 10", .says = "--out is required, a folder"},
      {.name = "SanitizeWithoutRows",
       .arguments = "synth sanitize --out made --mu 1",
       .says = "synth sanitize needs --x"},
      {.name = "SanitizeWithoutFolder",
       .arguments = "synth sanitize --x x.npy --mu 1",
       .says = "synth sanitize needs --out"},
      {.name = "SanitizeUnclipped",
       .arguments = "synth sanitize --x x.npy --out made --mu 1 --clip 0",
       .says = "--clip 0"},
      {.name = "PartitionWithoutSilos", .arguments = kPartition, .says = "synth partition needs --silos"},
      {.name = "PartitionIntoNoSilos", .arguments = kPartition + "--silos 0", .says = "--silos 0: must be from 1"},
      {.name = "PartitionAlphaNegative",
       .arguments = kPartition + "--silos 2 --scheme quantity --alpha -1",
       .says = "--alpha -1: must be a positive"},
      {.name = "PartitionWithoutAlpha",
       .arguments = kPartition + "--silos 2 --scheme dirichlet",
       .says = "--scheme dirichlet goes with --alpha"},
      {.name = "PartitionAlphaOfNoShares",
       .arguments = kPartition + "--silos 2 --alpha 1",
       .says = "--alpha goes with --scheme dirichlet or quantity"},
      {.name = "PartitionWithoutClassesPerSilo",
       .arguments = kPartition + "--silos 3 --scheme classes",
       .says = "--scheme classes goes with --classes-per-silo"},
      {.name = "PartitionThatLeavesAClassHomeless",
       .arguments = kPartition + "--silos 2 --scheme classes --classes-per-silo 1",
       .says = "2 silos hold at most 2 of 3 classes"},
      {.name = "PartitionWithoutShift",
       .arguments = kPartition + "--silos 2 --scheme feature-shift",
       .says = "give the size of the shift with --rotation"},
      {.name = "PartitionRotatedTooFar",
       .arguments = kPartition + "--silos 2 --scheme feature-shift --rotation 200",
       .says = "--rotation 200: must be from 0 to 180"},
      {.name = "PartitionRotatedByMistake",
       .arguments = kPartition + "--silos 2 --rotation 5",
       .says = "--rotation goes with"},
      {.name = "PartitionByAnUnknownScheme",
       .arguments = kPartition + "--silos 2 --scheme fair",
       .says = "--scheme fair"},
      {.name = "RefitOfMeansWithARidge",
       .arguments = "refit s --method mean --lambda 1",
       .says = "--lambda goes with --method ls"},
      {.name = "RefitOfMeansOfOneGram",
       .arguments = "refit s --method mean --shared-gram",
       .says = "--shared-gram goes with --method ls"},
      {.name = "RefitOfAPathWithWeights",
       .arguments = "refit s --shared-gram --lambda path --weights 1,1,5",
       .says = "--lambda path with --weights"},
      {.name = "RefitByTOfMeans",
       .arguments = "refit s --method mean --select 3 --select-by t",
       .says = "--select-by t goes with --method fisher"},
      {.name = "SynthOfNegativeRows", .arguments = "synth --out made --rows -10", .says = "must not be negative"},
  };
}

INSTANTIATE_TEST_SUITE_P(Table, ArgumentsAlone, testing::ValuesIn(refused_arguments()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace dpreduce
