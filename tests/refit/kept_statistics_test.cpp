#include "refit/kept_statistics.hpp"

#include "common/data/safetensors.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/refit/released_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::kept_statistics_test {

using enum StatisticKind;

class KeptStatisticsTest : public testing::Test {
 protected:
  KeptStatistics released(std::vector<StatisticKind> kinds, unsigned seed = 1, double mu = 2.0) const {
    const TemporaryFolder folder;
    FitOptions options = seeded_release(std::move(kinds), folder);
    options.privacy.budget.mu = mu;
    return released_by(options, FittedRows(300, seed));
  }
  static std::string refusal_of_sum(const KeptStatistics& one, const KeptStatistics& other) {
    return refusal<UsageError>([&] { one + other; });
  }
};

TEST_F(KeptStatisticsTest, AReleaseHoldsWhatItWasAskedFor) {
  const auto blocks = [&](std::vector<StatisticKind> kinds) {
    std::vector<std::string> names;
    for (const ReleasedBlock& block : released(std::move(kinds)).blocks) names.push_back(block.name());
    return names;
  };
  EXPECT_THAT(blocks({kGram}), ElementsAre("gram"));
  EXPECT_THAT(blocks({kClassSums}), ElementsAre("class_sums"));
  EXPECT_THAT(blocks({kClassSizes}), ElementsAre("class_counts"));
  EXPECT_THAT(blocks({kGram, kClassSums}), ElementsAre("gram", "class_sums"));
  EXPECT_THAT(blocks({kClassSums, kClassSizes}), ElementsAre("class_sums", "class_counts"));
  EXPECT_THAT(blocks({kGram, kClassSums, kClassSizes}), ElementsAre("gram", "class_sums", "class_counts"));
  EXPECT_THAT(blocks({kClassGrams}), ElementsAre("class_sums", "class_grams"));
  EXPECT_THAT(blocks({kGram, kClassGrams, kClassSizes}),
              ElementsAre("gram", "class_sums", "class_counts", "class_grams"));
}

TEST_F(KeptStatisticsTest, SumsAreThoseOfTheRowsWithinTheirNoise) {
  const KeptStatistics statistics = released({kGram, kClassGrams, kClassSizes}, 1, 1e4);
  const std::size_t dim = FittedRows::kDim;
  const double square = std::pow(statistics.lattice().scale(), 2);
  const ReleasedBlock& gram = statistics.block("gram");
  double trace = 0.0;
  for (std::size_t a = 0; a < dim; ++a) trace += static_cast<double>(gram.values()[triangle_row(a, dim)]) / square;
  EXPECT_NEAR(trace, 300.0, 0.5);  // rows have norm 1
  for (const std::int64_t count : statistics.block("class_counts").values()) EXPECT_NEAR(count, 100, 3);
  const ReleasedBlock& grams = statistics.block("class_grams");
  for (std::size_t e = 0; e < gram.values().size(); ++e) {
    double sum = 0.0;
    for (std::size_t c = 0; c < FittedRows::kClasses; ++c) {
      sum += static_cast<double>(grams.values()[c * gram.values().size() + e]);
    }
    EXPECT_NEAR(sum, static_cast<double>(gram.values()[e]),
                6.0 * std::hypot(std::sqrt(3.0) * grams.sigma(), gram.sigma()));
  }
}

TEST_F(KeptStatisticsTest, TheFileIsReadAsItWasWritten) {
  const KeptStatistics statistics = released({kGram, kClassSums, kClassSizes});
  const std::vector<std::byte> bytes = to_bytes(statistics);
  EXPECT_EQ(to_bytes(statistics_from_bytes(bytes, "file")), bytes);
  const SafetensorsFile file = parse_safetensors(bytes, "file");
  EXPECT_EQ(nlohmann::json::parse(file.metadata.at("sigma"))["gram"].get<double>(), statistics.block("gram").sigma());
  EXPECT_EQ(std::stod(file.metadata.at("scale")), statistics.lattice().scale());
}

TEST_F(KeptStatisticsTest, AFileThatDepartsFromItsFormIsRefused) {
  const SafetensorsFile whole = parse_safetensors(to_bytes(released({kGram, kClassSums})), "file");
  const auto refused = [&](const std::function<void(SafetensorsFile&)>& change) {
    SafetensorsFile file = whole;
    change(file);
    return refusal<BadInput>([&] { statistics_from_bytes(serialize(file), "s.safetensors"); });
  };
  const auto refused_with = [&](const std::string& key, const std::string& text) {
    return refused([&](auto& file) { file.metadata[key] = text; });
  };
  EXPECT_THAT(refused_with("scale", "1"), HasSubstr("another lattice"));
  EXPECT_THAT(refused_with("format", "dpreduce-classifier"), HasSubstr("not dpreduce-statistics"));
  EXPECT_THAT(refused_with("class_names", R"(["one"])"), HasSubstr("s.safetensors: "));
  EXPECT_THAT(refused_with("feature_names", R"(["one"])"), HasSubstr("s.safetensors: names of features"));
  EXPECT_THAT(refused_with("sigma", "{}"), HasSubstr("sigma has no value for gram"));
  EXPECT_THAT(refused_with("sigma", R"({"gram": 1, "class_sums": 1e300})"), HasSubstr("sigma of class_sums is 1e+300"));
  EXPECT_THAT(refused_with("sigma", R"({"gram": -1, "class_sums": 1})"), HasSubstr("sigma of gram is -1"));
  EXPECT_THAT(refused_with("settings", R"({"alpha": -5})"), HasSubstr("settings.alpha"));
  EXPECT_THAT(refused_with("most_labels", "0"), HasSubstr("most_labels is 0"));
  EXPECT_THAT(refused([](auto& file) { file.tensors.erase("gram"), file.tensors.erase("class_sums"); }),
              HasSubstr("no block"));
  EXPECT_THAT(refused([](auto& file) { file.tensors["gram"].shape = {3, 7}; }), HasSubstr("gram has the shape"));
  EXPECT_THAT(refused([](auto& file) { std::ranges::fill(file.tensors["gram"].data, std::byte{0x7f}); }),
              HasSubstr("gram has a sum beyond 2^62"));
}

