// Labels that are names: from files of strings and a list of classes to a model that keeps the names.
#include "tests/cli/program_test.hpp"

namespace dpreduce::class_names_test {

const std::vector<std::string> kNames = {"oak", "élm, wych", "ash"};
const std::string kFit =
    "fit --train-x x.npy --method mean --mu 2 --seed 3 --ledger ledger --report report.json --out model.safetensors";

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
    std::ofstream file(folder_ / name);
    for (const std::string& one : names) file << one << '\n';
  }

  // Names of labels as NumPy's strings of 12 bytes.
  void write_named(const std::string& name, const std::vector<std::int64_t>& labels) const {
    constexpr std::size_t kLength = 12;
    std::string all;
    for (const std::int64_t label : labels) {
      std::string one = kNames[static_cast<std::size_t>(label)];
      one.resize(kLength, '\0');
      all += one;
    }
    write_bytes(folder_ / name, npy_header_bytes(npy_text("|S12", fmt::format("({},)", labels.size()))) + all);
  }

  std::vector<std::string> predicted() const {
    return lines_of(succeed("predict --model model.safetensors --x x.npy").out);
  }

  const TrainingRows rows_;
};

TEST_F(ClassNames, StringsAndTheirNumbersMakeOneModelForAnyNumberOfRanks) {
  succeed(kFit + " --train-y y.npy --class-names names.txt");
  const std::string of_numbers = model();
  for (const int ranks : {0, 3}) {
    succeed(kFit + " --train-y strings.npy --class-names names.txt", ranks);
    EXPECT_TRUE(model() == of_numbers) << ranks;
  }
  succeed(kFit + " --train-y strings.npy --class-names names.txt --classes 3");
  EXPECT_TRUE(model() == of_numbers);
  succeed(kFit + " --train-y y.npy --classes 3");
  EXPECT_FALSE(model() == of_numbers);  // without the names
  EXPECT_FALSE(document("report.json").contains("class_names"));
  expect_refused("evaluate --model model.safetensors --test-x x.npy --test-y strings.npy", 3,
                 "strings.npy: labels are names");
}

TEST_F(ClassNames, ReportPredictionsAndTablesSayThem) {
  succeed(kFit + " --train-y strings.npy --class-names names.txt --test-x test_x.npy --test-y test_strings.npy");
  const json report = document("report.json");
  EXPECT_EQ(report["class_names"], json(kNames));
  EXPECT_EQ(report["classes"], 3);
  EXPECT_GT(report["test"]["accuracy"], 0.9);
  const std::vector<std::string> printed = predicted();
  ASSERT_EQ(printed.size(), rows_.rows());
  std::size_t right = 0;
  for (std::size_t row = 0; row < printed.size(); ++row) {
    EXPECT_THAT(kNames, testing::Contains(printed[row]));
    right += printed[row] == kNames[static_cast<std::size_t>(rows_.labels[row])] ? 1 : 0;
  }
  EXPECT_GT(right, rows_.rows() * 9 / 10);
  EXPECT_THAT(succeed("predict --model model.safetensors --x x.npy --top-k 2", 3).out, HasSubstr("oak\t"));

  succeed("predict --model model.safetensors --x x.npy --out labels.csv --scores scores.csv");
  const std::vector<std::string> table_of_labels = lines_of(bytes("labels.csv"));
  ASSERT_EQ(table_of_labels.size(), printed.size() + 1);
  for (std::size_t row = 0; row < printed.size(); ++row) {
    const bool has_comma = printed[row].find(',') != std::string::npos;
    EXPECT_EQ(table_of_labels[row + 1], has_comma ? "\"" + printed[row] + "\"" : printed[row]);
  }
  EXPECT_EQ(lines_of(bytes("scores.csv")).front(), "oak,\"élm, wych\",ash");

  for (const char* labels : {"strings.npy", "y.npy"}) {
    const json figures = this->figures(
        fmt::format("evaluate --model model.safetensors --test-x x.npy --test-y {0} --train-y {0}", labels));
    EXPECT_EQ(figures["class_names"], json(kNames));
    EXPECT_DOUBLE_EQ(figures["accuracy"], static_cast<double>(right) / static_cast<double>(rows_.rows()));
  }
  const std::string table = succeed("evaluate --model model.safetensors --test-x x.npy --test-y strings.npy").out;
  for (const std::string& name : kNames) EXPECT_THAT(table, HasSubstr(name + "  "));
}

TEST_F(ClassNames, InspectCountsRowsOfNamedClassesAndDoubtsLabelsThatCountFromOne) {
  const json named = figures("inspect --x x.npy --y strings.npy --class-names names.txt");
  EXPECT_EQ(named["class_rows"], json({40, 30, 20}));
  EXPECT_EQ(named["class_names"], json(kNames));
  EXPECT_FALSE(named.contains("doubt"));
  std::vector<std::int64_t> from_one = rows_.labels;
  for (std::int64_t& label : from_one) ++label;
  write_labels(folder_ / "one.npy", from_one);
  const json doubted = figures("inspect --x x.npy --y one.npy --classes 4");
  EXPECT_THAT(doubted["doubt"].get<std::string>(), HasSubstr("labels count from 0"));
}

