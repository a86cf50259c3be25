#include <nlohmann/json.hpp>

#include "tests/refit/released_rows.hpp"

namespace dpreduce::refit_test {

using enum StatisticKind;

struct SameModelCase {
  std::string name;
  std::function<void(FitOptions&)> fit;
  std::vector<StatisticKind> released;
  RefitOptions refit{};
};

const std::vector<SameModelCase> kSameModelCases{
    {"ls_by_class", [](auto&) {}, {kGram, kClassGrams}},
    {"ls_by_class_with_a_ridge", [](auto& fit) { fit.method.lambda = 3.0; }, {kGram, kClassGrams}, {.lambda = 3.0}},
    {"ls_without_all_rows", [](auto& fit) { fit.method.alpha = 0.0; }, {kClassGrams}},
    {"ls_shared", [](auto& fit) { fit.method.shared_gram = true; }, {kGram, kClassSums}},
    {"ls_shared_of_two", [](auto& fit) { fit.method.shared_gram = true, fit.data.classes = 2; }, {kGram, kClassSums}},
    {"ls_by_class_of_two_centered",
     [](auto& fit) { fit.rows.center = Centering::kDp, fit.rows.center_share = 0.05, fit.data.classes = 2; },
     {kGram, kClassGrams}},
    {"ls_projected", [](auto& fit) { fit.method.shared_gram = true, fit.rows.pca = 3; }, {kGram, kClassSums}},
    {"mean", [](auto& fit) { fit.method.name = "mean"; }, {kClassSums}, {.method = RefitMethod::kMean}},
    {"mean_euclidean_selected",
     [](auto& fit) { fit.method.name = "mean", fit.method.metric = Metric::kEuclidean, fit.rows.select = 2; },
     {kClassSums, kClassSizes},
     {.method = RefitMethod::kMean, .metric = Metric::kEuclidean, .select = 2}}};

FittedRows rows_of_two_classes(std::size_t count) {
  FittedRows rows(count, 3);
  for (std::int64_t& label : rows.y) label = std::min<std::int64_t>(label, 1);
  return rows;
}

class SameModelTest : public testing::TestWithParam<SameModelCase> {};

// A seed gives both the same noise.
TEST_P(SameModelTest, ARefitHasTheBytesOfTheFit) {
  const TemporaryFolder folder;
  FitOptions options = seeded_fit("ls", folder);
  GetParam().fit(options);
  const FittedRows rows = options.data.classes == 2 ? rows_of_two_classes(240) : FittedRows(240, 3);
  const std::vector<std::byte> fitted = to_bytes(fitted_run(options, rows.all()).classifier);
  options.method = {.name = std::string(release_method.name)};
  options.rows.select = 0;
  options.statistics = GetParam().released;
  EXPECT_EQ(to_bytes(refit(released_by(options, rows.all()), GetParam().refit).classifier), fitted);
}

INSTANTIATE_TEST_SUITE_P(Settings, SameModelTest, testing::ValuesIn(kSameModelCases),
                         [](const auto& tested) { return tested.param.name; });

class RefitTest : public testing::Test {
 protected:
  KeptStatistics released(std::vector<StatisticKind> kinds, double mu = 2.0) const {
    FitOptions options = seeded_release(std::move(kinds), folder_);
    options.privacy.budget.mu = mu;
    return released_by(options, FittedRows(600, 5).all());
  }
  static double accuracy(const Classifier& classifier) {
    const FittedRows rows(600, 6);
    return accuracy_of(classifier, rows.x, rows.y);
  }
  static nlohmann::json intervals(const KeptStatistics& statistics, double ridge = 1.0,
                                  const RefitOptions& options = {}) {
    return intervals_json(statistics, options, ridge, 0.95, {});
  }
  static std::string refused(const KeptStatistics& statistics, const RefitOptions& options) {
    return refusal<UsageError>([&] { refit(statistics, options); });
  }
  static std::vector<double> weights_of(const KeptStatistics& statistics, const RefitOptions& options) {
    return refit(statistics, options).classifier.parts().weights;
  }
  static std::vector<double> weighed(const KeptStatistics& statistics, std::optional<double> lambda,
                                     std::vector<double> of_classes) {
    return weights_of(statistics, {.shared_gram = true, .lambda = lambda, .class_weights = std::move(of_classes)});
  }
  // With other values in the blocks that have classes: of each class and value.
  static void change(KeptStatistics& statistics,
                     const std::function<std::int64_t(std::size_t, std::int64_t)>& value_of) {
    for (ReleasedBlock& block : statistics.blocks) {
      if (!block.name().starts_with("class_")) continue;
      std::vector<std::int64_t> values(block.values().begin(), block.values().end());
      const std::size_t of_class = values.size() / FittedRows::kClasses;
      for (std::size_t e = 0; e < values.size(); ++e) values[e] = value_of(e / of_class, values[e]);
      block = {block.name(), std::move(values), block.sigma()};
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(RefitTest, OneReleaseServesEveryMethod) {
  const KeptStatistics statistics = released({kGram, kClassGrams, kClassSizes}, 20.0);
  for (const RefitMethod method : {RefitMethod::kLs, RefitMethod::kMean, RefitMethod::kFisher}) {
    EXPECT_GT(accuracy(refit(statistics, {.method = method}).classifier), 0.8) << to_string(method);
  }
  EXPECT_GT(accuracy(refit(statistics, {.shared_gram = true, .components = 4}).classifier), 0.7);
}

TEST_F(RefitTest, OfSomeFeaturesWeightsOfOthersAreZeroAndARefitOfAllIsTheWhole) {
  const KeptStatistics statistics = released({kGram, kClassSums});
  const std::vector<double> weights = weights_of(statistics, {.features = {0, 2, 5}});
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const std::size_t feature = e % FittedRows::kDim;
    EXPECT_EQ(weights[e] != 0.0, feature == 0 || feature == 2 || feature == 5) << e;
  }
  EXPECT_EQ(weights_of(statistics, {.features = {0, 1, 2, 3, 4, 5}}), weights_of(statistics, {}));
}

TEST_F(RefitTest, SelectedFeaturesAreThoseThatClassesDifferIn) {
  const KeptStatistics statistics = released({kGram, kClassSums}, 50.0);
  const std::vector<double> weights = weights_of(statistics, {.select = 3});
  for (std::size_t e = 0; e < weights.size(); ++e) {  // the rows' classes are told by features 0, 1 and 2
    EXPECT_EQ(weights[e] != 0.0, e % FittedRows::kDim < 3) << e;
  }
}

TEST_F(RefitTest, OfSomeClassesGramsAreTheirsAlone) {
  KeptStatistics statistics = released({kGram, kClassGrams});
  const ClassifierParts two = refit(statistics, {.shared_gram = true, .classes = {0, 2}}).classifier.parts();
  EXPECT_EQ(two.classes, 2U);
  // A class that is left out could have any rows.
  change(statistics, [](std::size_t label, std::int64_t value) { return label == 1 ? 12345 : value; });
  EXPECT_EQ(weights_of(statistics, {.shared_gram = true, .classes = {0, 2}}), two.weights);
}

TEST_F(RefitTest, EqualWeightsOfClassesChangeNothingButTheScale) {
  const KeptStatistics statistics = released({kClassGrams});
  const std::vector<double> alike = weighed(statistics, 1e-6, {});
  const std::vector<double> doubled = weighed(statistics, 1e-6, {2, 2, 2});
  for (std::size_t e = 0; e < alike.size(); ++e) EXPECT_NEAR(doubled[e], alike[e], 1e-3 * std::abs(alike[e]) + 1e-5);
  EXPECT_NE(weighed(statistics, 1e-6, {1, 1, 5}), alike);
}

// Rows of a class that weigh w are those of w copies: its Gram matrix and its sums are w times as large, and the noise
// of all Gram matrices together is sqrt(sum of w^2) times that of one.
TEST_F(RefitTest, UnequalWeightsAreThoseOfCopiesOfRows) {
  const std::vector<double> weights{3, 1, 5};
  const KeptStatistics statistics = released({kClassGrams});
  KeptStatistics copies = statistics;
  change(copies,
         [&](std::size_t label, std::int64_t value) { return value * static_cast<std::int64_t>(weights[label]); });
  ReleasedBlock& grams = copies.blocks.back();
  ASSERT_EQ(grams.name(), "class_grams");
  grams = {"class_grams", std::vector(grams.values().begin(), grams.values().end()),
           grams.sigma() * std::sqrt((9.0 + 1.0 + 25.0) / 3.0)};  // three matrices are added up
  for (const std::optional<double> lambda : {std::optional<double>(), std::optional<double>(2.0)}) {
    EXPECT_THAT(weighed(statistics, lambda, weights),
                testing::Pointwise(testing::DoubleNear(1e-6), weighed(copies, lambda, {})));
  }
}

// Half the weights and half the ridge are the same system, but for rounding.
TEST_F(RefitTest, WeightsNeedNotBeWhole) {
  const KeptStatistics statistics = released({kClassGrams});
  const std::vector<double> whole = weighed(statistics, 4.0, {3, 1, 5});
  const std::vector<double> halves = weighed(statistics, 2.0, {1.5, 0.5, 2.5});
  for (std::size_t e = 0; e < whole.size(); ++e) EXPECT_NEAR(halves[e], whole[e], 1e-4 * std::abs(whole[e]) + 1e-6);
}

// A released Gram matrix is of the rows that least squares trains on: with an intercept where that has one. Sums alone
// are of class means, which have none.
TEST_F(RefitTest, AReleaseOfMatricesIsOfTheRowsOfLeastSquares) {
  FittedRows rows = rows_of_two_classes(240);
  for (float& entry : rows.x) entry += 1.0F;  // far from 0: a threshold between two classes needs the intercept
  FitOptions fit = seeded_fit("ls", folder_);
  fit.method.shared_gram = true;
  fit.data.classes = 2;
  const Classifier fitted = fitted_run(fit, rows.all()).classifier;
  FitOptions release = seeded_release({kGram, kClassSums}, folder_);
  release.data.classes = 2;
  const KeptStatistics of_release = released_by(release, rows.all());
  EXPECT_GT(of_release.of_rows.preprocessing.intercept, 0.0);
  EXPECT_EQ(refit(of_release, {}).classifier.parts().bias, fitted.parts().bias);
  release.statistics = {kClassSums};
  EXPECT_EQ(released_by(release, rows.all()).of_rows.preprocessing.intercept, 0.0);
}

// Two classes, and next to no noise, under a seed that leaves their sizes as they are: a release of matrices has rows
// with an intercept, which shortens features.
class RefitOfTwoClassesTest : public RefitTest {
 protected:
  FitOptions quiet(FitOptions options) const {
    options.data.classes = 2;
    options.privacy.budget.mu = 3000.0;
    options.privacy.seed = 6;
    return options;
  }
  KeptStatistics released_quietly() const {
    const KeptStatistics released =
        released_by(quiet(seeded_release({kGram, kClassSums, kClassSizes}, folder_)), rows_.all());
    EXPECT_GT(released.of_rows.preprocessing.intercept, 0.01);
    return released;
  }
  const FittedRows rows_ = rows_of_two_classes(600);
};

TEST_F(RefitOfTwoClassesTest, TheFisherRuleIsThatOfTheRowsThemselves) {
  const ClassifierParts made = refit(released_quietly(), {.method = RefitMethod::kFisher}).classifier.parts();
  const ClassifierParts expected = fitted_run(quiet(seeded_fit("fisher", folder_)), rows_.all()).classifier.parts();
  for (std::size_t e = 0; e < expected.weights.size(); ++e) {
    EXPECT_NEAR(made.weights[e], expected.weights[e], 0.003 * std::abs(expected.weights[0])) << e;
  }
}

TEST_F(RefitOfTwoClassesTest, IntervalsAreAboutTheWeightsThatAModelHas) {
  const KeptStatistics released = released_quietly();
  const nlohmann::json told = intervals_json(released, {}, 1.0, 0.95, rows_.x);
  const Classifier model = refit(released, {.lambda = 1.0}).classifier;
  const std::vector<double> scores = model.predict_scores(rows_.x);
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t a = 0; a < FittedRows::kDim; ++a) {
      EXPECT_NEAR(told["weights"][c]["estimates"][a].get<double>(), model.parts().weights[c * FittedRows::kDim + a],
                  1e-4);
    }
    EXPECT_NEAR(told["weights"][c]["estimates"].back().get<double>(), model.parts().bias[c], 1e-4);
    for (std::size_t row = 0; row < rows_.y.size(); row += 50) {
      EXPECT_NEAR(told["predictions"][c]["estimates"][row].get<double>(), scores[2 * row + c], 1e-4) << row;
    }
  }
}

// In units of the clip norm everything is the same: the number of rows too, which the trace tells.
TEST_F(RefitTest, ThePathIsTheSameInUnitsOfTheClipNorm) {
  const auto path_of = [&](double clip_norm) {
    FitOptions options = seeded_release({kGram, kClassSums}, folder_);
    options.rows.clip_norm = clip_norm;
    return refit(released_by(options, FittedRows(600, 5).all()), {.chooses_ridge = true}).path;
  };
  const std::vector<RidgePoint> one = path_of(1.0);
  const std::vector<RidgePoint> three = path_of(3.0);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t m = 0; m < one.size(); ++m) {
    EXPECT_NEAR(three[m].ridge / one[m].ridge, 9.0, 1e-6);
    EXPECT_NEAR(three[m].loss, one[m].loss, 1e-3 * one[m].loss);
    EXPECT_NEAR(three[m].noise, one[m].noise, 1e-3 * one[m].noise);
  }
}

