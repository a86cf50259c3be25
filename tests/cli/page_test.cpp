// Pages of fit and report: written whole by rank 0, told by contents, and nothing that is not in the documents.
#include "tests/cli/program_test.hpp"

namespace dpreduce::page_test {

class PageTest : public ProgramTest {
 protected:
  PageTest() {
    write_rows(make_rows({500, 400, 300}, 12));
    write_rows(make_rows({60, 60, 60}, 12), "tx.npy", "ty.npy");
  }

  // Ends well.
  ProgramRun fit(const std::string& options, int ranks = 0) const {
    const ProgramRun done = run(fit_ + options, ranks);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done;
  }
  json report() const { return document("report.json"); }
  bool page_has(const std::string& part) const { return bytes("page.html").find(part) != std::string::npos; }

  const std::string fit_ = "fit --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 3 ";
};

TEST_F(PageTest, FitWritesThePageOfItsReportAndItsLedger) {
  const ProgramRun done = fit("--mu 1 --method fc --rounds 3 --report report.json --html page.html", 3);
  EXPECT_THAT(done.out, HasSubstr("page       page.html"));
  EXPECT_TRUE(page_has("A fit by fc"));
  EXPECT_TRUE(page_has("A ledger"));
  EXPECT_FALSE(page_has("Runs that have not ended"));
  succeed("report report.json ledger.jsonl --out again.html");
  EXPECT_TRUE(bytes("page.html") == bytes("again.html"));
  const json report = this->report();
  for (const json& release : report["privacy"]["releases"]) {
    EXPECT_TRUE(page_has("<data value=\"" + release["norm"].dump() + "\">"));
  }
}

TEST_F(PageTest, ReportHasNormsAndSpectrumOfTheSameReleasesOnAnyNumberOfRanks) {
  fit("--mu 1 --method fc --rounds 3 --seed 5 --report report.json");
  const json alone = report();
  ASSERT_EQ(alone["spectra"].size(), 1u);
  EXPECT_EQ(alone["spectra"][0]["eigenvalues"].size(), 12u);
  EXPECT_EQ(alone["spectra"][0]["release"], "gram");
  for (const json& release : alone["privacy"]["releases"]) {
    EXPECT_GT(release["norm"], 0.0);
    EXPECT_GT(release["noise_norm"], release["sigma"]);
  }
  fit("--mu 1 --method fc --rounds 3 --seed 5 --report report.json", 3);
  EXPECT_EQ(report()["privacy"], alone["privacy"]);
  EXPECT_EQ(report()["spectra"], alone["spectra"]);
}

TEST_F(PageTest, ReportOfReleasesInPartsHasWhatAllRanksKnow) {
  fit("--mu 1 --method ls --report report.json", 2);
  const json report = this->report();
  for (const json& release : report["privacy"]["releases"]) {
    EXPECT_EQ(release.contains("norm"), release["name"] != "class_grams") << release;
  }
}

TEST_F(PageTest, WithoutNoiseNothingIsToldOfSums) {
  fit("--non-private --method fc --rounds 3 --report report.json --html page.html");
  EXPECT_FALSE(report().contains("spectra"));
  EXPECT_FALSE(page_has("What came out"));
  EXPECT_FALSE(page_has("A ledger"));
  EXPECT_TRUE(page_has("This run is not private."));
}

TEST_F(PageTest, WhatIsNoDocumentIsRefusedAndNothingIsWritten) {
  write_bytes(folder_ / "other.json", "{\"a\": 1}");
  write_bytes(folder_ / "broken.json", "{\"privacy\": ");
  fit("--mu 1 --method mean --report report.json");
  for (const std::string name : {"other.json", "broken.json", "x.npy", "absent.json"}) {
    const int ranks = name == "other.json" ? 2 : 0;
    expect_refused("report report.json " + name + " --out page.html", 3, name, ranks);
    EXPECT_FALSE(has("page.html"));
  }
  std::string ledger = bytes("ledger.jsonl");
  ledger[ledger.find("\"mu\"") + 6] = '9';
  write_bytes(folder_ / "edited.jsonl", ledger);
  EXPECT_EQ(run("report edited.jsonl --out page.html").exit_code, 6);
}

TEST_F(PageTest, APageMayNotReplaceWhatItIsMadeOf) {
  fit("--mu 1 --method mean --report report.json");
  expect_refused("report report.json --out report.json", 2, "report.json");
  expect_refused("report report.json ./report.json", 2, "report.json");
  expect_refused(fit_ + "--mu 1 --method mean --report both --html both", 2, "--report and --html are both both");
}

}  // namespace dpreduce::page_test