TEST_F(KeptStatisticsTest, StatisticsOfDisjointRowsAddUpWithTheirNoise) {
  const KeptStatistics one = released({kGram, kClassSums}, 1);
  const KeptStatistics other = released({kGram, kClassSums}, 2, 1.0);
  const KeptStatistics both = one + other;
  EXPECT_EQ(both.block("gram").values()[3], one.block("gram").values()[3] + other.block("gram").values()[3]);
  EXPECT_DOUBLE_EQ(both.block("gram").sigma(), std::hypot(one.block("gram").sigma(), other.block("gram").sigma()));
  EXPECT_NO_THROW(refit(both, {}));
}

TEST_F(KeptStatisticsTest, OneReleaseIsNotAddedToItself) {
  const KeptStatistics one = released({kGram, kClassSums});
  EXPECT_THAT(refusal_of_sum(one, one), HasSubstr("both have the same gram"));
  KeptStatistics large = one;
  large.blocks.front() = {"gram", std::vector<std::int64_t>(one.block("gram").values().size(), (1LL << 62) - 1), 1.0};
  large.blocks.back() = {"class_sums", std::vector<std::int64_t>(one.block("class_sums").values().size(), 1), 1.0};
  KeptStatistics other = large;
  other.blocks.front() = {"gram", std::vector<std::int64_t>(one.block("gram").values().size(), 5), 1.0};
  other.blocks.back() = {"class_sums", std::vector<std::int64_t>(one.block("class_sums").values().size(), 2), 1.0};
  EXPECT_THAT(refusal_of_sum(large, other), HasSubstr("a sum of gram passes 2^62"));
}

TEST_F(KeptStatisticsTest, OfTwoPromisesTheWeakerHolds) {
  KeptStatistics one = released({kClassSums});
  KeptStatistics other = released({kClassSums}, 2);
  one.of_rows.privacy = {.epsilon = 1.0, .delta = 1e-6, .mu = 0.3, .rho = {}};
  other.of_rows.privacy = {.epsilon = 0.5, .delta = 1e-5, .mu = 0.4, .rho = {}};
  one.of_rows.forfeits = other.of_rows.forfeits = {};
  const PrivacyStatement both = *(one + other).of_rows.privacy;
  EXPECT_EQ(both.epsilon, 1.0);
  EXPECT_EQ(both.delta, 1e-5);
  EXPECT_EQ(both.mu, 0.4);
}

TEST_F(KeptStatisticsTest, StatisticsOfRowsThatAreNotAlikeAreRefused) {
  const KeptStatistics one = released({kGram, kClassSums});
  KeptStatistics other = one;
  other.of_rows.preprocessing.center = std::vector<double>(FittedRows::kDim, 0.1);
  EXPECT_THAT(refusal_of_sum(one, other), HasSubstr("how rows were prepared"));
  EXPECT_THAT(refusal_of_sum(one, released({kGram})), HasSubstr("the statistics that they hold"));
  other = one;
  other.most_labels = 2;
  EXPECT_THAT(refusal_of_sum(one, other), HasSubstr("how many classes a row may have"));
}

TEST_F(KeptStatisticsTest, NamesOfFeaturesAreComparedWhereBothHaveSome) {
  const KeptStatistics one = released({kGram, kClassSums}, 1);
  KeptStatistics other = released({kGram, kClassSums}, 2);
  for (std::size_t a = 0; a < FittedRows::kDim; ++a) other.of_rows.feature_names.push_back(fmt::format("f{}", a));
  EXPECT_EQ((one + other).of_rows.feature_names, other.of_rows.feature_names);
  KeptStatistics third = other;
  std::ranges::reverse(third.of_rows.feature_names);
  EXPECT_THAT(refusal_of_sum(other, third), HasSubstr("names of features"));
}

TEST_F(KeptStatisticsTest, SettingsOfASumAreThoseOfBoth) {
  KeptStatistics one = released({kClassGrams}, 1);
  KeptStatistics other = released({kClassGrams}, 2);
  one.settings = {{"alpha", 0.5}, {"gram_share", 0.5}, {"intercept", 0.0}};
  other.settings = {{"alpha", 0.5}, {"gram_share", 0.25}, {"intercept", 0.0}};
  EXPECT_EQ((one + other).settings, (nlohmann::json{{"alpha", 0.5}, {"intercept", 0.0}}));
  other.settings["alpha"] = 2.0;
  EXPECT_THAT(refusal_of_sum(one, other), HasSubstr("--alpha (0.5 and 2)"));
}

}  // namespace dpreduce::kept_statistics_test
