// Labels that are names: from files of strings and a list of classes to a model that keeps the names.
#include "tests/cli/program_test.hpp"

namespace dpreduce::class_names_test {

const std::vector<std::string> kNames = {"oak", "élm, wych", "ash"};
const std::string kFit =
    "fit --train-x x.npy --method mean --mu 2 --seed 3 --ledger ledger --report report.json --out model.safetensors";
const std::string kFitNamed = kFit + " --train-y strings.npy --class-names names.txt";
const std::string kPredict = "predict --model model.safetensors --x x.npy";
const std::string kEvaluate = "evaluate --model model.safetensors --test-x x.npy --test-y ";

class ClassNames : public ProgramTest {
 protected:
  ClassNames() : rows_(make_rows({40, 30, 20}, 8)) {
    write_rows(rows_);
    TrainingRows test = rows_;  // not the training rows, and not far from them
    test.features.front() += 1.0F;
    write_rows(test, "test_x.npy", "test_y.npy");
    write_names("names.txt", kNames);
    for (const char* name : {"strings.npy", "test_strings.npy"}) write_named(name, rows_.labels);
  }

  void write_names(const std::string& name, const std::vector<std::string>& names) const {
    write_bytes(folder_ / name, fmt::format("{}\n", fmt::join(names, "\n")));
  }

  // Names of labels as NumPy's strings of 12 bytes.
  void write_named(const std::string& name, const std::vector<std::int64_t>& labels) const {
    std::string all;
    for (const std::int64_t label : labels) {
      all += kNames[static_cast<std::size_t>(label)];
      all.resize((all.size() + 11) / 12 * 12, '\0');
    }
    write_bytes(folder_ / name, npy_header_bytes(npy_text("|S12", fmt::format("({},)", labels.size()))) + all);
  }

  std::vector<std::string> predicted() const { return lines_of(succeed(kPredict).out); }

