#include "common/data/safetensors.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/refit/released_rows.hpp"

namespace dpreduce::kept_statistics_test {

using enum StatisticKind;

class KeptStatisticsTest : public testing::Test {
 protected:
  KeptStatistics released(std::vector<StatisticKind> kinds, unsigned seed = 1, double mu = 2.0) const {
    const TemporaryFolder folder;
    FitOptions options = seeded_release(std::move(kinds), folder);
    options.privacy.budget.mu = mu;
    return released_by(options, FittedRows(300, seed).all());
  }
  static std::string refusal_of_sum(const KeptStatistics& one, const KeptStatistics& other) {
    return refusal<UsageError>([&] { one + other; });
  }
};

TEST_F(KeptStatisticsTest, AReleaseHoldsWhatItWasAskedFor) {
  const std::pair<std::vector<StatisticKind>, std::vector<std::string>> asked[] = {
      {{kGram}, {"gram"}},
      {{kClassSums}, {"class_sums"}},
      {{kClassSizes}, {"class_counts"}},
      {{kGram, kClassSums}, {"gram", "class_sums"}},
      {{kClassSums, kClassSizes}, {"class_sums", "class_counts"}},
      {{kGram, kClassSums, kClassSizes}, {"gram", "class_sums", "class_counts"}},
      {{kClassGrams}, {"class_sums", "class_grams"}},
      {{kGram, kClassGrams, kClassSizes}, {"gram", "class_sums", "class_counts", "class_grams"}}};
  for (const auto& [kinds, expected] : asked) {
    std::vector<std::string> names;
    for (const ReleasedBlock& block : released(kinds).blocks) names.push_back(block.name());
    EXPECT_EQ(names, expected);
  }
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
  const auto text = [](const std::string& key, const std::string& value) {
    return [=](SafetensorsFile& file) { file.metadata[key] = value; };
  };
  const Spoils<SafetensorsFile> spoils{
      {text("scale", "1"), "another lattice"},
      {text("format", "dpreduce-classifier"), "not dpreduce-statistics"},
      {text("class_names", R"(["one"])"), "s.safetensors: "},
      {text("feature_names", R"(["one"])"), "s.safetensors: names of features"},
      {text("sigma", "{}"), "sigma has no value for gram"},
      {text("sigma", R"({"gram": 1, "class_sums": 1e300})"), "sigma of class_sums is 1e+300"},
      {text("sigma", R"({"gram": -1, "class_sums": 1})"), "sigma of gram is -1"},
      {text("settings", R"({"alpha": -5})"), "settings.alpha"},
      {text("most_labels", "0"), "most_labels is 0"},
      {[](auto& file) { file.tensors.erase("gram"), file.tensors.erase("class_sums"); }, "no block"},
      {[](auto& file) {
         file.tensors["gram"].shape.assign({3, 7});
       },
       "gram has the shape"},
      {[](auto& file) { std::ranges::fill(file.tensors["gram"].data, std::byte{0x7f}); },
       "gram has a sum beyond 2^62"}};
  for (const auto& [spoil, message] : spoils) {
    SafetensorsFile file = whole;
    spoil(file);
    EXPECT_THAT(refusal<BadInput>([&] { statistics_from_bytes(serialize(file), "s.safetensors"); }),
                HasSubstr(message));
  }
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
  const auto all_of = [&](std::int64_t gram, std::int64_t sums) {
    KeptStatistics same = one;
    same.blocks.front() = {"gram", std::vector(one.block("gram").values().size(), gram), 1.0};
    same.blocks.back() = {"class_sums", std::vector(one.block("class_sums").values().size(), sums), 1.0};
    return same;
  };
  EXPECT_THAT(refusal_of_sum(all_of((1LL << 62) - 1, 1), all_of(5, 2)), HasSubstr("a sum of gram passes 2^62"));
}

TEST_F(KeptStatisticsTest, OfTwoPromisesTheWeakerHolds) {
  KeptStatistics one = released({kClassSums});
  KeptStatistics other = released({kClassSums}, 2);
  one.of_rows.privacy = {.epsilon = 1.0, .delta = 1e-6, .mu = 0.3, .rho = {}};
  other.of_rows.privacy = {.epsilon = 0.5, .delta = 1e-5, .mu = 0.4, .rho = {}};
  one.of_rows.forfeits = other.of_rows.forfeits = {};
  const PrivacyStatement both = *(one + other).of_rows.privacy;
  EXPECT_EQ(std::tuple(both.epsilon, both.delta, both.mu), std::tuple(1.0, 1e-5, 0.4));
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