TEST_F(ClassNames, SweepsTakeThem) {
  succeed(
      "sweep --train-x x.npy --train-y strings.npy --test-x test_x.npy --test-y test_strings.npy --class-names "
      "names.txt --methods mean --epsilons 1 --out swept");
  EXPECT_GT(document("swept.json")["runs"].size(), 0u);
}

TEST_F(ClassNames, AnOrderOfItsOwnIsAnotherModel) {
  write_names("turned.txt", {kNames[2], kNames[1], kNames[0]});
  succeed(kFit + " --train-y strings.npy --class-names turned.txt");
  const std::vector<std::string> printed = predicted();
  succeed(kFit + " --train-y strings.npy --class-names names.txt");
  const std::vector<std::string> usual = predicted();
  std::size_t same = 0;
  for (std::size_t row = 0; row < usual.size(); ++row) same += printed[row] == usual[row] ? 1 : 0;
  EXPECT_GT(same, usual.size() * 9 / 10);  // the noise of classes is exchanged, the names of rows are not
}

// What is wrong with a list itself: common/data/named_classes_test.
TEST_F(ClassNames, WhatDoesNotFitIsRefusedOnEveryRankBeforeAnythingIsCharged) {
  write_names("short.txt", {kNames[0], kNames[2]});
  write_names("near.txt", {"oak", "élm wych", "ash"});
  for (const auto& [options, code, said] :
       {std::tuple{" --train-y strings.npy --classes 3", 3,
                   "strings.npy: labels are names; list all classes in a file"},
        std::tuple{" --train-y strings.npy --class-names near.txt", 3,
                   "label \"élm, wych\", which is not in the list of classes; did you mean \"élm wych\"?"},
        std::tuple{" --train-y y.npy --class-names short.txt", 3, "has label 2, outside 0 to 1: labels count from 0"},
        std::tuple{" --train-y y.npy --class-names names.txt --classes 4", 2,
                   "class names: there are 3 for 4 classes; --class-names and --classes must agree"},
        std::tuple{" --train-y y.npy --class-names absent.txt", 3, "--class-names absent.txt: cannot be read"}}) {
    for (const int ranks : {0, 3}) expect_refused(kFit + options, code, said, ranks);
  }
}

// Silos whose lists differ would train on each other's classes exchanged, and no one would see it.
TEST_F(ClassNames, SilosAgreeOnTheListBeforeAnyRowCounts) {
  for (const std::size_t silo : {1, 2, 3}) {
    const TrainingRows part = rows_.part(30 * (silo - 1), 30);
    write_rows(part, fmt::format("x{}.npy", silo), fmt::format("unused{}.npy", silo));
    write_named(fmt::format("s{}.npy", silo), part.labels);
    write_names(fmt::format("names{}.txt", silo), kNames);
  }
  write_names("names0.txt", kNames);
  const auto started = [&](const std::string& third_list) {
    std::string line = "fit --config common.toml --class-names names0.txt --report report.json";
    for (const int silo : {1, 2}) {
      line += fmt::format(" : -n 1 {} fit --config common.toml --class-names names{}.txt", program_path(), silo);
    }
    // In a silo's own file.
    std::ofstream(folder_ / "silo3.toml") << fmt::format("silo = 3\nclass-names = \"{}\"\n", third_list);
    line += fmt::format(" : -n 1 {} fit --config common.toml --silo-config silo3.toml", program_path());
    return run_with({.ranks = 1, .timeout_seconds = 120.0}, line);
  };
  std::ofstream(folder_ / "common.toml")
      << "secure-aggregation = true\nmethod = \"mean\"\nmu = 2\nseed = 3\nsilo-timeout = 20\n"
         "train-x = \"x{rank}.npy\"\ntrain-y = \"s{rank}.npy\"\nledger = \"silos.jsonl\"\n";
  const ProgramRun agreed = started("names3.txt");
  ASSERT_EQ(agreed.exit_code, 0) << agreed.err;
  const std::string of_silos = model();
  succeed(kFit + " --train-y strings.npy --class-names names.txt");
  EXPECT_TRUE(model() == of_silos);

  write_names("names3.txt", {kNames[1], kNames[0], kNames[2]});
  std::filesystem::remove(folder_ / "model.safetensors");
  const ProgramRun refused = started("names3.txt");
  EXPECT_EQ(refused.exit_code, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("other options than this silo"));
  EXPECT_FALSE(has("model.safetensors"));
  EXPECT_THAT(refused.err, Not(HasSubstr("x3.npy")));
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

TEST_F(ClassNames, SetsOfNamedClassesAreZerosAndOnes) {
  std::vector<std::int8_t> sets(rows_.rows() * 3, 0);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    sets[row * 3 + static_cast<std::size_t>(rows_.labels[row])] = 1;
  }
  write_npy(folder_ / "sets.npy", sets, 3);
  succeed(kFit + " --train-y sets.npy --class-names names.txt --max-labels 2");
  EXPECT_THAT(kNames, testing::Contains(predicted().front()));
}

}  // namespace dpreduce::class_names_test