// Of a share p of rows with a class, least squares by class scores p / (p + alpha), since negatives weigh alpha and
// positives 1 + alpha with the target 1 / (1 + alpha); with one matrix p. A class of a set counts from p = 1/2 on.
TEST_F(RefitTest, AClassOfASetCountsWhereHalfOfTheRowsHaveIt) {
  KeptStatistics statistics = released({kGram, kClassGrams});
  EXPECT_FALSE(refit(statistics, {}).classifier.parts().threshold);
  statistics.most_labels = 2;
  for (const double alpha : {0.5, 2.0}) {
    EXPECT_NEAR(*refit(statistics, {.alpha = alpha}).classifier.parts().threshold, 0.5 / (0.5 + alpha), 1e-12);
  }
  EXPECT_NEAR(*refit(statistics, {.shared_gram = true}).classifier.parts().threshold, 0.5, 1e-12);
  EXPECT_FALSE(refit(statistics, {.method = RefitMethod::kMean}).classifier.parts().threshold);
}

TEST_F(RefitTest, IntervalsAreOfPlainLeastSquaresAlone) {
  const KeptStatistics statistics = released({kGram, kClassGrams});
  const RefitOptions projected{.shared_gram = true, .components = 3};
  const RefitOptions weighing{.shared_gram = true, .class_weights = {1, 1, 5}};
  expect_refusals<UsageError>({{[&] { intervals(statistics, 1.0, projected); }, "--intervals goes without --pca"},
                               {[&] { intervals(statistics, 1.0, weighing); }, "and --weights"}});
}

