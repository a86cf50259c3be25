// What an owner reads of noised figures: each one's value, ends and noise by its own name, as the report has them.
#include "report/reported_metrics.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "tests/testing.hpp"

namespace dpreduce::reported_metrics_test {

using nlohmann::json;

// Four numbers that no other figure has, rising with `number`.
json figure(int number, double from = 0.1) {
  const double low = from + 0.01 * number;
  return {{"value", low + 0.02}, {"low", low}, {"high", low + 0.05}, {"noise", 0.001 + 0.0001 * number}};
}

json with_members(json one, const json& more) {
  one.update(more);
  return one;
}

ReportedMetrics told_of(const json& metrics) {
  const json report{{"private", true},
                    {"level", 0.9},
                    {"metrics", metrics},
                    {"class_names", {"well", "ill"}},
                    {"model_names", {"old", "new"}},
                    {"group_names", {"north", "south"}}};
  return *reported_metrics(JsonFields(report, "r.json"));
}

TEST(ReportedMetrics, AreThoseOfTheReportByTheirNames) {
  json metrics;
  const std::vector<std::pair<std::string, std::string>> alone{{"accuracy", "accuracy of old"},
                                                               {"accuracy_b", "accuracy of new"},
                                                               {"difference", "new less old"},
                                                               {"largest_gap", "largest gap of groups"},
                                                               {"balanced_accuracy", "balanced accuracy"},
                                                               {"top_k", "top 5"},
                                                               {"auc", "AUC"},
                                                               {"best_f1", "best F1 (export --class-weights ill=22)"},
                                                               {"micro_f1", "micro F1"},
                                                               {"log_loss", "log loss"},
                                                               {"calibration_error", "calibration error"},
                                                               {"brier", "Brier score"},
                                                               {"r2", "R^2"},
                                                               {"rmse", "RMSE"}};
  for (std::size_t kind = 0; kind < alone.size(); ++kind) metrics[alone[kind].first] = figure(static_cast<int>(kind));
  metrics["log_loss"]["largest"] = 2.5;
  metrics["top_k"]["k"] = 5;
  metrics["best_f1"].update({{"class", 1}, {"weight", 22.0}, {"threshold", 1.0 / 23.0}});
  const ReportedMetrics told = told_of(metrics);
  EXPECT_TRUE(told.is_private);
  EXPECT_EQ(told.level, 0.9);
  ASSERT_EQ(told.lists.size(), 1U);
  ASSERT_EQ(told.lists.front().figures.size(), alone.size());
  for (const ReportedMetric& one : told.lists.front().figures) {
    const auto kind = std::ranges::find(alone, one.name, &std::pair<std::string, std::string>::second);
    ASSERT_NE(kind, alone.end()) << one.name;
    const json& own = metrics[kind->first];
    EXPECT_EQ(one.value, own["value"].get<double>()) << one.name;
    EXPECT_EQ(one.low, own["low"].get<double>()) << one.name;
    EXPECT_EQ(one.high, own["high"].get<double>()) << one.name;
    EXPECT_EQ(one.noise, own["noise"].get<double>()) << one.name;
    const bool is_share =
        kind->second != "log loss" && kind->second != "Brier score" && kind->second != "R^2" && kind->second != "RMSE";
    EXPECT_EQ(one.written == Written::kShare || one.name == "new less old", is_share) << one.name;
    EXPECT_EQ(one.written == Written::kDifference, one.name == "new less old") << one.name;
  }
  const Facts facts = facts_of(told_of({{"accuracy", figure(3)}}));
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts.front().name, "accuracy");
  EXPECT_EQ(facts.front().value.text, "0.150, from 0.130 to 0.180, noise 0.0013");
}

