// Pages of fit and report: written whole by rank 0, told by contents, and nothing that is not in the documents.
#include "tests/cli/program_test.hpp"

namespace dpreduce::page_test {

class PageTest : public ProgramTest {
 protected:
  PageTest() {
    write_rows(make_rows({500, 400, 300}, 12));
    write_rows(make_rows({60, 60, 60}, 12), "tx.npy", "ty.npy");
  }
  json fit(const std::string& options, int ranks = 0) const {
    return reported(fit_ + options + " --report report.json", ranks);
  }
  bool page_has(const std::string& part) const { return bytes("page.html").find(part) != std::string::npos; }

  const std::string fit_ = "fit --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 3 ";
};

TEST_F(PageTest, FitWritesThePageOfItsReportAndItsLedger) {
  const std::string line = fit_ + "--mu 1 --method fc --rounds 3 --report report.json --html page.html";
  EXPECT_THAT(expect_code(line, 0, 3).out, HasSubstr("page       page.html"));
  EXPECT_TRUE(page_has("A fit by fc") && page_has("A ledger"));
  EXPECT_FALSE(page_has("Runs that have not ended"));
  succeed("report report.json ledger.jsonl --out again.html");
  EXPECT_TRUE(bytes("page.html") == bytes("again.html"));
  const json report = document("report.json");
  for (const json& release : report["privacy"]["releases"]) {
    EXPECT_TRUE(page_has("<data value=\"" + release["norm"].dump() + "\">"));
  }
}

TEST_F(PageTest, ReportHasNormsAndSpectrumOfTheSameReleasesOnAnyNumberOfRanks) {
  const json alone = fit("--mu 1 --method fc --rounds 3 --seed 5");
  ASSERT_EQ(alone["spectra"].size(), 1u);
  EXPECT_EQ(alone["spectra"][0]["eigenvalues"].size(), 12u);
  EXPECT_EQ(alone["spectra"][0]["release"], "gram");
  for (const json& release : alone["privacy"]["releases"]) {
    EXPECT_GT(release["norm"], 0.0);
    EXPECT_GT(release["noise_norm"], release["sigma"]);
  }
  const json of_ranks = fit("--mu 1 --method fc --rounds 3 --seed 5", 3);
  for (const char* part : {"privacy", "spectra"}) EXPECT_EQ(of_ranks[part], alone[part]);
}

TEST_F(PageTest, ReportOfReleasesInPartsHasWhatAllRanksKnow) {
  const json report = fit("--mu 1 --method ls", 2);
  for (const json& release : report["privacy"]["releases"]) {
    EXPECT_EQ(release.contains("norm"), release["name"] != "class_grams") << release;
  }
}

TEST_F(PageTest, WithoutNoiseNothingIsToldOfSums) {
  EXPECT_FALSE(fit("--non-private --method fc --rounds 3 --html page.html").contains("spectra"));
  EXPECT_FALSE(page_has("What came out") || page_has("A ledger"));
  EXPECT_TRUE(page_has("This run is not private."));
}

TEST_F(PageTest, WhatIsNoDocumentIsRefusedAndNothingIsWritten) {
  write_bytes(folder_ / "other.json", "{\"a\": 1}");
  write_bytes(folder_ / "broken.json", "{\"privacy\": ");
  fit("--mu 1 --method mean");
  for (const std::string name : {"other.json", "broken.json", "x.npy", "absent.json"}) {
    expect_refused("report report.json " + name + " --out page.html", 3, name, name == "other.json" ? 2 : 0);
  }
  std::string ledger = bytes("ledger.jsonl");
  ledger[ledger.find("\"mu\"") + 6] = '9';
  write_bytes(folder_ / "edited.jsonl", ledger);
  EXPECT_EQ(run("report edited.jsonl --out page.html").exit_code, 6);
}

TEST_F(PageTest, APageMayNotReplaceWhatItIsMadeOf) {
  fit("--mu 1 --method mean");
  expect_refused("report report.json ./report.json", 2, "report.json");
  expect_refused(fit_ + "--mu 1 --method mean --report both --html both", 2, "--report and --html are both both");
}

}  // namespace dpreduce::page_test
