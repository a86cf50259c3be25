// An entry has what the report and its author say, each in its field; tests/schemas holds its form.
#include "report/registry_entry.hpp"

#include <string>

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
using testing::StartsWith;
using testing::ThrowsMessage;

const std::string kBasic = R"([basic]
name = "Triage: North's 2nd"
data_curators = ["North", "South"]
intended_use = "Sort referrals."
data_product_region = "North"
description = "A classifier."
publication_date = "2026-02-28"
)";
const std::string kAuthors = "[administrative]\nregistry_authors = \"A. Writer\"\n";
const std::string kLeast = kBasic + kAuthors;

std::string entry_of(json report, const std::string& about = kLeast) {
  return registry_entry(run_of(std::move(report)), "r.json", about, "about.toml");
}

void expect_refused(const std::string& about, const std::string& words) {
  EXPECT_THAT([&] { entry_of(report_of_mean(), about); },
              ThrowsMessage<BadInput>(AllOf(StartsWith("--about about.toml: "), HasSubstr(words))))
      << about;
}

TEST(RegistryEntry, HasWhatAuthorAndReportSay) {
  const std::string text = entry_of(report_of_mean());
  EXPECT_THAT(text,
              StartsWith("url_slug: \"triage-north-s-2nd\"\nstatus: \"Draft\"\ntier: 2\ndeployment:\n  basic:\n"));
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("    data_curators:\n      - \"North\"\n      - \"South\"\n"),
            HasSubstr("    publication_date: \"2026-02-28\"\n"), HasSubstr("    variant_name: \"Approximate DP\"\n"),
            HasSubstr("    privacy_parameters:\n      epsilon: 2.0\n      delta: 1.0e-05\n      rho: 0.125\n"),
            HasSubstr("3.39 % of those who are in"), HasSubstr("model_name: \"Central\""),
            HasSubstr("rows are centered by: dp, a release of this run"),
            HasSubstr("    registry_authors:\n      - \"A. Writer\"\n")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("3307")), Not(HasSubstr("0.953")), Not(HasSubstr("justification"))));
}

TEST(RegistryEntry, NamesVariantAndModelOfTheRun) {
  EXPECT_THAT(entry_of(report_of_choice()), AllOf(HasSubstr("variant_name: \"Pure DP\""), HasSubstr("delta: 0.0\n")));
  EXPECT_THAT(entry_of(report_of_silos()),
              AllOf(HasSubstr("model_name: \"Federated\""), HasSubstr("one person with any")));
}

TEST(RegistryEntry, TheAuthorsWordsStandInFrontOrInTheirPlace) {
  const std::string text = entry_of(report_of_mean(), "url_slug = \"triage\"\n" + kBasic +
                                                          "[privacy_loss]\nprivacy_unit = \"One referral.\"\n"
                                                          "[deployment_model]\nrelease_type = \"Many releases\"\n" +
                                                          kAuthors);
  EXPECT_THAT(text, AllOf(StartsWith("url_slug: \"triage\"\n"),
                          HasSubstr("    privacy_unit: |-\n      One referral.\n\n      the unit is one record"),
                          HasSubstr("release_type: \"Many releases\"\n")));
}

TEST(RegistryEntry, IsOfTheThirdTierWhereTheAuthorSaysWhy) {
  const std::string why = "[implementation]\njustification = \"A board chose epsilon.\"\n";
  EXPECT_THAT(entry_of(report_of_mean(), kLeast + why), HasSubstr("\ntier: 2\n"));
  EXPECT_THAT(entry_of(report_of_mean(), kLeast + why + "preprocessing_and_hyperparameter_tuning = \"None before.\"\n"),
              HasSubstr("\ntier: 3\n"));
}

TEST(RegistryEntry, RefusesWhatIsMissing) {
  expect_refused(kBasic, "[administrative] registry_authors is missing");
  expect_refused(kAuthors, "[basic] name is missing");
}

TEST(RegistryEntry, RefusesWhatTheRegistryOrTheReportForbids) {
  expect_refused(kLeast + "authors = \"B\"\n",
                 "line 10: [administrative] authors is no field that an author has; "
                 "[administrative] has notes, registry_authors, sources");
  expect_refused(kLeast + "[privacy_loss]\nprivacy_parameters = \"0\"\n",
                 "[privacy_loss] privacy_parameters is no field");
  expect_refused(kLeast + "[basics]\nname = \"B\"\n", "[basics] name is no field");
  expect_refused("name = \"B\"\n" + kLeast,
                 "line 1: name is no field that an author has; sections are basic, dp_variant");
  expect_refused(kLeast + "[deployment_model]\naccess_type = \"None\"\n",
                 "line 11: [deployment_model] access_type: \"None\" must be one of: Non-interactive, Interactive");
  expect_refused(kLeast + "sources = [\"a\", \"b\"]\n", "[administrative] sources: must have one value");
  expect_refused(kLeast + "notes = \"\"\n", "[administrative] notes: must not be empty");
  expect_refused("url_slug = \"A b\"\n" + kLeast, "line 1: url_slug must be one word");
  expect_refused(kLeast + "notes = \n", "line 10: ");
}

TEST(RegistryEntry, WantsADayThatThereIs) {
  for (const char* day : {"2026-02-29", "2026-2-28", "28.02.2026", "2026-02-28 ", "soon"}) {
    std::string about = kLeast;
    about.replace(about.find("2026-02-28"), 10, day);
    expect_refused(about, "line 7: [basic] publication_date: ");
  }
}

TEST(RegistryEntry, RefusesRunsThatPromiseNothing) {
  json plain = report_of_mean();
  plain["private"] = false;
  plain["privacy"]["releases"] = json::array();
  EXPECT_THAT([&] { entry_of(plain); }, ThrowsMessage<BadInput>(HasSubstr("r.json: this run is not private")));
}

// Text of the report is text; that of the author is Markdown.
TEST(RegistryEntry, EscapesWhatTheReportNames) {
  json report = report_of_mean();
  report["privacy"]["releases"][0]["name"] = "a$x_b*";
  EXPECT_THAT(entry_of(report), HasSubstr("a\\$x\\_b\\*"));
}

}  // namespace
}  // namespace dpreduce