TEST_F(RefitTest, WeightsOfTheFisherRuleAreOfShares) {
  const KeptStatistics statistics = released({kGram, kClassSums, kClassSizes});
  const ClassifierParts plain = refit(statistics, {.method = RefitMethod::kFisher}).classifier.parts();
  const ClassifierParts weighed =
      refit(statistics, {.method = RefitMethod::kFisher, .class_weights = {1, 1, 5}}).classifier.parts();
  EXPECT_EQ(weighed.weights, plain.weights);
  EXPECT_EQ(weighed.bias[0], plain.bias[0]);
  EXPECT_DOUBLE_EQ(weighed.bias[2], plain.bias[2] + std::log(5.0));
}

TEST_F(RefitTest, ThePathHasLessNoiseAtLargerRidgesAndTheLeastLossIsTaken) {
  const KeptStatistics statistics = released({kGram, kClassSums}, 1.0);
  const Refit made = refit(statistics, {.chooses_ridge = true});
  ASSERT_EQ(made.path.size(), 13U);
  double least = made.path.front().loss;
  for (std::size_t m = 1; m < made.path.size(); ++m) {
    EXPECT_LT(made.path[m].noise, made.path[m - 1].noise);
    least = std::min(least, made.path[m].loss);
  }
  const auto taken = std::ranges::find(made.path, least, &RidgePoint::loss);
  EXPECT_EQ(made.ridge, taken->ridge);
  // It is the model that this ridge gives.
  EXPECT_EQ(weights_of(statistics, {.lambda = made.ridge}), made.classifier.parts().weights);
}

