#include "fit/validated_options.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/validated_options.hpp"
#include "tests/methods/options/good_fit.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

// What is wrong only together.
struct Contradiction {
  std::string name;
  std::string method;
  std::function<void(FitOptions&)> change;
  std::string message;
};

class FitOptionsTogether : public testing::TestWithParam<Contradiction> {};

TEST_P(FitOptionsTogether, IsRefused) {
  FitOptions fit = good_fit(GetParam().method);
  GetParam().change(fit);
  EXPECT_THAT(refusal(fit), HasSubstr(GetParam().message));
}

std::vector<Contradiction> contradictions() {
  const auto among_silos = [](FitOptions& fit) {
    fit.silos.secure_aggregation = true;
    fit.data.train = {.x = {"x{rank}.npy"}, .y = {"y{rank}.npy"}};
  };
  return {
      {.name = "PersonsAmongSilos",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.data.train.person = {"p{rank}.npy"};
           },
       .message = "--train-person with --secure-aggregation: all parties must say --rows-per-person B"},
      {.name = "CenterWithoutPublicRows",
       .method = "mean",
       .change = [](FitOptions& fit) { fit.rows.center = Centering::kPublic; },
       .message = "--center public: name the public rows"},
      {.name = "PublicRowsThatNothingUses",
       .method = "mean",
       .change = [](FitOptions& fit) { fit.data.public_x = {"p.npy"}; },
       .message = "--public-x: nothing uses public rows here; add --center public, --pca or --method public or"},
      {.name = "ShareOfPublicComponents",
       .method = "mean",
       .change =
           [](FitOptions& fit) {
             fit.data.public_x = {"p.npy"};
             fit.rows.pca = 2;
             fit.rows.pca_share = 0.1;
           },
       .message = "--pca-share goes with --pca on private rows"},
      {.name = "ValidationRowsWithoutAChoice",
       .method = "fc",
       .change = [](FitOptions& fit) { fit.data.validation = {.x = {"v.npy"}, .y = {"w.npy"}}; },
       .message = "--validation-x goes with --choose"},
      {.name = "ShareOfAPublicChoice",
       .method = "fc",
       .change =
           [](FitOptions& fit) {
             fit.data.validation = {.x = {"v.npy"}, .y = {"w.npy"}};
             fit.method.choose = true;
             fit.method.choose_share = 0.1;
           },
       .message = "public rows cost nothing"},
      {.name = "ChoiceAmongSampledRounds",
       .method = "gd",
       .change =
           [](FitOptions& fit) {
             fit.method.batch = 0.1;
             fit.method.choose = true;
             fit.privacy.budget.accountant = Accountant::kPld;
           },
       .message = "rounds on samples leave no mu to share"},
      {.name = "SamplesOfExchangedRecords",
       .method = "gd",
       .change =
           [](FitOptions& fit) {
             fit.method.batch = 0.1;
             fit.privacy.adjacency = Adjacency::kReplaceOne;
           },
       .message = "use add-remove"},
      {.name = "SamplesByMu",
       .method = "adam",
       .change =
           [](FitOptions& fit) {
             fit.method.batch = 0.1;
             fit.privacy.budget = {};
             fit.privacy.budget.mu = 1.0;
           },
       .message = "rounds on samples have no mu"},
      {.name = "SamplesByGdp",
       .method = "gd",
       .change = [](FitOptions& fit) { fit.method.batch = 0.1; },
       .message = "--accountant gdp knows no gain from sampling"},
      {.name = "WarmStartOfLabelSets",
       .method = "gd",
       .change =
           [](FitOptions& fit) {
             fit.data.max_labels = 2;
             fit.method.warm_start = true;
           },
       .message = "--warm-start with --max-labels 2"},
      {.name = "SoftmaxOfLabelSets",
       .method = "gd",
       .change =
           [](FitOptions& fit) {
             fit.data.max_labels = 2;
             fit.method.loss = Loss::kSoftmax;
           },
       .message = "--loss softmax with --max-labels 2"},
      {.name = "BalanceOfLabelSets",
       .method = "auto",
       .change =
           [](FitOptions& fit) {
             fit.data.max_labels = 2;
             fit.method.objective = Objective::kBalanced;
           },
       .message = "--objective balanced with --max-labels above 1"},
      {.name = "SmallestShareAboveTheMean",
       .method = "prototypes",
       .change = [](FitOptions& fit) { fit.method.smallest_share = 0.6; },
       .message = "--smallest-share 0.6: must be greater than 0, and at most 1 / 10"},
      {.name = "SmallestShareOfATailThatIsMade",
       .method = "prototypes",
       .change =
           [](FitOptions& fit) {
             fit.method.smallest_share = 0.01;
             fit.data.imbalance_ratio = 10.0;
           },
       .message = "--smallest-share with --imbalance-ratio"},
      {.name = "OneFileForTwo",
       .method = "mean",
       .change =
           [](FitOptions& fit) {
             fit.output.out = "f";
             fit.output.report = "./f";
           },
       .message = "--out and --report are both"},
      {.name = "CheckpointWithoutNoise",
       .method = "mean",
       .change =
           [](FitOptions& fit) {
             fit.privacy.budget = {};
             fit.privacy.budget.non_private = true;
             fit.output.checkpoint = "folder";
           },
       .message = "--checkpoint with --non-private"},
      {.name = "SilosWithOneFile",
       .method = "mean",
       .change = [](FitOptions& fit) { fit.silos.secure_aggregation = true; },
       .message = "write {rank} in --train-x"},
      {.name = "SilosWithTestRowsOfTheirOwn",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.data.test = {.x = {"t{rank}.npy"}, .y = {"u.npy"}};
           },
       .message = "the coordinator alone reads test"},
      {.name = "SilosOnSamples",
       .method = "gd",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.method.batch = 0.5;
             fit.privacy.budget.accountant = Accountant::kPld;
           },
       .message = "--batch with --secure-aggregation"},
      {.name = "SilosResumed",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.privacy.resume = true;
           },
       .message = "--resume with --secure-aggregation"},
      {.name = "SilosInACheckpoint",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.output.checkpoint = "folder";
           },
       .message = "--checkpoint with --secure-aggregation"},
      {.name = "SilosWithASeedWithinABudget",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.privacy.seed = 1;
             fit.privacy.limit_epsilon = 2.0;
             fit.privacy.limit_delta = 1e-6;
           },
       .message = "--seed and --budget-epsilon with --secure-aggregation"},
      {.name = "SilosWithHalfABudget",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.privacy.limit_epsilon = 2.0;
           },
       .message = "--budget-delta is missing"},
      {.name = "SilosPlanned",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.output.dry_run = true;
           },
       .message = "--dry-run with --secure-aggregation"},
      {.name = "SilosThatChooseByTheirRows",
       .method = "ls",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.silos.noise = NoiseSource::kDistributed;
             fit.method.choose = true;
           },
       .message = "--choose and --noise distributed with --secure-aggregation"},
      {.name = "SilosThatChoosePublicRows",
       .method = "public",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.silos.noise = NoiseSource::kDistributed;
           },
       .message = "choosing public rows by --noise distributed with --secure-aggregation"},
      {.name = "SilosWithoutNoiseWithinABudget",
       .method = "mean",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.privacy.budget = {};
             fit.privacy.budget.non_private = true;
             fit.privacy.limit_epsilon = 1.0;
             fit.privacy.limit_delta = 1e-6;
           },
       .message = "--non-private and --budget-epsilon with --secure-aggregation"},
      {.name = "SilosThatSample",
       .method = "gd",
       .change =
           [=](FitOptions& fit) {
             among_silos(fit);
             fit.method.batch = 0.1;
             fit.privacy.budget = {};
             fit.privacy.budget.epsilon = 1.0;
             fit.privacy.budget.delta = 1e-6;
             fit.privacy.budget.accountant = Accountant::kPld;
           },
       .message = "--batch with --secure-aggregation"},
      {.name = "ACheckpointOfExactSums",
       .method = "mean",
       .change =
           [](FitOptions& fit) {
             fit.privacy.budget = {};
             fit.privacy.budget.non_private = true;
             fit.output.checkpoint = "folder";
           },
       .message = "--checkpoint with --non-private"},
  };
}