TEST(ReportedMetrics, OfTwoModelsHaveTheirNamesWhereTheseDiffer) {
  const auto names_of = [](const json& models) {
    const json report{{"private", true},
                      {"level", 0.9},
                      {"metrics", {{"accuracy", figure(1)}, {"accuracy_b", figure(2)}, {"difference", figure(3)}}},
                      {"model_names", models}};
    std::vector<std::string> names;
    const ReportedMetrics told = *reported_metrics(JsonFields(report, "r.json"));
    for (const ReportedMetric& one : told.lists.front().figures) names.push_back(one.name);
    return names;
  };
  EXPECT_THAT(names_of(json::array({"old", "new"})), ElementsAre("accuracy of old", "accuracy of new", "new less old"));
  for (const json& models : {json::array(), json::array({"model"}), json::array({"model", "model"})}) {
    EXPECT_THAT(names_of(models), ElementsAre("accuracy of first", "accuracy of second", "second less first"));
  }
}

TEST(ReportedMetrics, OfEachClassGroupAndTargetHaveItsName) {
  json metrics;
  for (const auto& [member, of] :
       {std::pair{"by_group", "group"}, std::pair{"recall", "class"}, std::pair{"precision", "class"},
        std::pair{"f1", "class"}, std::pair{"r2_by_target", "target"}, std::pair{"rmse_by_target", "target"}}) {
    metrics[member] = {with_members(figure(1), {{of, 0}}), with_members(figure(2), {{of, 1}})};
  }
  std::vector<std::string> names;
  for (const ReportedList& list : told_of(metrics).lists) {
    for (std::size_t place = 0; place < list.figures.size(); ++place) {
      names.push_back(list.figures[place].name);
      EXPECT_NEAR(list.figures[place].low, 0.11 + 0.01 * static_cast<double>(place), 1e-12);
      EXPECT_NEAR(list.figures[place].high, 0.16 + 0.01 * static_cast<double>(place), 1e-12);
    }
  }
  EXPECT_THAT(names, ElementsAre("accuracy of north", "accuracy of south", "recall of well", "recall of ill",
                                 "precision of well", "precision of ill", "F1 of well", "F1 of ill", "R^2 of target 0",
                                 "R^2 of target 1", "RMSE of target 0", "RMSE of target 1"));
}

// From where to where a figure may be: beyond it the file is not one that the program wrote.
TEST(ReportedMetrics, MayBeWhatTheirKindMayBe) {
  const auto is_read = [](const char* member, double low, double high) {
    json one = figure(0);
    one.update({{"value", low}, {"low", low}, {"high", high}});
    if (member == std::string("log_loss")) one["largest"] = 2.5;
    return refusal<BadInput>([&] { told_of({{member, one}}); }).empty();
  };
  EXPECT_TRUE(is_read("r2", kLeastR2, 1.0));
  EXPECT_FALSE(is_read("r2", kLeastR2 - 0.1, 1.0));
  EXPECT_FALSE(is_read("r2", 0.0, 1.1));
  EXPECT_TRUE(is_read("difference", -1.0, 1.0));
  EXPECT_FALSE(is_read("accuracy", -0.1, 1.0));
  EXPECT_FALSE(is_read("accuracy", 0.0, 1.1));
  EXPECT_TRUE(is_read("brier", 0.0, 2.0));
  EXPECT_TRUE(is_read("log_loss", 0.0, 2.5));
  EXPECT_FALSE(is_read("log_loss", 0.0, 2.6));
  EXPECT_TRUE(is_read("rmse", 0.0, 1e9));
}

TEST(ReportedMetrics, WithoutAValueSayThatDataAreTooFewAndLongListsTheirLength) {
  json nothing = figure(0);
  nothing["value"] = nullptr;
  EXPECT_EQ(facts_of(told_of({{"accuracy", nothing}})).front().value.text, "too little data for this budget");
  json recall = json::array();
  for (int c = 0; c < 21; ++c) recall.push_back(with_members(figure(c, 0.0), {{"class", c}}));
  const json report{{"private", true}, {"level", 0.9}, {"metrics", {{"recall", recall}}}};
  EXPECT_EQ(facts_of(*reported_metrics(JsonFields(report, "r.json"))).front().value.text,
            "21 figures, in the JSON report");
}

}  // namespace dpreduce::reported_metrics_test
