// What stands on a page: every value of its documents, nothing that could run or be fetched, and whom it is for.
#include "report/page.hpp"

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/error.hpp"
#include "tests/report/page/page_documents.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::page_test {

using nlohmann::json;

constexpr const char* kHostile = "</script><script>alert(1)</script><!--\"'&";

TEST(Page, HoldsEveryFigureOfAReportExactly) {
  const json report = small_report();
  const std::string page = page_of_report(report);
  const json flat = report.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (!value.is_number()) continue;
    EXPECT_TRUE(has(page, "<data value=\"" + value.dump() + "\">")) << path;
  }
}

TEST(Page, NamesReleasesInTheBudgetAsTheLedgerDoesAndRoundsCostsUpAndNoiseDown) {
  json report = small_report();
  report["privacy"]["releases"][0].update(
      {{"name", "sizes"}, {"release", "feature_sizes"}, {"mu", 0.30000001}, {"sigma", 11.2599999}});
  expect_shown(page_of_report(report),
               {"<tr><th scope=\"row\"><bdi>feature_sizes (sizes)</bdi></th>",
                "<data value=\"0.30000001\">0.301</data>", "<data value=\"11.2599999\">11.2</data>"});
}

// Rounds that are not alike would be one bar; three of them have no norms to draw.
TEST(Page, RoundsWithOtherNoiseStandApart) {
  const json report = small_report();
  expect_shown(page_of_report(report), {"gradient, 4 rounds", "Norm of each round&#39;s gradient"});
  json unlike = report;
  unlike["privacy"]["releases"][2]["sigma"] = 43.0;
  expect_hidden(page_of_report(unlike), {"gradient, 4 rounds"});
  json few = report;
  few["privacy"]["releases"].erase(4);
  expect_hidden(page_of_report(few), {"Norm of each round&#39;s gradient"});
}

TEST(Page, IsCalledByItsModelAndSumsUpInALine) {
  const std::string head = "<h1>m</h1>\n<p class=\"lede\">A fit by fc, epsilon 2 at delta 10<sup>−5</sup>";
  EXPECT_THAT(without_inlined_texts(page_of_report(small_report())),
              AllOf(HasSubstr("<title>m – dpreduce</title>"),
                    HasSubstr(head + "; accuracy <data value=\"0.953125\">95.3 %</data> <span class=\"owner\">")));
  EXPECT_THAT(without_inlined_texts(page_of_report(small_report(), Audience::kPublic)), HasSubstr(head + "</p>"));
  EXPECT_THAT(
      without_inlined_texts(page_of_one(ledger_of_two_runs())),
      HasSubstr("<p class=\"lede\">Spent by all runs together, as if about the same records: epsilon 0.927, delta "
                "10<sup>−5</sup>, mu 0.251, neighbors add-remove, runs 2, releases 2</p>"));
}

TEST(Page, HoldsEverySectionOfAFit) {
  const std::string page = page_of_report(small_report());
  for (const char* heading :
       {"Epsilon, and what it means", "The guarantee, and against whom it holds", "Where the budget went",
        "What came out, beside its noise", "How well the model does", "How well it does, class by class",
        "Who took part", "What the silos&#39; messages cost", "Settings"}) {
    EXPECT_EQ(count_of(page, ">" + std::string(heading) + "</a>"), 1u) << heading;
    EXPECT_TRUE(has(page, "-title\">" + std::string(heading))) << heading;
  }
  expect_shown(page,
               {"epsilon 2 at delta 10<sup>−5</sup>", "anyone who reads the model", "more colluding silos than that",
                "running times", "south", "its line was cut", "distributed", "north"});
  // attacker, shares, norms, spectrum, recalls, confusion
  EXPECT_EQ(count_of(page, "<figure "), 6u);
}

TEST(Page, LeavesOutWhatAReportDoesNotHave) {
  json report = small_report();
  for (const char* part : {"test", "silos", "spectra"}) report.erase(part);
  expect_hidden(page_of_report(report), {"How well the model does", "Who took part", "Spectrum"});
}

TEST(Page, ShowsNoSecondsOfAnOlderReport) {
  json report = small_report();
  report["timings"] = {{"open", 0.125}, {"gram", 1.75}};
  report["rank_timings"] = {{{"open", 0.125}, {"gram", 1.75}}, {{"open", 0.25}, {"gram", 2.5}}};
  report["silos"]["messages"]["masked"]["seconds"] = 0.0625;
  EXPECT_TRUE(page_of_report(report) == page_of_report(small_report()));
}