TEST_F(RefitTest, ThePathIsRefusedWhereNothingTellsTheRows) {
  const KeptStatistics scaled = released({kGram, kClassSums});
  KeptStatistics clipped = scaled;
  clipped.of_rows.preprocessing.normalize = Normalize::kNone;
  EXPECT_THAT(refused(clipped, {.chooses_ridge = true}), HasSubstr("the number of rows is unknown"));
  EXPECT_THAT(refused(scaled, {.chooses_ridge = true, .classes = {0, 1}}), HasSubstr("the number of rows is unknown"));
  const KeptStatistics noised = released({kGram, kClassSums}, 0.05);
  clipped.blocks = noised.blocks;
  EXPECT_FALSE(intervals(clipped, 0.5).contains("prediction_noise"));
  KeptStatistics sized = released({kGram, kClassSums, kClassSizes}, 20.0);
  sized.of_rows.preprocessing.normalize = Normalize::kNone;
  EXPECT_GT(refit(sized, {.chooses_ridge = true}).path.front().loss, 0.0);
  const auto least = [&](const RefitOptions& options) {
    return std::ranges::min(refit(sized, options).path, {}, &RidgePoint::loss).loss;
  };
  // Of fewer classes each score is off by as much: rows of other classes have targets 0.
  EXPECT_LT(least({.chooses_ridge = true, .classes = {0, 1}}), 1.5 * least({.chooses_ridge = true}));
  sized.most_labels = 2;
  EXPECT_THAT(refused(sized, {.chooses_ridge = true}), HasSubstr("rows of one class each"));
}

