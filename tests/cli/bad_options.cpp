// Words that are wrong for the data, or for each other; those that are wrong by themselves: commands/command_line,
// methods, common/accounting.
#include "tests/cli/bad_case.hpp"

namespace dpreduce {
namespace {

const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";
const std::string kFedavg =
    "fit --method fedavg --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 --report report.json ";

}  // namespace

std::vector<BadCase> bad_options() {
  return {
      {"UnknownOption", kGoodFit + "--epsilom 1", 2, "--epsilom"},
      {"MissingRequiredOption", "fit --train-x x.npy --train-y y.npy --mu 1", 2, "fit needs --classes"},
      {"BudgetTooSmallToServe", kFitWithoutBudget + "--epsilon 1e-300 --delta 1e-300", 2, "so small a budget"},
      {"TwoBudgets", kFitWithoutBudget + "--rho 0.1 --mu 1", 2,
       "--rho with --mu: both are privacy budgets; give exactly one"},
      {"NoBudget", kFitWithoutBudget, 2, "no privacy budget"},
      {"PoolAboveFeatures", kGoodFit + "--pool 5", 2, "--pool 5: must be from 1 to the number of features, 4"},
      {"MoreComponentsThanFeatures", kGoodFit + "--pca 5", 2, "--pca 5: rows have 4 features at this point"},
      {"MoreSelectedThanFeatures", kGoodFit + "--select 5", 2, "--select 5: rows have 4"},
      {"MoreSelectedThanComponents", kGoodFit + "--pca 2 --select 3", 2, "rows have 2"},
      {"MorePrototypesThanPublicRows", kGoodFit + "--method public --public-x x.npy --top-k 13", 3,
       "x.npy: 12 rows to choose from, fewer than the 13 prototypes of a class"},
      {"AuditOfMorePrototypesThanPublicRows", "audit --method public --epsilon 1 --top-k 4", 2,
       "chosen = 4 must be from 1 to the number of candidates, 3"},
      {"OneRoundToChooseFrom", kGoodFit + "--method fc --choose --rounds 1", 2, "so there is nothing to choose"},
      {"SharesBeyondTheBudget",
       kGoodFit + "--method fc --center dp --center-share 0.3 --pca 2 --pca-share 0.4 --select 1 --select-share 0.3", 2,
       "leave some for the method"},
      {"SharesThatLeaveNothingWhereOneAfterAnotherIsTaken",
       kGoodFit +
           "--method adam --center dp --center-share 0.06 --pca 4 --pca-share 0.57 --select 2 --select-share 0.37",
       2, "leave some for the method"},
      {"ShareOfNoCenter", kGoodFit + "--center none --center-share 0.1", 2,
       "--center-share with --center none: only the mean of --center dp"},
      {"AuditOfSilosOfRows", "audit --method mean --mu 1 --silos-per-person 3", 2,
       "--silos-per-person goes with --rows-per-person"},
      {"AuditOfFewSilos", "audit --method mean --mu 1 --rows-per-person 1 --silos-per-person 2", 2,
       "--silos-per-person 2: must be from 3 to 1000"},
      {"AuditOfSilosInOneRun", "audit --method mean --mu 1 --rows-per-person 1 --silos-per-person 3 --one-run", 2,
       "--silos-per-person with --one-run"},
      {"RowsOfNoPerson", kGoodFit + "--rows-per-person 3", 2, "goes with --train-person"},
      {"PersonsOfNoRow", kGoodFit + "--train-person y.npy --rows-per-person 0", 2, "must be from 1 to 65536"},
      {"SilosOfNoPerson", kGoodFit + "--silos-per-person 2", 2, "--silos-per-person goes with --train-person"},
      {"SilosThatTrustEachOther", kGoodFit + "--train-person y.npy --silos-per-person 2", 2,
       "--silos-per-person goes with --secure-aggregation or --method fedavg"},
      {"PersonsInMoreSilosThanThereAre", kFedavg + "--train-person y.npy --silos-per-person 9", 2,
       "--silos-per-person 9: there are 1 silos"},
      {"PersonsOnALedgerOfRows", kGoodFit + "--train-person y.npy", 4, "costs of the two do not add up"},
      {"NewtonBeyondMemory", kGoodFit + "--method newton --classes 100000 --memory 1", 2, "raise --memory"},
      {"ModelOntoLedger", kGoodFit + "--out ledger.jsonl", 2, "different files"},
      {"ConfigMissing", "fit --config absent.toml", 2, "--config absent.toml: cannot be read"},
      {"SynthOfNoLabels", "synth --out made --rows 10 --max-labels 0", 2, "max_labels = 0"},
      {"SynthOfMoreLabelsThanClasses", "synth --out made --rows 100 --classes 5 --max-labels 6", 2,
       "max_labels = 6: must be from 1 to 5"},
      {"SynthOfAdversarialSets", "synth --out made --rows 100 --classes 5 --max-labels 2 --adversarial 0.1", 2,
       "adversarial = 0.1: moves rows from one class"},
      {"CalibrateWithoutBudget", "privacy calibrate", 2, "no privacy budget"},
      {"CalibrateSampledTooRarely", "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 1e-12", 2,
       "--sampling-rate 1e-12: must be from 1e-09 to 1"},
      {"CalibrateBeyondDouble", "privacy calibrate --mu 1 --sensitivity 1e308 --steps 100", 2, "sigma = inf"},
      {"ConvertSigmaBeyondMu", "privacy convert --sigma 1e-9", 2, "--sigma 1e-09: mu"},
      {"ConvertAtDeltaTwo", "privacy convert --mu 1 --delta 2", 2, "delta = 2"},
      {"ComposeNegativeNoise", "privacy compose --gaussian=-1 --delta 1e-5", 2, "--gaussian: noise multiplier = -1"},
      {"ComposeTooOften", "privacy compose --gaussian 1:10000000 --gaussian 2 --delta 1e-5", 2,
       "all counts together at most 10000000"},
      {"ComposeSampledGroup", "privacy compose --subsampled 1:0.5 --group 2 --delta 1e-5", 2, "use a group of one"},
      {"SplitWithoutBudget", "privacy split --block a:1", 2, "no privacy budget"},
      {"SanitizeWithoutBudget", "synth sanitize --x x.npy --out made", 2, "no privacy budget"},
      {"PartitionIntoMoreSilosThanRows", kPartition + "--silos 13", 2, "--silos 13: there are 12 rows"},
      {"PartitionOfMoreClassesPerSiloThanThereAre", kPartition + "--silos 3 --scheme classes --classes-per-silo 4", 2,
       "--classes-per-silo 4: must be from 1 to 3"},
      {"PartitionOfAWorkersFiles", "synth partition --x x{rank}.npy --y y{rank}.npy --classes 3 --silos 2 --out made",
       2, "{rank} in --x or --y"},
      {"PartitionOntoAFile", "synth partition --x x.npy --y y.npy --classes 3 --silos 2 --out x.npy", 3, "x.npy"},
      {"PartitionOfOtherClasses", "synth partition --x x.npy --y y.npy --classes 2 --silos 2 --out made", 3,
       "has label 2"},
      {"TooManyLocalSteps", kFedavg + "--rounds 1000 --local-steps 1000", 2,
       "--rounds 1000 x --local-steps 1000: a silo takes at most 100000 steps"},
      {"FedavgOnSharedFiles", kFedavg, 2, "each is a silo with rows of its own", {}, Launch::kOnRanksOnly},
      {"SynthWithoutShards", "synth --out made --rows 10 --shards 0", 2, "shards = 0"},
  };
}

}  // namespace dpreduce