  const TrainingRows rows_;
};

TEST_F(ClassNames, StringsAndTheirNumbersMakeOneModelForAnyNumberOfRanks) {
  succeed(kFit + " --train-y y.npy --class-names names.txt");
  const std::string of_numbers = model();
  for (const auto& [further, ranks] : {std::pair{"", 0}, {"", 3}, {" --classes 3", 0}}) {
    succeed(kFitNamed + further, ranks);
    EXPECT_TRUE(model() == of_numbers) << ranks << further;
  }
  succeed(kFit + " --train-y y.npy --classes 3");
  EXPECT_FALSE(model() == of_numbers);  // without the names
  EXPECT_FALSE(document("report.json").contains("class_names"));
  expect_refused(kEvaluate + "strings.npy", 3, "strings.npy: labels are names");
}

TEST_F(ClassNames, ReportPredictionsAndTablesSayThem) {
  succeed(kFitNamed + " --test-x test_x.npy --test-y test_strings.npy");
  const json report = document("report.json");
  expect_members(report, {{"class_names", kNames}, {"classes", 3}});
  EXPECT_GT(report["test"]["accuracy"], 0.9);
  const std::vector<std::string> printed = predicted();
  ASSERT_EQ(printed.size(), rows_.rows());
  std::size_t right = 0;
  std::string table_of_labels = "label\n";
  for (std::size_t row = 0; row < printed.size(); ++row) {
    EXPECT_THAT(kNames, testing::Contains(printed[row]));
    right += printed[row] == kNames[static_cast<std::size_t>(rows_.labels[row])] ? 1 : 0;
    const bool has_comma = printed[row].find(',') != std::string::npos;
    table_of_labels += (has_comma ? "\"" + printed[row] + "\"" : printed[row]) + "\n";
  }
  EXPECT_GT(right, rows_.rows() * 9 / 10);
  EXPECT_THAT(succeed(kPredict + " --top-k 2", 3).out, HasSubstr("oak\t"));
  succeed(kPredict + " --out labels.csv --scores scores.csv");
  EXPECT_EQ(bytes("labels.csv"), table_of_labels);
  EXPECT_EQ(lines_of(bytes("scores.csv")).front(), "oak,\"élm, wych\",ash");

  for (const std::string labels : {"strings.npy", "y.npy"}) {
    const json figures = this->figures(kEvaluate + labels + " --train-y " + labels);
    EXPECT_EQ(figures["class_names"], json(kNames));
    EXPECT_DOUBLE_EQ(figures["accuracy"], static_cast<double>(right) / static_cast<double>(rows_.rows()));
  }
  const std::string table = succeed(kEvaluate + "strings.npy").out;
  for (const std::string& name : kNames) EXPECT_THAT(table, HasSubstr(name + "  "));
}

TEST_F(ClassNames, InspectCountsRowsOfNamedClassesAndDoubtsLabelsThatCountFromOne) {
  const json named = figures("inspect --x x.npy --y strings.npy --class-names names.txt");
  expect_members(named, {{"class_rows", {40, 30, 20}}, {"class_names", kNames}});
  EXPECT_FALSE(named.contains("doubt"));
  std::vector<std::int64_t> from_one = rows_.labels;
  for (std::int64_t& label : from_one) ++label;
  write_labels(folder_ / "one.npy", from_one);
  const json doubted = figures("inspect --x x.npy --y one.npy --classes 4");
  EXPECT_THAT(doubted["doubt"].get<std::string>(), HasSubstr("labels count from 0"));
}

TEST_F(ClassNames, SweepsAndSetsTakeThem) {
  succeed(
      "sweep --train-x x.npy --train-y strings.npy --test-x test_x.npy --test-y test_strings.npy --class-names "
      "names.txt --methods mean --epsilons 1 --out swept");
  EXPECT_GT(document("swept.json")["runs"].size(), 0u);

  std::vector<std::int8_t> sets(rows_.rows() * 3, 0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    sets[row * 3 + static_cast<std::size_t>(rows_.labels[row])] = 1;
  }
  write_npy(folder_ / "sets.npy", sets, 3);
  succeed(kFit + " --train-y sets.npy --class-names names.txt --max-labels 2");
  EXPECT_THAT(kNames, testing::Contains(predicted().front()));
}

TEST_F(ClassNames, AnOrderOfItsOwnIsAnotherModel) {
  write_names("turned.txt", {kNames[2], kNames[1], kNames[0]});
  succeed(kFit + " --train-y strings.npy --class-names turned.txt");
  const std::vector<std::string> printed = predicted();
  succeed(kFitNamed);
  const std::vector<std::string> usual = predicted();
  std::size_t same = 0;
  for (std::size_t row = 0; row < usual.size(); ++row) same += printed[row] == usual[row] ? 1 : 0;
  EXPECT_GT(same, usual.size() * 9 / 10);  // the noise of classes is exchanged, the names of rows are not
}

// Wrong lists themselves: common/data/named_classes_test.
TEST_F(ClassNames, WhatDoesNotFitIsRefusedOnEveryRankBeforeAnythingIsCharged) {
  write_names("short.txt", {kNames[0], kNames[2]});
  write_names("near.txt", {"oak", "élm wych", "ash"});
  for (const auto& [options, code, said] :
       {std::tuple{" --train-y strings.npy --class-names near.txt", 3,
                   "label \"élm, wych\", which is not in the list of classes; did you mean \"élm wych\"?"},
        {" --train-y y.npy --class-names short.txt", 3, "has label 2, outside 0 to 1: labels count from 0"},
        {" --train-y y.npy --class-names names.txt --classes 4", 2,
         "class names: there are 3 for 4 classes; --class-names and --classes must agree"},
        {" --train-y y.npy --class-names absent.txt", 3, "--class-names absent.txt: cannot be read"}}) {
    for (const int ranks : {0, 3}) expect_refused(kFit + options, code, said, ranks);
  }
}

// Silos whose lists differ would train on each other's classes exchanged, and no one would see it.
TEST_F(ClassNames, SilosAgreeOnTheListBeforeAnyRowCounts) {
  for (const std::size_t silo : {1, 2, 3}) {
    const TrainingRows part = rows_.part(30 * (silo - 1), 30);
    write_rows(part, numbered_npy("x", silo), "unused.npy");
    write_named(numbered_npy("s", silo), part.labels);
    write_names(fmt::format("names{}.txt", silo), kNames);
  }
  write_bytes(folder_ / "common.toml",
              "secure-aggregation = true\nmethod = \"mean\"\nmu = 2\nseed = 3\nsilo-timeout = 20\n"
              "train-x = \"x{rank}.npy\"\ntrain-y = \"s{rank}.npy\"\nledger = \"silos.jsonl\"\n");
  write_bytes(folder_ / "silo3.toml", "silo = 3\nclass-names = \"names3.txt\"\n");
  std::string line = "fit --config common.toml --class-names names.txt --report report.json";
  for (const char* own : {"--class-names names1.txt", "--class-names names2.txt", "--silo-config silo3.toml"}) {
    line += fmt::format(" : -n 1 {} fit --config common.toml {}", program_path(), own);
  }
  run_among(0, line, 0);
  const std::string of_silos = model();
  succeed(kFitNamed);
  EXPECT_TRUE(model() == of_silos);
  write_names("names3.txt", {kNames[1], kNames[0], kNames[2]});
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_THAT(run_among(0, line, 5, {"other options than this silo"}).err, Not(HasSubstr("x3.npy")));
  EXPECT_FALSE(has("model.safetensors"));
}

TEST_F(ClassNames, ARunGoesOnWithTheListThatItBeganWith) {
  const std::string fit = "fit --train-x x.npy --train-y y.npy --method mean --mu 2 --ledger ledger --class-names ";
  ASSERT_EQ(run(fit + "names.txt --report /dev/full").exit_code, 3);
  const std::string first = model();
  write_names("turned.txt", {kNames[1], kNames[0], kNames[2]});
  const ProgramRun other = run(fit + "turned.txt --resume --out other.safetensors");
  EXPECT_THAT(other.err, HasSubstr("its options differ from this run's"));
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_EQ(run(fit + "names.txt --resume").exit_code, 0);
  EXPECT_TRUE(model() == first);
}

}  // namespace dpreduce::class_names_test