TEST(Page, MarksTestFiguresAndMessagesForTheOwner) {
  const std::string page = page_of_report(small_report());
  const std::string mark = " <span class=\"owner\">for the data's owner</span></h3>";
  expect_shown(page, {"How well the model does" + mark, "How well it does, class by class" + mark,
                      "What the silos&#39; messages cost" + mark});
  EXPECT_EQ(count_of(page, mark), 3u);
}

TEST(Page, ForThePublicHasNoSectionAndNoFigureOfTheOwners) {
  const std::string page = page_of_report(small_report(), Audience::kPublic);
  expect_hidden(page, {"How well", "What the silos&#39; messages cost"});
  expect_hidden(without_inlined_texts(page), {"0.953125", "0.9515", "0.96875", "0.934375", "value=\"8192\""});
  expect_shown(page, {"All of this page is public.", "1234.5678901"});
}

TEST(Page, SaysThatARunIsNotPrivateAndKeepsItsReleasesForTheOwner) {
  json report = small_report();
  EXPECT_FALSE(has(page_of_report(report), "not private"));
  report["private"] = false;
  expect_shown(page_of_report(report),
               {"This run is not private.", "What came out, beside its noise <span class=\"owner\">", "1234.5678901",
                "101.5", "812.5"});
  expect_hidden(without_inlined_texts(page_of_report(report, Audience::kPublic)), {"1234.5678901", "101.5", "812.5"});
}

TEST(Page, TellsALedgersLifeRunByRunAsTheTerminalDoes) {
  const std::string page = page_of_one(ledger_of_two_runs());
  EXPECT_EQ(count_of(page, "<tr><th scope=\"row\"><bdi>aa</bdi></th>"), 1u);
  expect_shown(page, {"fc (seeded: NOT private, not counted)", "<data value=\"0.015625\">", "aa/gram"});
  // The terminal has the same sections, but charts.
  const PageDocument ledger = ledger_of_two_runs();
  const std::string heading = "2026-01-31T23:59:59Z, run aa, mean: epsilon 0.927 at delta 1e-05, add-remove";
  EXPECT_TRUE(has(page_of_one(ledger), "<caption>" + heading + "</caption>"));
  std::string text;
  for (const Section& section : ledger.ledger) text += text_of(section);
  EXPECT_THAT(text, HasSubstr("\n" + heading + "\n"));
  EXPECT_THAT(text, HasSubstr("Open runs, and what they may still charge\n"));
  EXPECT_THAT(text, Not(HasSubstr("so far")));
}

TEST(Page, DrawsNoStepsOfASingleRunAndSpendsNothingOfAnEmptyLedger) {
  EXPECT_EQ(count_of(page_of_one(ledger_of_two_runs()), "<figure "), 1u);
  const std::string page = page_of_one(document_of(ledger_of_a_run()));
  EXPECT_EQ(count_of(page, "<figure "), 0u);
  EXPECT_TRUE(has(page, "<summary>Spending, run by run</summary>"));
  const std::string of_none = page_of_one(document_of(SampleText()));
  expect_shown(of_none, {"epsilon 0, delta"});
  expect_hidden(of_none, {"Releases of each run"});
}

