// What is wrong with words alone, whatever the data: told in one line before anything is opened.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/command_line/command_line.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

const std::string kGoodFit = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 ";
const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";

struct RefusedWords {
  std::string name;
  std::string words;
  std::string says;
};

class WordsAlone : public testing::TestWithParam<RefusedWords> {};

TEST_P(WordsAlone, AreRefusedInOneLine) {
  std::istringstream all(GetParam().words);
  std::vector<std::string> words;
  for (std::string word; all >> word;) words.push_back(word);
  try {
    parse_command_line(words);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(GetParam().says));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

std::vector<RefusedWords> refused_words() {
  return {
      {.name = "OptionWithoutValue", .words = kGoodFit + "--clip", .says = "--clip"},
      {.name = "ClassesNegative", .words = kGoodFit + "--classes -3", .says = "must not be negative"},
      {.name = "NegativeComponents", .words = kGoodFit + "--pca -1", .says = "must not be negative"},
      {.name = "OneRunAuditOfPrototypes",
       .words = "audit --one-run --method public --epsilon 1 --delta 1e-5",
       .says = "audit --one-run --method public: a choice among public rows releases no class sums"},
      {.name = "SelectByUnknown", .words = kGoodFit + "--select 2 --select-by luck", .says = "distance|t"},
      {.name = "AuditOfAPublicCenter", .words = "audit --method mean --center public --mu 1", .says = "--public-x"},
      {.name = "UnknownAccountant", .words = kGoodFit + "--accountant tax", .says = "must be one of gdp|zcdp|rdp|pld"},
      {.name = "AlphaAWord", .words = kGoodFit + "--method ls --alpha much", .says = "must be a number or auto"},
      {.name = "UnknownIterate", .words = kGoodFit + "--method gd --iterate best", .says = "last|average"},
      {.name = "UnknownLoss", .words = kGoodFit + "--method fc --loss hinge", .says = "softmax|sigmoid|square"},
      {.name = "UnknownAdjacency",
       .words = kGoodFit + "--adjacency swap",
       .says = "must be one of add-remove|replace-one"},
      {.name = "SetsWithoutOut", .words = "predict --model m --x x.npy --sets", .says = "--sets needs --out"},
      {.name = "SetsAndScores",
       .words = "predict --model m --x x.npy --out o --sets --scores",
       .says = "exclude each other"},
      {.name = "TopOfNone", .words = "predict --model m --x x.npy --top-k 0", .says = "--top-k 0: must be"},
      {.name = "ThresholdOfLabels",
       .words = "predict --model m --x x.npy --threshold 0.5",
       .says = "--threshold goes with --sets"},
      {.name = "ThresholdThatIsNone",
       .words = "evaluate --model m --x x.npy --y y.npy --threshold nan",
       .says = "--threshold nan: must be a finite number"},
      {.name = "EvaluateTopOfNone", .words = "evaluate --model m --x x.npy --y y.npy --top-k 0", .says = "--top-k 0"},
      {.name = "PrivacyWithoutCommand", .words = "privacy", .says = "subcommand is required"},
      {.name = "CalibrateSampledByZcdp",
       .words = "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.1 --accountant zcdp",
       .says = "--accountant zcdp knows no gain from sampling"},
      {.name = "ComposeTooManyParts",
       .words = "privacy compose --gaussian 1:2:3 --delta 1e-5",
       .says = "--gaussian 1:2:3: must be Z[:K]"},
      {.name = "BenchOfNothing", .words = "bench gram --rows 0", .says = "must be at least 1"},
      {.name = "SynthWithoutFolder", .words = "synth --rows 10", .says = "--out is required"},
      {.name = "SanitizeWithoutRows", .words = "synth sanitize --out made --mu 1", .says = "--x is required"},
      {.name = "SanitizeWithoutFolder", .words = "synth sanitize --x x.npy --mu 1", .says = "--out is required"},
      {.name = "SanitizeUnclipped", .words = "synth sanitize --x x.npy --out made --mu 1 --clip 0", .says = "--clip 0"},
      {.name = "PartitionWithoutSilos", .words = kPartition, .says = "--silos is required"},
      {.name = "PartitionIntoNoSilos", .words = kPartition + "--silos 0", .says = "--silos 0: must be from 1"},
      {.name = "PartitionAlphaNegative",
       .words = kPartition + "--silos 2 --scheme quantity --alpha -1",
       .says = "--alpha -1: must be a positive"},
      {.name = "PartitionWithoutAlpha",
       .words = kPartition + "--silos 2 --scheme dirichlet",
       .says = "say with --alpha"},
      {.name = "PartitionAlphaOfNoShares", .words = kPartition + "--silos 2 --alpha 1", .says = "--alpha goes with"},
      {.name = "PartitionWithoutClassesPerSilo",
       .words = kPartition + "--silos 3 --scheme classes",
       .says = "say with --classes-per-silo"},
      {.name = "PartitionThatLeavesAClassHomeless",
       .words = kPartition + "--silos 2 --scheme classes --classes-per-silo 1",
       .says = "2 silos hold 2 of 3 classes at most"},
      {.name = "PartitionWithoutShift",
       .words = kPartition + "--silos 2 --scheme feature-shift",
       .says = "say with --rotation"},
      {.name = "PartitionRotatedTooFar",
       .words = kPartition + "--silos 2 --scheme feature-shift --rotation 200",
       .says = "--rotation 200: must be from 0 to 180"},
      {.name = "PartitionRotatedByMistake",
       .words = kPartition + "--silos 2 --rotation 5",
       .says = "--rotation goes with"},
      {.name = "PartitionByAnUnknownScheme", .words = kPartition + "--silos 2 --scheme fair", .says = "--scheme fair"},
      {.name = "SynthOfNegativeRows", .words = "synth --out made --rows -10", .says = "must not be negative"},
  };
}

INSTANTIATE_TEST_SUITE_P(Table, WordsAlone, testing::ValuesIn(refused_words()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace dpreduce