INSTANTIATE_TEST_SUITE_P(Table, FitOptionsTogether, testing::ValuesIn(contradictions()),
                         [](const auto& row) { return row.param.name; });

TEST(FitOptions, ABatchOfAllRowsIsNone) {
  FitOptions fit = good_fit("gd");
  fit.method.batch = 1.0;
  EXPECT_FALSE(validated(fit).method.batch.has_value());
}

TEST(FitOptions, TestRowsAreReadAsTrainingRowsAre) {
  FitOptions fit = good_fit("mean");
  fit.data.train.bad_rows = BadRows::kZero;
  EXPECT_EQ(validated(fit).data.test.bad_rows, BadRows::kZero);
}

TEST(FitOptions, EachPartIsChecked) {
  const std::vector<std::pair<const char*, std::function<void(FitOptions&)>>> parts{
      {"--classes 1", [](FitOptions& fit) { fit.data.classes = 1; }},
      {"--clip 0", [](FitOptions& fit) { fit.rows.clip_norm = 0.0; }},
      {"--rounds 0",
       [](FitOptions& fit) {
         fit.method.name = "fc";
         fit.method.rounds = 0;
       }},
      {"--ledger", [](FitOptions& fit) { fit.privacy.ledger.clear(); }},
      {"--out", [](FitOptions& fit) { fit.output.out.clear(); }},
      {"--memory 0", [](FitOptions& fit) { fit.machine.memory_mib = 0; }},
      {"--threshold goes with", [](FitOptions& fit) { fit.silos.threshold = 3; }}};
  for (const auto& [message, change] : parts) {
    FitOptions fit = good_fit("mean");
    change(fit);
    EXPECT_THAT(refusal(fit), HasSubstr(message));
  }
}

}  // namespace
}  // namespace dpreduce
