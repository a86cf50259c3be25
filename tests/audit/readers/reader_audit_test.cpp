#include "tests/audit/readers/reader_audit.hpp"

#include <nlohmann/json.hpp>

#include "audit/confidence_bounds.hpp"
#include "tests/testing.hpp"

namespace dpreduce::reader_audit_test {

PublicFields fields(const nlohmann::json& json) {
  PublicFields result;
  result.add_json("f", json);
  return result;
}

double entry(const FieldTable& table, const PublicFields& run, const std::string& column) {
  const auto found = std::find(table.columns().begin(), table.columns().end(), column);
  EXPECT_NE(found, table.columns().end()) << column;
  return table.row(run).at(static_cast<std::size_t>(found - table.columns().begin()));
}

TEST(FieldTable, SaysWhichWordsAreEqual) {
  const PublicFields equal = fields({{"a", "x"}, {"b", "x"}});
  const PublicFields unequal = fields({{"a", "x"}, {"b", "y"}});
  const FieldTable table({&equal});
  EXPECT_NE(entry(table, equal, "f/b: which field it equals"), entry(table, unequal, "f/b: which field it equals"));
  EXPECT_EQ(entry(table, equal, "how many words differ"), 1.0);
  EXPECT_EQ(entry(table, unequal, "how many words differ"), 2.0);
}

TEST(FieldTable, WordsThatAreNewInEveryRunChangeNothing) {
  const PublicFields one = fields({{"id", "3f"}, {"signature", "aa"}});
  const PublicFields other = fields({{"id", "7c"}, {"signature", "b0"}});
  const PublicFields third = fields({{"id", "90"}, {"signature", "c1"}});
  const FieldTable table({&one});
  EXPECT_EQ(table.row(other), table.row(third));
}

TEST(FieldTable, ShowsNumbersAndWhetherTheyAreThere) {
  const PublicFields with = fields({{"n", 17}});
  const PublicFields without = fields(nlohmann::json::object());
  const FieldTable table({&with});
  EXPECT_EQ(entry(table, with, "f/n"), 17.0);
  EXPECT_EQ(entry(table, with, "f/n: is there"), 1.0);
  EXPECT_EQ(entry(table, without, "f/n: is there"), 0.0);
}

TEST(FieldTable, CountsFieldsThatItDoesNotKnow) {
  const PublicFields known = fields({{"a", 1}});
  const FieldTable table({&known});
  EXPECT_EQ(entry(table, fields({{"a", 1}, {"b", 2}, {"c", "x"}}), "how many fields are new"), 2.0);
  EXPECT_EQ(table.row(known).size(), table.columns().size());
}

TEST(FieldTable, NeedsARun) {
  EXPECT_THROW(FieldTable({}), std::logic_error);
}

constexpr ReaderTerms kTerms{.runs_per_world = 140, .delta = 1e-6, .error = 1e-3};

// A hundred numbers and as many words, which are new in each run.
nlohmann::json noise(std::mt19937_64& engine) {
  nlohmann::json json;
  std::normal_distribution<double> normal;
  for (int field = 0; field < 100; ++field) {
    json["number"].push_back(normal(engine));
    json["word"].push_back("w" + std::to_string(engine()));
  }
  return json;
}

using Leak = std::function<void(bool has_canary, nlohmann::json&)>;

ReaderLoss audit(const Leak& leak) {
  std::mt19937_64 engine(1);
  return audit_by_reading(
      [&](World world) {
        nlohmann::json json = noise(engine);
        leak(world == World::kWithCanary, json);
        return fields(json);
      },
      kTerms);
}

TEST(ReaderAudit, ProvesNothingWhereFilesTellNothing) {
  const ReaderLoss loss = audit([](bool, nlohmann::json&) {});
  EXPECT_EQ(loss.proven.mu, 0.0);
  EXPECT_EQ(loss.proven.epsilon, 0.0);
  EXPECT_GE(loss.fields, 400U);
}

TEST(ReaderAudit, FindsAmongHundredsOfFieldsWhatOneWorldAloneSays) {
  std::mt19937_64 draws(2);
  struct Case {
    std::string name;
    Leak leak;
    std::string strongest{};  // empty: any column
  };
  std::vector<Case> cases{
      {"a number", [](bool with, nlohmann::json& json) { json["rows"] = with ? 18 : 17; }, "f/rows"},
      {"two words that are equal",
       [](bool with, nlohmann::json& json) { json["word"][70] = with ? json["word"][71] : json["word"][3]; }},
      {"a field that is there",
       [](bool with, nlohmann::json& json) {
         if (with) json["warning"] = "w" + json["number"][0].dump();
       }},
      {"a figure in a word that looks drawn",
       [&](bool with, nlohmann::json& json) {
         const std::uint64_t first = draws(), second = draws() >> 8;
         json["run"] = fmt::format("{:016x}{:014x}{:02x}", first, second, with ? 18U : 17U);
       },
       "f/run, digit 32"}};
  for (const std::string name : {"timings", "seconds", "time", "version", "run"}) {
    cases.push_back(
        {name, [name](bool with, nlohmann::json& json) { json[name]["rows"] = with ? 4754.0 : 4736.0; }, {}});
  }
  for (const auto& [name, leak, strongest] : cases) {
    SCOPED_TRACE(name);
    const ReaderLoss loss = audit(leak);
    EXPECT_GT(loss.proven.mu, 2.0);
    EXPECT_GT(loss.proven.epsilon, 2.0);
    EXPECT_TRUE(strongest.empty() || loss.strongest == strongest) << loss.strongest;
  }
}

TEST(ReaderAudit, WhatDriftsWithTimeTellsNothing) {
  double time = 0.0;
  const ReaderLoss loss = audit([&](bool, nlohmann::json& json) { json["clock"] = ++time; });
  EXPECT_EQ(loss.proven.mu, 0.0);
}

TEST(ReaderAudit, TakesRunsEnoughToRefuteTheClaimAndNoMore) {
  const auto claim = [](double epsilon, double delta, std::optional<double> mu) {
    return Guarantee{.epsilon = epsilon, .delta = delta, .mu = mu, .rho = std::nullopt};
  };
  constexpr double kError = 1e-3;
  for (const Guarantee& of :
       {claim(50, 1e-5, 0.3), claim(50, 1e-5, 4), claim(2, 0, 30), claim(1, 1e-6, std::nullopt)}) {
    const std::size_t runs = reader_runs(of, kError).value();
    const auto refutes = [&](std::size_t counted) {
      // Of `counted` runs of each world, all rightly: TPR >= p and FPR <= 1 - p, but for kError / 4 each.
      const double p = std::pow(kError / 4, 1.0 / static_cast<double>(counted));
      return (of.mu && 2 * normal_quantile(p) > *of.mu) || std::log((p - of.delta) / (1 - p)) > of.epsilon;
    };
    EXPECT_TRUE(refutes(runs - runs / 2));
    EXPECT_GE(runs, kRunsToLearn);
    EXPECT_TRUE(runs == kRunsToLearn || !refutes(runs - 1 - (runs - 1) / 2));
  }
  EXPECT_FALSE(reader_runs(claim(50, 1e-5, 20), kError));
}

TEST(ReaderAudit, NeedsSomeRuns) {
  EXPECT_THROW(
      audit_by_reading([](World) { return PublicFields(); }, {.runs_per_world = 11, .delta = 0.0, .error = 0.1}),
      std::logic_error);
}

}  // namespace dpreduce::reader_audit_test
