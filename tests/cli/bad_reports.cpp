// Files that `privacy explain` must not take for the report of a fit, or not believe.
#include "tests/cli/bad_case.hpp"

namespace dpreduce {
namespace {

const std::string kExplain = "privacy explain bad.json";

// A private report, changed.
Prepare report_with(const std::function<void(json& report)>& change) {
  return [=](const TemporaryFolder& folder) {
    json report = json::parse(read_bytes(folder / "report.json"));
    report["private"] = true;
    report["privacy"].erase("forfeited_by");
    change(report);
    write_bytes(folder / "bad.json", report.dump());
  };
}
Prepare report_with(const std::string& field, const json& value) {
  return report_with([=](json& report) { report[json::json_pointer(field)] = value; });
}
Prepare report_without(const std::string& field) {
  const json::json_pointer pointer(field);
  return report_with([=](json& report) { report.at(pointer.parent_pointer()).erase(pointer.back()); });
}

// The run makes one selection and no sums.
Prepare report_of_selection(double epsilon_of_selection, double mu) {
  json privacy{{"epsilon", 1.0}, {"delta", 0}, {"mu", mu}};
  privacy["releases"] = json::array();
  privacy["selections"] = json::array({{{"name", "prototypes"}, {"epsilon", epsilon_of_selection}, {"candidates", 9}}});
  return report_with([=](json& report) { report["privacy"].update(privacy); });
}

// Larger than is read; takes no room on the disk.
void huge_file(const TemporaryFolder& folder) {
  write_bytes(folder / "bad.json", "{");
  std::filesystem::resize_file(folder / "bad.json", (std::uintmax_t{64} << 20) + 1);
}

}  // namespace

std::vector<BadCase> bad_reports() {
  return {
      {"ReportMissing", "privacy explain absent.json", 3, "absent.json: cannot be opened"},
      {"ReportThatIsADirectory", "privacy explain .", 3, ".: is a directory"},
      {"ReportThatIsADevice", "privacy explain /dev/zero", 3, "/dev/zero: is not a regular file"},
      {"ReportEmpty", kExplain, 3, "bad.json: ", file_of("bad.json", "")},
      {"ReportOfGarbage", kExplain, 3, "bad.json: not a JSON file", file_of("bad.json", "no report\n")},
      {"ReportTruncated", kExplain, 3, "bad.json: not a JSON file", copy_without_end("bad.json", "report.json", 3)},
      {"ReportHuge", kExplain, 3, "larger than 64 MiB", huge_file},
      {"ReportOfDeepNesting", kExplain, 3, "more than 32 deep", file_of("bad.json", std::string(2000000, '['))},
      {"ReportThatIsAList", kExplain, 3, "not a report;", file_of("bad.json", "[1, 2]")},
      {"ReportThatIsAnArray", "privacy explain x.npy", 3, "x.npy: not a JSON file"},
      {"ReportOfAnEvaluation", kExplain, 3, "'privacy' is missing", file_of("bad.json", R"({"accuracy": 0.5})")},
      {"ReportWithoutPrivate", kExplain, 3, "'private' is missing", report_without("/private")},
      {"ReportWithoutMethod", kExplain, 3, "'method' is missing", report_without("/method")},
      {"ReportWithoutReleases", kExplain, 3, "'privacy.releases' is missing", report_without("/privacy/releases")},
      {"ReportOfNoRelease", kExplain, 3, "private, but without a release",
       report_with("/privacy/releases", json::array())},
      {"ReportOfWordsForNumbers", kExplain, 3, "'privacy.epsilon' must be a number",
       report_with("/privacy/epsilon", "one")},
      {"ReportOfNegativeEpsilon", kExplain, 3, "'privacy.epsilon' is -1", report_with("/privacy/epsilon", -1)},
      {"ReportOfDeltaZeroWithNoise", kExplain, 3, "delta 0 with Gaussian noise", report_with("/privacy/delta", 0)},
      {"ReportOfDeltaZeroWithoutMu", kExplain, 3, "delta 0 without mu", report_with([](json& report) {
         report["privacy"]["delta"] = 0;
         report["privacy"]["mu"] = nullptr;
       })},
      {"ReportOfMoreSelectionThanEpsilon", kExplain, 3, "selections of epsilon 5 together, the whole run 1",
       report_of_selection(5, 1)},
      {"ReportOfMoreSelectionThanMu", kExplain, 3, "selections of mu ", report_of_selection(1, 0.1)},
      {"ReportOfASelectionWithoutLimit", kExplain, 3, "'privacy.selections[0].epsilon' is 300, and must be",
       report_of_selection(300, 1)},
      {"ReportOfDeltaOne", kExplain, 3, "'privacy.delta' is 1", report_with("/privacy/delta", 1)},
      {"ReportOfNoSigma", kExplain, 3, "'privacy.releases[0].sigma' is 0", report_with("/privacy/releases/0/sigma", 0)},
      {"ReportOfHalfANumber", kExplain, 3, "'privacy.releases[0].coordinates' must be a whole number",
       report_with("/privacy/releases/0/coordinates", 1.5)},
      {"ReportOfOtherNeighbors", kExplain, 3, "'privacy.adjacency' is \"swap\"",
       report_with("/privacy/adjacency", "swap")},
      {"ReportThatPromisesTooMuch", kExplain, 3, "contradicts itself: mu 1 gives epsilon",
       report_with("/privacy/epsilon", 0.5)},
      {"ReportOfABlockBeyondTheRun", kExplain, 3, "contradicts itself: block class_sums alone has mu",
       report_with("/privacy/releases/0/sigma", 1.0)},
  };
}

}  // namespace dpreduce
