// A record counts once: no two ranks, and no two silos of one machine, train on one file.
#include <algorithm>

#include <hdf5.h>

#include "tests/cli/program_test.hpp"

namespace dpreduce::files_once_test {

class FilesOnceTest : public ProgramTest {
 protected:
  FilesOnceTest() {
    const TrainingRows rows = make_rows({60, 60, 60}, 5);
    for (std::size_t silo = 0; silo <= 3; ++silo) {
      write_rows(rows.part(40 * silo, 40 + silo), fmt::format("x{}.npy", silo), fmt::format("y{}.npy", silo));
      write_hdf5(rows.part(40 * silo, 40 + silo), folder_ / fmt::format("d{}.h5", silo));
    }
  }

  ProgramRun fit(const std::string& x, const std::string& y, int ranks, const std::string& options = "") const {
    return run_program(split_arguments("fit --classes 3 --mu 1 --out model --ledger ledger --train-x " + x +
                                       " --train-y " + y + " " + options),
                       {.folder = folder_.path(), .ranks = ranks, .timeout_seconds = kSecondsToEnd});
  }
  void expect_refused(const ProgramRun& run, const std::vector<std::string>& said) const {
    expect_refusal(run, 3, said);
    EXPECT_FALSE(has("model"));
    EXPECT_FALSE(has("ledger")) << "nothing was charged";
  }
  void link(const std::string& from, const std::string& to, bool hard) const {
    std::filesystem::remove(folder_ / to);
    hard ? std::filesystem::create_hard_link(folder_ / from, folder_ / to)
         : std::filesystem::create_symlink(folder_ / from, folder_ / to);
  }
};

TEST_F(FilesOnceTest, RanksThatLinkToOneFileAreRefusedWithBothNames) {
  for (const bool hard : {true, false}) {
    link("x0.npy", "x2.npy", hard);
    link("y0.npy", "y2.npy", hard);
    expect_refused(fit("x{rank}.npy", "y{rank}.npy", 3),
                   {"x0.npy (rank 0) and x2.npy (rank 2) are the same file", "its records would count twice"});
  }
}

TEST_F(FilesOnceTest, OneRankAloneIsRefusedWithTheSameCode) {
  link("x0.npy", "x1.npy", true);
  const ProgramRun alone = fit("x0.npy x1.npy", "y0.npy y1.npy", 0);
  expect_refused(alone, {"x1.npy", "its records would count twice"});
}

TEST_F(FilesOnceTest, LabelsOfTwoRanksAreTwoFiles) {
  write_rows(make_rows({20, 10, 10}, 5), "x1.npy", "y1.npy");
  link("y0.npy", "y1.npy", false);
  expect_refused(fit("x{rank}.npy", "y{rank}.npy", 2), {"y0.npy (rank 0) and y1.npy (rank 1) are the same file"});
}

TEST_F(FilesOnceTest, AnotherPathThroughTheSameFileSystemIsFound) {
  std::filesystem::create_directory(folder_ / "r0");
  std::filesystem::create_directory_symlink(folder_ / "r0", folder_ / "r1");
  std::filesystem::copy_file(folder_ / "x0.npy", folder_ / "r0/x.npy");
  std::filesystem::copy_file(folder_ / "y0.npy", folder_ / "r0/y.npy");
  expect_refused(fit("r{rank}/x.npy", "r{rank}/y.npy", 2),
                 {"r0/x.npy (rank 0) and r1/x.npy (rank 1) are the same file"});
}

TEST_F(FilesOnceTest, DataSetsOfOneHdf5FileAreTheirOwn) {
  const hid_t file = H5Fcreate((folder_ / "all.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (int rank = 0; rank < 2; ++rank) {
    const hid_t from = H5Fopen((folder_ / fmt::format("d{}.h5", rank)).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const std::string name : {"x", "y"}) {
      ASSERT_GE(H5Ocopy(from, name.c_str(), file, fmt::format("{}{}", name, rank).c_str(), H5P_DEFAULT, H5P_DEFAULT),
                0);
    }
    H5Fclose(from);
  }
  for (const char* name : {"labels0", "labels1"}) {
    ASSERT_GE(H5Ocopy(file, "y0", file, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  }
  ASSERT_GE(H5Lcreate_hard(file, "x0", file, "twin0", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(H5Lcreate_soft("/x0", file, "twin1", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
  EXPECT_EQ(fit("all.h5:/x{rank}", "all.h5:/y{rank}", 2, "--dry-run").exit_code, 0);
  expect_refused(fit("all.h5:/twin{rank}", "all.h5:/labels{rank}", 2),
                 {"all.h5:/twin0 (rank 0) and all.h5:/twin1 (rank 1) are the same file"});
  expect_refused(fit("all.h5:/twin0 all.h5:/x0", "all.h5:/y0 all.h5:/y1", 0),
                 {"all.h5:/twin0 and all.h5:/x0 are the same"});
}

TEST_F(FilesOnceTest, RanksThatShareAListCutIt) {
  EXPECT_EQ(fit("x0.npy x1.npy", "y0.npy y1.npy", 3).exit_code, 0);
  EXPECT_TRUE(has("model"));
}

// Two machines on which the same arguments name other files.
TEST_F(FilesOnceTest, RanksThatShareAListMustSeeTheSame) {
  const TemporaryFolder elsewhere;
  for (const std::string axis : {"x", "y"}) {
    std::filesystem::copy_file(folder_ / (axis + "0.npy"), elsewhere / (axis + "0.npy"));
  }
  for (const std::string number : {"1", "?"}) {  // another number of rows; more files
    if (number == "1") {
      write_npy(make_rows({3, 2, 1}, 5), elsewhere / "x1.npy", elsewhere / "y1.npy");
    } else {
      std::filesystem::remove(elsewhere / "x1.npy");
      std::filesystem::remove(elsewhere / "y1.npy");
    }
    const std::vector<std::string> line = split_arguments(fmt::format(
        "fit --classes 3 --mu 1 --out model --ledger ledger --train-x x{0}.npy --train-y y{0}.npy : -n 1 -wdir {1} {2} "
        "fit",
        number, elsewhere.path(), program_path()));
    expect_refused(run_program(line, {.folder = folder_.path(), .ranks = 1, .timeout_seconds = kSecondsToEnd}),
                   {"rank 1 sees different training files than rank 0"});
  }
}

// Rows are summed column by column.
TEST_F(FilesOnceTest, ColumnsInAnotherOrderAreRefusedByTheFirstThatDiffers) {
  const auto write = [&](const std::string& name, const std::string& names) {
    std::string table = names + ",y\n";
    for (int row = 0; row < 30; ++row) table += fmt::format("{},{},{}\n", name, row, row % 3);
    write_bytes(folder_ / (name + ".csv"), table);
  };
  write("0", "age,weight");
  write("1", "weight,age");
  write("2", "age,weight");
  const std::string said = "column 0 is \"weight\", but ";
  expect_refused(fit("{rank}.csv:-y", "{rank}.csv:y", 3), {"1.csv:-y: " + said, "on rank 0 it is \"age\""});
  expect_refused(fit("0.csv:-y 1.csv:-y", "0.csv:y 1.csv:y", 0), {"1.csv:-y: " + said, "in 0.csv:-y it is \"age\""});
  EXPECT_EQ(fit("{rank}.csv:age,weight", "{rank}.csv:y", 3).exit_code, 0);
  EXPECT_EQ(fit("0.csv:-y 2.csv:-y", "0.csv:y 2.csv:y", 0, "--out two --ledger two.jsonl").exit_code, 0);
}

// Tables beside training rows, and those that a model is used on: the columns are the model's, or nothing is made of
// them and nothing is charged.
class ColumnsTest : public FilesOnceTest {
 protected:
  ColumnsTest() {
    write_table("ab.csv", "a,b", 0);
    write_table("more.csv", "a,b", 100);
    write_table("ba.csv", "b,a", 200);
    std::string labels = "y\n";
    for (int row = 0; row < kRows; ++row) labels += fmt::format("{}\n", row % 3);
    for (const std::string name : {"y.csv", "ty.csv", "y3.csv", "y4.csv"}) write_bytes(folder_ / name, labels);
    write_table("t12.csv", "t1,t2", 0);
    write_table("t21.csv", "t2,t1", 300);
    write_table("cd.csv", "c,d", 400);
    const TrainingRows rows = make_rows({kRows / 3, kRows / 3, kRows / 3}, 2);
    write_rows(rows, "plain.npy", "plain_y.npy");
  }

  void write_table(const std::string& name, const std::string& names, int from) const {
    std::string table = names + "\n";
    for (int row = 0; row < kRows; ++row) table += fmt::format("{},{}\n", 0.25 * (from + row), row % 3);
    write_bytes(folder_ / name, table);
  }
  ProgramRun run(const std::string& line, int ranks = 0) const {
    return run_program(split_arguments(line),
                       {.folder = folder_.path(), .ranks = ranks, .timeout_seconds = kSecondsToEnd});
  }
  void expect_other_columns(const std::string& line, const std::string& file, int ranks = 0,
                            const std::string& where = "column 0 is \"b\", but in ") const {
    SCOPED_TRACE(line);
    expect_refusal(run(line, ranks), 3, {file + ": " + where});
    EXPECT_FALSE(has("model") || has("ledger") || has("out.csv"));
  }

  static constexpr int kRows = 30;
  static constexpr const char* kNamesOfBoth = "[\\\"a\\\",\\\"b\\\"]";  // in a model
  const std::string fit_ = "fit --classes 3 --mu 1 --out model --ledger ledger --train-y y.csv --train-x ";
  const std::string regress_ = "fit --mu 1 --target-range 0,200 --out model --ledger ledger --train-x ";
};

TEST_F(ColumnsTest, OfRowsBesideTrainingRowsAreTheirs) {
  const std::string in_training = "column 0 is \"b\", but in ab.csv it is \"a\"";
  const std::string test = " --test-y ty.csv --test-x ";
  const std::string choose = " --method ls --choose --validation-y ty.csv --validation-x ";
  const std::string center = " --center public --public-x ";
  for (const int ranks : {0, 2}) {
    expect_other_columns(fit_ + "ab.csv" + test + "ba.csv", "ba.csv", ranks, in_training);
    expect_other_columns(fit_ + "ab.csv --evaluate-share 0.2" + test + "ba.csv", "ba.csv", ranks, in_training);
    expect_other_columns(fit_ + "ab.csv" + center + "ba.csv", "ba.csv", ranks, in_training);
    expect_other_columns(fit_ + "ab.csv --method public --public-x ba.csv", "ba.csv", ranks, in_training);
    expect_other_columns(fit_ + "ab.csv" + choose + "ba.csv", "ba.csv", ranks, in_training);
  }
  EXPECT_EQ(run(fit_ + "ab.csv" + test + "more.csv").exit_code, 0);
  EXPECT_EQ(run(fit_ + "plain.npy" + test + "ba.csv").exit_code, 0) << "one side has no names";
}

TEST_F(ColumnsTest, OfRowsThatAModelIsUsedOnAreTheModels) {
  ASSERT_EQ(run("fit --classes 3 --mu 1 --out made --ledger first --train-y y.csv --train-x ab.csv").exit_code, 0);
  EXPECT_THAT(bytes("made"), HasSubstr(kNamesOfBoth)) << "the line of names is in the model";
  const std::string in_model = "column 0 is \"b\", but in the model made it is \"a\"";
  const std::string of_two = " --model made --test-y ty.csv --test-x ";
  for (const int ranks : {0, 2}) {
    expect_other_columns("predict --model made --out out.csv --x ba.csv", "ba.csv", ranks, in_model);
    expect_other_columns("predict --model made --scores --out out.csv --x ba.csv", "ba.csv", ranks, in_model);
    expect_other_columns("evaluate" + of_two + "ba.csv", "ba.csv", ranks, in_model);
    expect_other_columns("evaluate --private --mu 1 --ledger ledger" + of_two + "ba.csv", "ba.csv", ranks, in_model);
  }
  EXPECT_EQ(run("evaluate" + of_two + "more.csv").exit_code, 0);
  EXPECT_EQ(run("evaluate" + of_two + "plain.npy").exit_code, 0);
  EXPECT_EQ(run("evaluate --private --mu 1 --ledger ledger" + of_two + "more.csv").exit_code, 0);
}

TEST_F(ColumnsTest, AreComparedWithTheFirstFileOrRankThatNamesThem) {
  expect_other_columns(
      "fit --classes 3 --mu 1 --out model --ledger ledger --train-y plain_y.npy y3.csv y4.csv --train-x "
      "plain.npy ab.csv ba.csv",
      "ba.csv", 0, "column 0 is \"b\", but in ab.csv it is \"a\"");
  // Rank 0 has an array, the others tables.
  std::filesystem::copy_file(folder_ / "plain.npy", folder_ / "r0.npy");
  for (const std::string rank : {"0", "1", "2"}) {
    std::filesystem::copy_file(folder_ / "plain_y.npy", folder_ / ("l" + rank + ".npy"));
  }
  const std::string line = "fit --classes 3 --mu 1 --train-y l{rank}.npy --train-x r{rank}.* ";
  write_table("r1.csv", "a,b", 1);
  write_table("r2.csv", "b,a", 2);
  expect_other_columns(line + "--out model --ledger ledger", "r2.csv", 3,
                       "column 0 is \"b\", but on rank 1 it is \"a\"");
  write_table("r2.csv", "a,b", 2);
  const ProgramRun same = run(line + "--out first --ledger first.jsonl", 3);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(bytes("first"), HasSubstr(kNamesOfBoth)) << "those of rank 1";

  // A model without names: ranks' own test tables are still compared with each other.
  ASSERT_EQ(
      run("fit --classes 3 --mu 1 --out plain --ledger second --train-y plain_y.npy --train-x plain.npy").exit_code, 0);
  write_table("t_0.csv", "a,b", 3);
  write_table("t_1.csv", "b,a", 4);
  const std::string on_rank_0 = "column 0 is \"b\", but on rank 0 it is \"a\"";
  const std::string test = " --test-y l{rank}.npy --test-x t_{rank}.csv";
  expect_other_columns("evaluate --model plain" + test, "t_1.csv", 2, on_rank_0);
  expect_other_columns("predict --model plain --out out.csv --x t_{rank}.csv", "t_1.csv", 2, on_rank_0);
  expect_other_columns(
      "fit --classes 3 --mu 1 --out model --ledger ledger --train-y plain_y.npy --train-x plain.npy" + test, "t_1.csv",
      2, on_rank_0);
}

// No silo is said to be the wrong one.
TEST_F(ColumnsTest, OfSilosAreComparedWithEachOtherAndWithWhatTheCoordinatorReads) {
  for (const std::string silo : {"1", "2", "3"}) {
    const int from = 10 * std::stoi(silo);
    write_table("same" + silo + ".csv", "a,b", from);
    write_table("one" + silo + ".csv", silo == "2" ? "b,a" : "a,b", 2 * from);
    write_table("t" + silo + ".csv", silo == "1" ? "t2,t1" : "t1,t2", from);
    write_bytes(folder_ / ("l" + silo + ".csv"), bytes("y.csv"));
  }
  const std::string silos = " --secure-aggregation --silo-timeout 20 --mu 1 --ledger ledger ";
  const auto expect_refused = [&](const std::string& line, const std::vector<std::string>& said) {
    SCOPED_TRACE(line);
    const ProgramRun refused = run(line, 4);  // each party prints its own error
    EXPECT_EQ(refused.exit_code, 3);
    for (const std::string& part : said) EXPECT_THAT(refused.err, HasSubstr(part));
    EXPECT_FALSE(has("model") || has("ledger") || has("ledger-silo1"));
  };
  const std::string differ = "silos differ in the names of features, or in their order";
  expect_refused("fit --out model --classes 3 --train-y l{rank}.csv --train-x one{rank}.csv" + silos,
                 {"silo 1, silo 3", " against ", "one1.csv: " + differ + "; here they are \"a, b\"",
                  "one2.csv: " + differ + "; here they are \"b, a\"", "one3.csv: " + differ});
  expect_refused("fit --out model --target-range 0,200 --train-x same{rank}.csv --targets t{rank}.csv" + silos,
                 {"t1.csv: silos differ in the names of targets", "t2.csv: silos differ", "t3.csv: silos differ"});
  const std::string beside =
      "fit --out model --classes 3 --method mean --train-y l{rank}.csv --train-x same{rank}.csv" + silos +
      "--test-y ty.csv --test-x ";
  expect_refused(beside + "ba.csv", {"ba.csv: columns are \"b, a\", but those of silos have other names"});
  ASSERT_EQ(run("fit --classes 3 --mu 1 --out made --ledger first --train-y y.csv --train-x ba.csv").exit_code, 0);
  expect_refused("evaluate --private --model made --test-y l{rank}.csv --test-x same{rank}.csv" + silos,
                 {"same2.csv: column 0 is \"a\", but in the model made it is \"b\""});
  EXPECT_EQ(run(beside + "more.csv", 4).exit_code, 0);
}

TEST_F(ColumnsTest, OfOneFeatureAreComparedAsWell) {
  for (const std::string name : {"a", "b"}) {
    std::string table = name + "\n";
    for (int row = 0; row < kRows; ++row) table += fmt::format("{}\n", row + (name == "a" ? 0 : 50));
    write_bytes(folder_ / ("one_" + name + ".csv"), table);
  }
  write_bytes(folder_ / "one_0.csv", bytes("one_a.csv"));
  write_bytes(folder_ / "one_1.csv", bytes("one_b.csv"));
  for (const int rank : {0, 1}) write_bytes(folder_ / fmt::format("y_{}.csv", rank), bytes("y.csv"));
  const std::string line = "fit --classes 3 --mu 1 --out model --ledger ledger ";
  expect_other_columns(line + "--train-y y.csv ty.csv --train-x one_a.csv one_b.csv", "one_b.csv", 0,
                       "column 0 is \"b\", but in one_a.csv it is \"a\"");
  expect_other_columns(line + "--train-y y_{rank}.csv --train-x one_{rank}.csv", "one_1.csv", 2,
                       "column 0 is \"b\", but on rank 0 it is \"a\"");
}

TEST_F(ColumnsTest, OfTargetsAreComparedAsThoseOfFeatures) {
  expect_other_columns(regress_ + "ab.csv --targets t12.csv --test-x more.csv --test-targets t21.csv", "t21.csv", 0,
                       "column 0 is \"t2\", but in t12.csv it is \"t1\"");
  expect_other_columns(regress_ + "ab.csv more.csv --targets t12.csv t21.csv", "t21.csv", 0,
                       "column 0 is \"t2\", but in t12.csv it is \"t1\"");
  write_table("x_0.csv", "a,b", 0);
  write_table("x_1.csv", "a,b", 7);
  write_table("tt_0.csv", "t1,t2", 0);
  write_table("tt_1.csv", "t2,t1", 7);
  expect_other_columns(regress_ + "x_{rank}.csv --targets tt_{rank}.csv", "tt_1.csv", 2,
                       "column 0 is \"t2\", but on rank 0 it is \"t1\"");
  EXPECT_EQ(run(regress_ + "ab.csv --targets t12.csv --test-x more.csv --test-targets cd.csv").exit_code, 3);
  EXPECT_EQ(run(regress_ + "ab.csv --targets t12.csv").exit_code, 0);
}

TEST_F(FilesOnceTest, SilosOfOneMachineAreRefusedByOneOfThem) {
  std::filesystem::remove(folder_ / "x0.npy");  // silos count from 1
  std::filesystem::remove(folder_ / "y0.npy");
  const std::string silos = "--secure-aggregation --silo-timeout 20";
  ASSERT_EQ(fit("x{rank}.npy", "y{rank}.npy", 4, silos + " --out of_three --ledger of_three.jsonl").exit_code, 0);
  link("x1.npy", "x3.npy", true);
  link("y1.npy", "y3.npy", false);
  expect_refused(fit("x{rank}.npy", "y{rank}.npy", 4, silos),
                 {"x3.npy: silo 1 of this run also reads it, on this machine", "count twice"});
}

TEST_F(FilesOnceTest, RunsAtTheSameTimeDoNotDisturbEachOther) {
  std::filesystem::remove(folder_ / "x0.npy");
  std::filesystem::remove(folder_ / "y0.npy");
  const auto start = [&](const std::string& name) {
    return std::make_unique<RunningProgram>(
        split_arguments(
            "fit --classes 3 --mu 1 --secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy --out " + name +
            " --ledger " + name + ".jsonl"),
        RunOptions{.folder = folder_.path(), .ranks = 4, .timeout_seconds = 2 * kSecondsToEnd});
  };
  const auto one = start("one");
  const auto other = start("other");
  EXPECT_EQ(one->finish().exit_code, 0);
  EXPECT_EQ(other->finish().exit_code, 0);
}

}  // namespace dpreduce::files_once_test
