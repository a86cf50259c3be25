#include "audit/reader_audit.hpp"

#include <cstdio>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

constexpr ReaderTerms kTerms{.runs_per_world = 240, .delta = 1e-6, .error = 1e-3};

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

ReaderLoss audit(const std::function<void(World, nlohmann::json&)>& leak) {
  std::mt19937_64 engine(1);
  return audit_by_reading(
      [&](World world) {
        nlohmann::json json = noise(engine);
        leak(world, json);
        PublicFields fields;
        fields.add_json("f", json);
        return fields;
      },
      kTerms);
}

TEST(ReaderAudit, ProvesNothingWhereFilesTellNothing) {
  const ReaderLoss loss = audit([](World, nlohmann::json&) {});
  EXPECT_EQ(loss.proven.mu, 0.0);
  EXPECT_EQ(loss.proven.epsilon, 0.0);
  EXPECT_GE(loss.fields, 400U);
}

TEST(ReaderAudit, FindsANumberAmongHundreds) {
  const ReaderLoss loss =
      audit([](World world, nlohmann::json& json) { json["rows"] = world == World::kWithCanary ? 18 : 17; });
  EXPECT_GT(loss.proven.mu, 2.0);
  EXPECT_GT(loss.proven.epsilon, 2.0);
  EXPECT_EQ(loss.strongest, "f/rows");
}

TEST(ReaderAudit, FindsTwoWordsThatAreEqualInOneWorldAlone) {
  const ReaderLoss loss = audit([](World world, nlohmann::json& json) {
    json["word"][70] = world == World::kWithCanary ? json["word"][71] : json["word"][3];
  });
  EXPECT_GT(loss.proven.mu, 2.0);
}

TEST(ReaderAudit, FindsAFieldThatIsThereInOneWorldAlone) {
  const ReaderLoss loss = audit([](World world, nlohmann::json& json) {
    if (world == World::kWithCanary) json["warning"] = "w" + json["number"][0].dump();
  });
  EXPECT_GT(loss.proven.mu, 2.0);
}

TEST(ReaderAudit, FindsAFigureUnderAnyName) {
  for (const std::string name : {"timings", "seconds", "time", "version", "run"}) {
    const ReaderLoss loss = audit(
        [&](World world, nlohmann::json& json) { json[name]["rows"] = world == World::kWithCanary ? 4754.0 : 4736.0; });
    EXPECT_GT(loss.proven.mu, 2.0) << name;
  }
}

TEST(ReaderAudit, FindsAFigureInAWordThatLooksDrawn) {
  std::mt19937_64 draws(2);
  const ReaderLoss loss = audit([&](World world, nlohmann::json& json) {
    char id[33];
    std::snprintf(id, sizeof id, "%016zx%014zx%02x", static_cast<std::size_t>(draws()),
                  static_cast<std::size_t>(draws() >> 8), world == World::kWithCanary ? 18U : 17U);
    json["run"] = id;
  });
  EXPECT_GT(loss.proven.mu, 2.0);
  EXPECT_EQ(loss.strongest, "f/run, digit 32");
}

TEST(ReaderAudit, WhatDriftsWithTimeTellsNothing) {
  double time = 0.0;
  const ReaderLoss loss = audit([&](World, nlohmann::json& json) { json["clock"] = ++time; });
  EXPECT_EQ(loss.proven.mu, 0.0);
}

TEST(ReaderAudit, TakesRunsEnoughToRefuteALargeClaim) {
  EXPECT_EQ(reader_runs(0.3), 120U);
  EXPECT_GT(reader_runs(4.0), 1000U);
  EXPECT_LE(reader_runs(20.0), 6000U);
}

TEST(ReaderAudit, NeedsSomeRuns) {
  EXPECT_THROW(
      audit_by_reading([](World) { return PublicFields(); }, {.runs_per_world = 11, .delta = 0.0, .error = 0.1}),
      std::logic_error);
}

}  // namespace
}  // namespace dpreduce