TEST(Page, AllowsItsOwnScriptAndStyleAndNothingElse) {
  const std::string page = page_of_report(small_report());
  EXPECT_TRUE(has(page, "content=\"default-src 'none'; script-src " + source_hash(page_script()) + "; style-src " +
                            source_hash(page_style()) + "; base-uri 'none'; form-action 'none'\">"));
  EXPECT_LT(page.find("Content-Security-Policy"), page.find("<style>"));
  EXPECT_TRUE(has(page, "<script>" + std::string(page_script()) + "</script>"));
  EXPECT_TRUE(has(page, "<style>" + std::string(page_style()) + "</style>"));
  const std::string rest = without_inlined_texts(page);
  expect_hidden(rest, {"http:", "https:", "src=", "style=", "onclick", "<link", "<img", "<iframe", "url("});
  EXPECT_EQ(source_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
  EXPECT_EQ(source_hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
}

TEST(Page, LetsNoNameOutOfItsPlace) {
  json report = small_report();
  report["method"] = kHostile;
  report["model"] = kHostile;
  report["class_names"] = {kHostile, "\xE2\x80\xAEtfel"};
  report["silos"]["lost"][0]["name"] = kHostile;
  report["silos"]["lost"][0]["reason"] = kHostile;
  report["silos"]["messages"][kHostile] = {{"count", 1}};
  report["privacy"]["releases"][0]["release"] = kHostile;
  report[kHostile] = kHostile;
  PageDocument document = fit_of(report);
  document.name = kHostile;
  const std::string harmless = page_of_report(small_report());
  const std::string page = page_of_one(document);
  EXPECT_EQ(count_of(page, "<script"), count_of(harmless, "<script"));
  EXPECT_EQ(count_of(page, "</script"), count_of(harmless, "</script"));
  EXPECT_EQ(count_of(page, "<!--"), count_of(harmless, "<!--"));
  EXPECT_FALSE(has(page, "alert(1)</script>"));
  EXPECT_TRUE(has(page, "&lt;/script&gt;&lt;script&gt;alert(1)"));
}

TEST(Page, RefusesAMemberOfAnotherType) {
  const std::vector<std::pair<std::string, json>> changes{{"/test/per_class", "high"},
                                                          {"/test/per_class", {1, "high"}},
                                                          {"/test/per_class", {1.0}},
                                                          {"/test/confusion_matrix", {{1, 2}}},
                                                          {"/test/confusion_matrix", {{1, -2}, {3, 4}}},
                                                          {"/test/accuracy", true},
                                                          {"/classes", -2},
                                                          {"/class_names", {"one"}},
                                                          {"/privacy/releases", 3},
                                                          {"/privacy/releases/0/mu", "0.1"},
                                                          {"/spectra/0/eigenvalues", {nullptr}},
                                                          {"/spectra/0/noise_radius", -1.0},
                                                          {"/silos/lost", "nobody"},
                                                          {"/silos/messages/masked", 9}};
  for (const auto& [place, value] : changes) {
    json report = small_report();
    report[json::json_pointer(place)] = value;
    EXPECT_THAT(refusal<BadInput>([&] { page_of_report(report); }), HasSubstr("r.json: ")) << place << " " << value;
  }
}

json report_of_auto(double epsilon, double accuracy) {
  json report = small_report();
  report["privacy"]["epsilon"] = epsilon;
  report["test"]["accuracy"] = accuracy;
  report["adaptive"] = {{"method", "auto"}, {"chosen", "fc"}, {"by", "public knowledge"}};
  report["ledger"] = {{"run", "aa"},
                      {"public_key", std::string(64, 'a')},
                      {"last_line_sha256", std::string(64, 'b')},
                      {"lines", 3},
                      {"spent", {{"epsilon", 3.875}, {"delta", 1e-5}, {"rho", 0.5}, {"runs", 2}}}};
  return report;
}

// What its readers have come for stands before all else.
TEST(Page, OpensWithEpsilonAccuracyAndWhatIsSpent) {
  const std::string page = without_inlined_texts(page_of_report(report_of_auto(2.5, 0.9375)));
  expect_shown(page, {"A fit by auto (by fc), epsilon 2.5"});
  std::size_t last = page.find("<main");
  for (const char* next : {"<dt>epsilon</dt><dd><data value=\"2.5\">", "a given one is in the data",
                           "<dt>accuracy</dt><dd><data value=\"0.9375\">", ">Spent on these records</h3>",
                           "<data value=\"3.875\">3.88</data>", ">An attacker at best</h3>",
                           ">The guarantee, and against whom it holds</h3>"}) {
    const std::size_t at = page.find(next, last);
    ASSERT_NE(at, std::string::npos) << next;
    last = at;
  }
}

TEST(Page, DrawsTheAttackerByTheRunsOwnMu) {
  const std::string page = page_of_report(small_report());
  const double found = gdp_attack_power(0.5, 0.01);  // which is less than by epsilon 2
  EXPECT_TRUE(has(page, "<th scope=\"row\"><data value=\"0.01\">1.0 %</data></th><td class=\"number\"><data value=\"" +
                            json(found).dump() + "\">"));
  json sampled = small_report();
  sampled["privacy"]["mu"] = nullptr;
  EXPECT_TRUE(has(page_of_report(sampled), json(attack_power(2.0, 1e-5, 0.01)).dump()));
}

TEST(Page, PutsReportsSideBySideAndDrawsAccuracyAgainstEpsilon) {
  const std::vector<PageDocument> documents{fit_of(report_of_auto(4.0, 0.9375)), fit_of(small_report()),
                                            fit_of(report_of_auto(2.5, 0.875))};
  const std::string page = page_of(documents);
  EXPECT_EQ(count_of(page, "<article "), 4u);
  EXPECT_LT(page.find("Side by side"), page.find("Epsilon, and what it means"));
  EXPECT_TRUE(has(page, "<strong>Accuracy against epsilon.</strong>"));
  // A column for each method, rows by epsilon.
  const std::string values = page.substr(page.find("<caption>Accuracy by epsilon</caption>"));
  EXPECT_THAT(
      values.substr(0, values.find("</table>")),
      testing::MatchesRegex("(.|\n)*auto \\(by fc\\)(.|\n)*>fc<(.|\n)*value=\"2.0\"(.|\n)*value=\"0.953125\"(.|\n)*"
                            "value=\"2.5\"(.|\n)*value=\"0.875\"(.|\n)*value=\"4.0\"(.|\n)*"));
  // Entries of the menu differ.
  for (const char* title :
       {"A fit by auto (by fc), epsilon 4 <", "A fit by fc, epsilon 2 <", "A fit by auto (by fc), epsilon 2.5 <"}) {
    EXPECT_EQ(count_of(page.substr(0, page.find("</nav>")), title), 1u) << title;
  }
  EXPECT_EQ(count_of(page.substr(0, page.find("</nav>")), "Settings"), 0u);
  const std::string of_public = without_inlined_texts(page_of(documents, Audience::kPublic));
  expect_shown(of_public, {"Side by side"});
  expect_hidden(of_public, {"0.9375", "0.875", "Accuracy against epsilon"});
}

TEST(Page, SaysOnceWhatAllReportsPromiseAndFoldsEachOfThem) {
  const std::vector<PageDocument> documents{fit_of(report_of_auto(4.0, 0.9375)), fit_of(small_report())};
  const std::string page = page_of(documents);
  expect_shown(page, {">The guarantee of all of them, and against whom it holds</h3>", "epsilon 4 at delta",
                      "epsilon 2 at delta"});
  EXPECT_EQ(count_of(page, "running times, file sizes"), 1u);
  EXPECT_EQ(count_of(page, "<summary>All of <bdi>r.json</bdi></summary>"), 2u);
  EXPECT_EQ(count_of(page_of_one(documents.front()), "running times, file sizes"), 1u);
  EXPECT_EQ(count_of(page_of_one(documents.front()), "<summary>All of <bdi>"), 0u);
}

TEST(Page, SaysAtWhichDeltaALedgerIsToldWhereRunsHaveSeveral) {
  EXPECT_FALSE(has(page_of_one(ledger_of_two_runs()), "deltas of runs"));
  SampleText ledger = ledger_of_a_run();
  Reservation other = sample_reservation("bb");
  other.terms.delta = 1e-4;
  EXPECT_TRUE(has(page_of_one(document_of(ledger.add(other))),
                  "<dt>deltas of runs</dt><dd><bdi>2, from 1e-05 to 0.0001</bdi></dd>"));
}

TEST(Page, NamesEachOfSeveralDocumentsInMenuAndHeading) {
  const std::vector<PageDocument> documents{fit_of(small_report()), ledger_of_two_runs()};
  const std::string page = page_of(documents);
  for (const char* file : {"r.json", "l.jsonl"}) EXPECT_EQ(count_of(page, "<bdi>" + std::string(file)), 2u);
  EXPECT_EQ(count_of(page, "<article "), 2u);
  EXPECT_EQ(page, page_of(documents));
  EXPECT_THROW(page_of({}), std::logic_error);
}

TEST(DocumentOfFile, IsToldByContentsAndOthersAreRefusedNamingTheFile) {
  std::vector<std::pair<std::string, std::string>> files{
      {R"({"method":"ls","privacy":{}})", "'private' is missing"},
      {"{\n\"runs\": [], \"methods\": [], \"epsilons\": []}", "give a report of fit or evaluate --private"},
      {"{\"schema\":2,\"kind\":\"ledger\"}\n{\"schema\":2}", "some.file:1: not a ledger line"},
      {std::string(100000, '[') + std::string(100000, ']'), "nested more than"}};
  for (const char* text : {"", "not JSON", "[1,2]", "{}", "{\"a\":1}\n{\"b\":2}", "\x93NUMPY"}) {
    files.emplace_back(text, "some.file: ");
  }
  const TemporaryFolder folder;
  const std::string path = folder / "some.file";
  for (const auto& [text, message] : files) {
    SCOPED_TRACE(text.substr(0, 80));
    write_bytes(path, text);
    expect_refusal<Error>([&] { document_of_file(path); }, {message});
  }
}

}  // namespace dpreduce::page_test