TEST_F(RefitTest, WeightsThatSumsHaveNoRoomForAreRefused) {
  KeptStatistics statistics = released({kClassGrams});
  for (ReleasedBlock& block : statistics.blocks) {
    block = {block.name(), std::vector<std::int64_t>(block.values().size(), 1LL << 45), block.sigma()};
  }
  EXPECT_THAT(refused(statistics, {.shared_gram = true, .class_weights = {1, 1, 1e6}}), HasSubstr("passes 2^62"));
}

TEST_F(RefitTest, WhatStatisticsDoNotHaveIsNamed) {
  const KeptStatistics statistics = released({kGram, kClassSums});
  const std::pair<RefitOptions, const char*> asked[] = {
      {{.method = RefitMethod::kFisher}, "dpreduce release --statistics class_sizes"},
      {{.class_weights = {1, 1, 1}}, "class_grams"},
      {{.classes = {0, 3}}, "--classes-kept 3"},
      {{.features = {6}}, "--features 6"},
      {{.lambda = 0.0}, "--lambda"},
      {{.method = RefitMethod::kMean, .chooses_ridge = true}, "--method ls"}};
  for (const auto& [options, message] : asked) EXPECT_THAT(refused(statistics, options), HasSubstr(message));
}

TEST_F(RefitTest, IntervalsSayHowTheyWereMadeAndHoldTheirEstimates) {
  const KeptStatistics statistics = released({kGram, kClassSums, kClassSizes}, 30.0);
  const FittedRows rows(2, 9);
  const nlohmann::json json = intervals_json(statistics, {}, 1.0, 0.95, rows.x);
  EXPECT_EQ(json["kind"], "formula");
  EXPECT_EQ(json["chosen"], false);
  ASSERT_EQ(json["weights"].size(), FittedRows::kClasses);
  ASSERT_EQ(json["weights"][1]["estimates"].size(), FittedRows::kDim);
  ASSERT_EQ(json["predictions"][1]["estimates"].size(), 2U);
  const ClassifierParts parts = refit(statistics, {.lambda = 1.0}).classifier.parts();
  for (std::size_t a = 0; a < FittedRows::kDim; ++a) {
    const nlohmann::json& own = json["weights"][1];
    EXPECT_LT(own["low"][a], parts.weights[FittedRows::kDim + a]);
    EXPECT_GT(own["high"][a], parts.weights[FittedRows::kDim + a]);
    EXPECT_LT(own["population"]["low"][a], own["low"][a]);
  }
  EXPECT_THAT(json["population_assumes"].get<std::string>(),
              HasSubstr("assumes that labels or numbers have the same variance"));
  EXPECT_TRUE(intervals(statistics, 1.0, {.select = 3}).contains("note"));
  EXPECT_THAT(refusal<UsageError>([&] { intervals_json(statistics, {}, 1.0, 2.0, {}); }), HasSubstr("--level 2"));
}

