#include <filesystem>

#include "tests/cli/bad_case.hpp"

namespace dpreduce {

namespace {

const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";
const std::string kFedavg =
    "fit --method fedavg --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 --report report.json ";

}  // namespace

std::vector<BadCase> bad_options() {
  const auto config = [](const std::string& text) {
    return [=](const TemporaryFolder& folder) { write_bytes(folder / "run.toml", text); };
  };
  return {
      {"UnknownOption", kGoodFit + "--epsilom 1", 2, "--epsilom"},
      {"MissingRequiredOption", "fit --train-x x.npy --train-y y.npy --mu 1", 2, "fit needs --classes"},
      {"EpsilonZero", kFitWithoutBudget + "--epsilon 0 --delta 1e-5", 2, "--epsilon = 0"},
      {"EpsilonWord", kFitWithoutBudget + "--epsilon small --delta 1e-5", 2, "small"},
      {"BudgetTooSmallToServe", kFitWithoutBudget + "--epsilon 1e-300 --delta 1e-300", 2, "so small a budget"},
      {"TwoBudgets", kFitWithoutBudget + "--rho 0.1 --mu 1", 2,
       "--rho with --mu: both are privacy budgets; give exactly one"},
      {"NoBudget", kFitWithoutBudget, 2, "no privacy budget"},
      {"NonPrivateWithEpsilon", kFitWithoutBudget + "--non-private --epsilon 1 --delta 1e-5", 2, "--non-private"},
      {"PoolAboveFeatures", kGoodFit + "--pool 5", 2, "--pool 5: must be from 1 to the number of features, 4"},
      {"ClassesOne", kGoodFit + "--classes 1", 2, "--classes 1"},
      {"MomentsOfRounds", kGoodFit + "--method fc --center moments", 2, "--center moments goes with --method ls"},
      {"MoreComponentsThanFeatures", kGoodFit + "--pca 5", 2, "--pca 5: rows have 4 features at this point"},
      {"MoreSelectedThanFeatures", kGoodFit + "--select 5", 2, "--select 5: rows have 4"},
      {"MoreSelectedThanComponents", kGoodFit + "--pca 2 --select 3", 2, "rows have 2"},
      {"MorePrototypesThanPublicRows", kGoodFit + "--method public --public-x x.npy --top-k 13", 3,
       "x.npy: 12 rows to choose from, fewer than the 13 prototypes of a class"},
      {"AuditOfMorePrototypesThanPublicRows", "audit --method public --epsilon 1 --top-k 4", 2,
       "chosen = 4 must be from 1 to the number of candidates, 3"},
      {"OneRoundToChooseFrom", kGoodFit + "--method fc --choose --rounds 1", 2, "so there is nothing to choose"},
      {"NothingToChoose", kGoodFit + "--choose", 2, "--choose goes with --method auto, ls, fc"},
      {"SharesBeyondTheBudget",
       kGoodFit + "--method fc --center dp --center-share 0.3 --pca 2 --pca-share 0.4 --select 1 --select-share 0.3", 2,
       "leave some for the method"},
      {"ShareOfNoCenter", kGoodFit + "--center none --center-share 0.1", 2,
       "--center-share with --center none: only the mean of --center dp"},
      {"LimitWithoutDelta", kGoodFit + "--budget-epsilon 1", 2, "--budget-delta"},
      {"LimitNegative", kGoodFit + "--budget-epsilon -1 --budget-delta 1e-5", 2, "--budget-epsilon -1"},
      {"AuditOfSilosOfRows", "audit --method mean --mu 1 --silos-per-person 3", 2,
       "--silos-per-person goes with --rows-per-person"},
      {"AuditOfFewSilos", "audit --method mean --mu 1 --rows-per-person 1 --silos-per-person 2", 2,
       "--silos-per-person 2: must be from 3 to 1000"},
      {"AuditOfSilosInOneRun", "audit --method mean --mu 1 --rows-per-person 1 --silos-per-person 3 --one-run", 2,
       "--silos-per-person with --one-run"},
      {"UnknownMethod", kGoodFit + "--method magic", 2, "must be one of auto|mean|public|ls|fc|gd|adam|newton|fisher"},
      {"RowsOfNoPerson", kGoodFit + "--rows-per-person 3", 2, "goes with --train-person"},
      {"PersonsOfNoRow", kGoodFit + "--train-person y.npy --rows-per-person 0", 2, "must be from 1 to 65536"},
      {"SilosOfNoPerson", kGoodFit + "--silos-per-person 2", 2, "--silos-per-person goes with --train-person"},
      {"SilosThatTrustEachOther", kGoodFit + "--train-person y.npy --silos-per-person 2", 2,
       "--silos-per-person goes with --secure-aggregation or --method fedavg"},
      {"PersonsInMoreSilosThanThereAre", kFedavg + "--train-person y.npy --silos-per-person 9", 2,
       "--silos-per-person 9: there are 1 silos"},
      {"PersonsOnALedgerOfRows", kGoodFit + "--train-person y.npy", 4, "costs of the two do not add up"},
      {"FisherOfLabelSets", kGoodFit + "--method fisher --max-labels 2", 2, "need rows of one class"},
      {"NewtonBeyondMemory", kGoodFit + "--method newton --classes 100000 --memory 1", 2, "raise --memory"},
      {"ModelOntoLedger", kGoodFit + "--out ledger.jsonl", 2, "different files"},
      {"ConfigMissing", "fit --config absent.toml", 2, "--config absent.toml: cannot be read"},
      {"ConfigThatIsNoToml", "fit --config run.toml", 2, "--config run.toml", config("mu = 1.0\n[[[\n")},
      {"ConfigWithUnknownKey", kGoodFit + "--config run.toml", 2, "'epsilom' is not an option of fit",
       config("epsilom = 1.0\n")},
      {"ConfigWithBadValue", kFitWithoutBudget + "--config run.toml", 2, "--mu", config("mu = \"much\"\n")},
      {"SynthOfNoLabels", "synth --out made --rows 10 --max-labels 0", 2, "max_labels = 0"},
      {"SynthOfMoreLabelsThanClasses", "synth --out made --rows 100 --classes 5 --max-labels 6", 2,
       "max_labels = 6: must be from 1 to 5"},
      {"SynthOfAdversarialSets", "synth --out made --rows 100 --classes 5 --max-labels 2 --adversarial 0.1", 2,
       "adversarial = 0.1: moves rows from one class"},
      {"CalibrateWithoutBudget", "privacy calibrate", 2, "no privacy budget"},
      {"CalibrateSampledTooRarely", "privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 1e-12", 2,
       "--sampling-rate 1e-12: must be from 1e-09 to 1"},
      {"CalibrateBeyondAnyNoise", "privacy calibrate --epsilon 1e-6 --delta 1e-10 --steps 10000000 --sampling-rate 0.9",
       2, "does not reach it"},
      {"CalibrateBeyondDouble", "privacy calibrate --mu 1 --sensitivity 1e308 --steps 100", 2, "sigma = inf"},
      {"ConvertSigmaBeyondMu", "privacy convert --sigma 1e-9", 2, "--sigma 1e-09: mu"},
      {"ConvertAtDeltaTwo", "privacy convert --mu 1 --delta 2", 2, "delta = 2"},
      {"ComposeNoNumber", "privacy compose --exponential a --delta 1e-5", 2, "--exponential a: must be E[:K]"},
      {"ComposeNegativeNoise", "privacy compose --gaussian=-1 --delta 1e-5", 2, "--gaussian: noise multiplier = -1"},
      {"ComposeRateAboveOne", "privacy compose --subsampled 1:2 --delta 1e-5", 2, "--subsampled: sampling rate = 2"},
      {"ComposeTooOften", "privacy compose --gaussian 1:10000000 --gaussian 2 --delta 1e-5", 2,
       "all counts together at most 10000000"},
      {"ComposeSampledGroup", "privacy compose --subsampled 1:0.5 --group 2 --delta 1e-5", 2, "use a group of one"},
      {"ComposeSampledExchanges", "privacy compose --subsampled 1:0.5 --adjacency replace-one --group 2 --delta 1e-5",
       2, "use a group of one"},
      {"SplitWithoutBudget", "privacy split --block a:1", 2, "no privacy budget"},
      {"SanitizeWithoutBudget", "synth sanitize --x x.npy --out made", 2, "no privacy budget"},
      {"PartitionIntoMoreSilosThanRows", kPartition + "--silos 13", 2, "--silos 13: there are 12 rows"},
      {"PartitionAlphaZero", kPartition + "--silos 2 --scheme dirichlet --alpha 0", 2, "--alpha 0: must be a positive"},
      {"PartitionOfMoreClassesPerSiloThanThereAre", kPartition + "--silos 3 --scheme classes --classes-per-silo 4", 2,
       "--classes-per-silo 4: must be from 1 to 3"},
      {"PartitionOfAWorkersFiles", "synth partition --x x{rank}.npy --y y{rank}.npy --classes 3 --silos 2 --out made",
       2, "{rank} in --x or --y"},
      {"PartitionOntoFilesThatAreThere", kPartition + "--silos 2", 3, "made/silo1/x.npy: exists already",
       [](const TemporaryFolder& folder) {
         std::filesystem::create_directories(folder / "made/silo1");
         write_bytes(folder / "made/silo1/x.npy", "mine");
       }},
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
