// The questions of reviewers, each with its answer, and nothing that is not true of the run.
#include "report/dossier.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "tests/report/reported_runs.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string dossier_of(json report, const std::vector<ReportedAudit>& audits = {}) {
  return dossier(run_of(std::move(report)), "r.json", audits);
}

json audit_of_mean() {
  return {{"method", "mean"},         {"adjacency", "add-remove"},
          {"unit", "record"},         {"claimed", {{"epsilon", 2.0}, {"delta", 1e-5}, {"mu", 0.5}}},
          {"epsilon_lower", 0.51239}, {"confidence", 0.999},
          {"refuted", false},         {"trials", 4000}};
}

TEST(Dossier, AnswersEveryQuestionOnce) {
  const std::string text = dossier_of(report_of_mean());
  std::size_t before = 0;
  for (const char* question : {"Unit", "Neighbors", "Epsilon and delta", "Composition", "Utility by class",
                               "Floating point", "Timing", "Threat model", "Tests of this model"}) {
    const std::size_t at = text.find(fmt::format("\n## {}", question));
    ASSERT_NE(at, std::string::npos) << question;
    EXPECT_GT(at, before);
    before = at;
    EXPECT_EQ(text.find(fmt::format("\n## {}", question), at + 1), std::string::npos);
  }
}

// Phi(Phi^-1(0.01) + 0.5) = 0.033899, Phi(0.25) = 0.598706.
TEST(Dossier, TellsWhatAnAttackerGainsRoundedUp) {
  EXPECT_THAT(dossier_of(report_of_mean()), AllOf(HasSubstr("| 1 % | 3.39 % | 1 % |"), HasSubstr("at most 59.9 %")));
}

TEST(Dossier, TellsTheFiguresOfEachClassAndNoCount) {
  EXPECT_THAT(dossier_of(report_of_mean()),
              AllOf(HasSubstr("**Outside of the guarantee**"), HasSubstr("| well | 0.969 | 0.900 |"),
                    HasSubstr("| ill\\_\\* | none | 0.910 |"), Not(HasSubstr("3307")), Not(HasSubstr("6400"))));
}

TEST(Dossier, OfManyClassesItTellsTheWorst) {
  json report = report_of_mean();
  report["classes"] = 300;
  report.erase("class_names");
  report["test"] = {{"per_class", json::array()}};
  for (int c = 0; c < 300; ++c) report["test"]["per_class"].push_back(c == 250 ? 0.125 : 0.5 + c / 1000.0);
  EXPECT_THAT(dossier_of(report),
              AllOf(HasSubstr("of 300 classes these are the 100 with the lowest recall"), HasSubstr("| 250 | 0.125 |"),
                    HasSubstr("| 98 | 0.598 |"), Not(HasSubstr("| 99 | "))));
}

TEST(Dossier, LeavesOutFiguresOfTrainingRows) {
  json report = report_of_mean();
  report["test"]["rows_are_training_rows"] = true;
  EXPECT_THAT(dossier_of(report), AllOf(HasSubstr("test on other rows"), Not(HasSubstr("0.969"))));
}

TEST(Dossier, SaysWhereThereWereNoTestRows) {
  json report = report_of_mean();
  report.erase("test");
  EXPECT_THAT(dossier_of(report), HasSubstr("The fit had no test rows"));
}

TEST(Dossier, OfSilosAndPersonsSaysWhomToTrust) {
  EXPECT_THAT(
      dossier_of(report_of_silos()),
      AllOf(HasSubstr("one person with any number of rows"), HasSubstr("no person has rows in more than 2 silos"),
            HasSubstr("the coordinator together with up to 1 silo"), HasSubstr("--rows-per-person 3")));
}

TEST(Dossier, OfAChoiceSpeaksOfNoNoise) {
  EXPECT_THAT(
      dossier_of(report_of_choice()),
      AllOf(HasSubstr("drawn exactly from integer utilities"), Not(HasSubstr("real Gaussian")),
            HasSubstr("| prototypes | 2 | 10 | 1 | 1 |"), HasSubstr("--method public --epsilon 2 --adjacency")));
}

TEST(Dossier, WithoutAnAuditItSaysHowToMakeOne) {
  EXPECT_THAT(dossier_of(report_of_mean()),
              HasSubstr("dpreduce audit --method mean --epsilon 2 --delta 1e-05 --adjacency add-remove"));
}

TEST(Dossier, TellsAuditsWithBoundsRoundedDown) {
  json one_run = audit_of_mean();
  one_run.erase("trials");
  one_run.update({{"canaries", 200}, {"guesses", 40}, {"correct", 21}, {"refuted", true}});
  const std::string text = dossier_of(report_of_mean(), {{audit_of_mean(), "a"}, {one_run, "b"}});
  EXPECT_THAT(text, AllOf(HasSubstr("4000 training runs on adjacent data sets: at least epsilon 0.5123 is lost"),
                          HasSubstr("(confidence 0.999); the claim stands"), HasSubstr("21 of 40 guesses"),
                          HasSubstr("REFUTED"), Not(HasSubstr("None was given"))));
}

TEST(Dossier, RefusesAuditsOfAnotherClaim) {
  const auto refused = [](const char* name, const json& value, const std::string& words) {
    json audit = audit_of_mean();
    (audit.contains(name) ? audit[name] : audit["claimed"][name]) = value;
    EXPECT_THAT(
        [&] {
          dossier_of(report_of_mean(), {{audit, "a.json"}});
        },
        ThrowsMessage<BadInput>(AllOf(HasSubstr("--audit a.json"), HasSubstr(words))));
  };
  refused("method", "fc", "its method is fc, the report's mean");
  refused("adjacency", "replace-one", "its adjacency is replace-one");
  refused("unit", "person", "its unit is person");
  json other = audit_of_mean();
  other["claimed"] = {{"epsilon", 3.0}, {"delta", 1e-5}, {"mu", 0.75}};
  EXPECT_THAT(
      [&] {
        dossier_of(report_of_mean(), {{other, "a.json"}});
      },
      ThrowsMessage<BadInput>(HasSubstr("its epsilon is 3, the report's 2")));
  EXPECT_THAT(
      [&] {
        dossier_of(report_of_mean(), {{json::object(), "a.json"}});
      },
      ThrowsMessage<BadInput>(HasSubstr("give what audit --format json printed")));
}

TEST(Dossier, RefusesRunsThatPromiseNothing) {
  json seeded = report_of_mean();
  seeded["private"] = false;
  seeded["privacy"]["forfeited_by"] = {"seed"};
  EXPECT_THAT([&] { dossier_of(seeded); }, ThrowsMessage<BadInput>(HasSubstr("r.json: this run is not private")));
  json plan = report_of_mean();
  plan["dry_run"] = true;
  EXPECT_THAT([&] { dossier_of(plan); }, ThrowsMessage<BadInput>(HasSubstr("the plan of a dry run")));
}

// Whether data are anonymous, or a law is met, is not for a program to say.
TEST(Dossier, ClaimsNothingOfLaws) {
  for (const json& report : {report_of_mean(), report_of_choice(), report_of_silos()}) {
    std::string text = dossier_of(report);
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* word : {"anonym", "gdpr", "hipaa", "complian", "legal", "de-identif", "guarantees privacy"}) {
      EXPECT_THAT(text, Not(HasSubstr(word)));
    }
  }
}

}  // namespace
}  // namespace dpreduce