TEST_F(RefitTest, IntervalsPromiseWhatTheirStatisticsDo) {
  KeptStatistics statistics = released({kGram, kClassSums}, 30.0);  // with a seed
  EXPECT_EQ(intervals(statistics)["private"], false);
  statistics.of_rows.forfeits = {Forfeit::kClassesFromRows};
  EXPECT_EQ(intervals(statistics)["forfeited_by"], nlohmann::json({"classes-from-rows"}));
  statistics.of_rows.forfeits = {};
  statistics.of_rows.privacy = {.epsilon = {}, .delta = {}, .mu = 1.0, .rho = {}};
  EXPECT_EQ(intervals(statistics)["private"], true);
}

// Of rows with several classes squared targets are not the sizes of classes.
TEST_F(RefitTest, OfLabelSetsAndOfPersonsNothingIsSaidOfThePopulation) {
  const KeptStatistics statistics = released({kGram, kClassSums, kClassSizes}, 30.0);
  ASSERT_TRUE(intervals(statistics)["weights"][0].contains("population"));
  KeptStatistics of_sets = statistics;
  of_sets.most_labels = 2;
  EXPECT_FALSE(intervals(of_sets)["weights"][0].contains("population"));
  KeptStatistics of_persons = statistics;
  of_persons.of_rows.privacy = {.epsilon = {}, .delta = {}, .mu = 1.0, .rho = {}};
  of_persons.of_rows.privacy->person = PersonStatement{};
  const nlohmann::json told = intervals(of_persons);
  EXPECT_FALSE(told["weights"][0].contains("population"));
  EXPECT_FALSE(told.contains("population_assumes"));
}

TEST_F(RefitTest, WhereNoiseIsLargeNothingIsSaidOfSingleWeights) {
  const nlohmann::json json = intervals(released({kGram, kClassSums}, 0.05), 0.5);
  EXPECT_EQ(json["kind"], "none");
  EXPECT_THAT(json["why"].get<std::string>(), HasSubstr("give no interval for single weights"));
  EXPECT_TRUE(json["weights"].empty());
  EXPECT_GT(json["prediction_noise"].get<double>(), 0.0);
}

}  // namespace dpreduce::refit_test
