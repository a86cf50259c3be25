// A record counts once: no two ranks, and no two silos of one machine, train on one file.
#include <hdf5.h>

#include "tests/cli/program_test.hpp"

namespace dpreduce::files_once_test {

namespace fs = std::filesystem;

class FilesOnceTest : public ProgramTest {
 protected:
  FilesOnceTest() {
    const TrainingRows rows = make_rows({60, 60, 60}, 5);
    for (std::size_t silo = 0; silo <= 3; ++silo) {
      write_rows(rows.part(40 * silo, 40 + silo), numbered_npy("x", silo), numbered_npy("y", silo));
      write_hdf5(rows.part(40 * silo, 40 + silo), folder_ / fmt::format("d{}.h5", silo));
    }
  }

  ProgramRun run(const std::string& line, int ranks = 0) const override {
    return run_with({.ranks = ranks, .timeout_seconds = kSecondsToEnd}, line);
  }
  ProgramRun fit(const std::string& x, const std::string& y, int ranks, const std::string& options = "") const {
    return run(
        fmt::format("fit --classes 3 --mu 1 --out model --ledger ledger --train-x {} --train-y {} {}", x, y, options),
        ranks);
  }
  void expect_refused(const ProgramRun& run, const std::vector<std::string>& said) const {
    expect_refusal(run, 3, said);
    EXPECT_FALSE(has("model"));
    EXPECT_FALSE(has("ledger")) << "nothing was charged";
  }
  void link(const std::string& from, const std::string& to, bool hard) const {
    fs::remove(folder_ / to);
    hard ? fs::create_hard_link(folder_ / from, folder_ / to) : fs::create_symlink(folder_ / from, folder_ / to);
  }
};

TEST_F(FilesOnceTest, RanksThatLinkToOneFileAreRefusedWithBothNames) {
  write_rows(make_rows({20, 10, 10}, 5), "x1.npy", "y1.npy");
  link("y0.npy", "y1.npy", false);  // labels, beside features of another rank
  expect_refused(fit("x{rank}.npy", "y{rank}.npy", 2), {"y0.npy (rank 0) and y1.npy (rank 1) are the same file"});
  for (const bool hard : {true, false}) {
    link("x0.npy", "x2.npy", hard);
    link("y0.npy", "y2.npy", hard);
    expect_refused(fit("x{rank}.npy", "y{rank}.npy", 3),
                   {"x0.npy (rank 0) and x2.npy (rank 2) are the same file", "its records would count twice"});
    expect_refused(fit("x0.npy x2.npy", "y0.npy y3.npy", 0), {"x2.npy", "its records would count twice"});
  }
}

TEST_F(FilesOnceTest, AnotherPathThroughTheSameFileSystemIsFound) {
  fs::create_directory(folder_ / "r0");
  fs::create_directory_symlink(folder_ / "r0", folder_ / "r1");
  write_rows(make_rows({20, 10, 10}, 5), "r0/x.npy", "r0/y.npy");
  expect_refused(fit("r{rank}/x.npy", "r{rank}/y.npy", 2),
                 {"r0/x.npy (rank 0) and r1/x.npy (rank 1) are the same file"});
}

TEST_F(FilesOnceTest, DataSetsOfOneHdf5FileAreTheirOwn) {
  const hid_t file = H5Fcreate((folder_ / "all.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto copy = [&](hid_t from, const std::string& name, const std::string& to) {
    ASSERT_GE(H5Ocopy(from, name.c_str(), file, to.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  };
  for (const std::string rank : {"0", "1"}) {
    const hid_t from = H5Fopen((folder_ / ("d" + rank + ".h5")).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    for (const std::string name : {"x", "y"}) copy(from, name, name + rank);
    H5Fclose(from);
    copy(file, "y0", "labels" + rank);
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

// Two machines on which the same arguments name other files.
TEST_F(FilesOnceTest, RanksThatShareAListCutItAndMustSeeTheSame) {
  const TemporaryFolder elsewhere;
  for (const char* file : {"x0.npy", "y0.npy"}) fs::copy_file(folder_ / file, elsewhere / file);
  write_npy(make_rows({3, 2, 1}, 5), elsewhere / "x1.npy", elsewhere / "y1.npy");
  for (const std::string number : {"1", "?"}) {  // another number of rows; more files
    expect_refused(fit("x" + number + ".npy", "y" + number + ".npy", 1,
                       fmt::format(": -n 1 -wdir {} {} fit", elsewhere.path(), program_path())),
                   {"rank 1 sees different training files than rank 0"});
    for (const char* file : {"x1.npy", "y1.npy"}) fs::remove(elsewhere / file);
  }
  EXPECT_EQ(fit("x0.npy x1.npy", "y0.npy y1.npy", 3).exit_code, 0);
  EXPECT_TRUE(has("model"));
}

// Rows are summed column by column, also where there is but one.
TEST_F(FilesOnceTest, ColumnsInAnotherOrderAreRefusedByTheFirstThatDiffers) {
  for (const auto& [usual, other] : {std::pair{"age", "weight"}, {"age,weight", "weight,age"}}) {
    for (const int file : {0, 1, 2}) {
      const std::string names = file == 1 ? other : usual;
      const std::string first = names.find(',') == std::string::npos ? "" : fmt::format("{},", file);
      std::string table = names + ",y\n";
      for (int row = 0; row < 30; ++row) table += fmt::format("{}{},{}\n", first, row + 50 * file, row % 3);
      write_bytes(folder_ / fmt::format("{}.csv", file), table);
    }
    const std::string said = "1.csv:-y: column 0 is \"weight\", but ";
    expect_refused(fit("{rank}.csv:-y", "{rank}.csv:y", 3), {said, "on rank 0 it is \"age\""});
    expect_refused(fit("0.csv:-y 1.csv:-y", "0.csv:y 1.csv:y", 0), {said, "in 0.csv:-y it is \"age\""});
  }
  EXPECT_EQ(fit("0.csv:-y 2.csv:-y", "0.csv:y 2.csv:y", 0).exit_code, 0);
  EXPECT_EQ(fit("{rank}.csv:age,weight", "{rank}.csv:y", 3).exit_code, 0);
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
    write_rows(make_rows({kRows / 3, kRows / 3, kRows / 3}, 2), "plain.npy", "plain_y.npy");
  }

  void write_table(const std::string& name, const std::string& names, int from) const {
    std::string table = names + "\n";
    for (int row = 0; row < kRows; ++row) table += fmt::format("{},{}\n", 0.25 * (from + row), row % 3);
    write_bytes(folder_ / name, table);
  }
  // `place` is where the first column has the first of `names`; in `file` it has the other.
  void expect_other_columns(const std::string& line, const std::string& file, const std::string& place, int ranks = 0,
                            const std::pair<std::string, std::string>& names = {"a", "b"}) const {
    SCOPED_TRACE(line);
    const std::string said =
        fmt::format("{}: column 0 is \"{}\", but {} it is \"{}\"", file, names.second, place, names.first);
    expect_refusal(run(line, ranks), 3, {said});
    EXPECT_FALSE(has("model") || has("ledger") || has("out.csv"));
  }

  static constexpr int kRows = 30;
  static constexpr const char* kNamesOfBoth = "[\\\"a\\\",\\\"b\\\"]";  // in a model
  const std::string fit_ = "fit --classes 3 --mu 1 --out model --ledger ledger --train-y y.csv --train-x ";
  const std::string regress_ = "fit --mu 1 --target-range 0,200 --out model --ledger ledger --train-x ";
};

TEST_F(ColumnsTest, OfRowsBesideTrainingRowsAreTheirs) {
  const std::string test = " --test-y ty.csv --test-x ";
  for (const std::string& beside : {test, " --evaluate-share 0.2" + test, std::string(" --center public --public-x "),
                                    std::string(" --method public --public-x "),
                                    std::string(" --method ls --choose --validation-y ty.csv --validation-x ")}) {
    for (const int ranks : {0, 2})
      expect_other_columns(fit_ + "ab.csv" + beside + "ba.csv", "ba.csv", "in ab.csv", ranks);
  }
  EXPECT_EQ(run(fit_ + "ab.csv" + test + "more.csv").exit_code, 0);
  EXPECT_EQ(run(fit_ + "plain.npy" + test + "ba.csv").exit_code, 0) << "one side has no names";
}

TEST_F(ColumnsTest, OfRowsThatAModelIsUsedOnAreTheModels) {
  ASSERT_EQ(run("fit --classes 3 --mu 1 --out made --ledger first --train-y y.csv --train-x ab.csv").exit_code, 0);
  EXPECT_THAT(bytes("made"), HasSubstr(kNamesOfBoth)) << "the line of names is in the model";
  const std::string evaluate = "evaluate --model made --test-y ty.csv --test-x ";
  const std::string in_private = "evaluate --private --mu 1 --ledger ledger --model made --test-y ty.csv --test-x ";
  for (const std::string& line :
       {std::string("predict --model made --out out.csv --x "),
        std::string("predict --model made --scores --out out.csv --x "), evaluate, in_private}) {
    for (const int ranks : {0, 2}) expect_other_columns(line + "ba.csv", "ba.csv", "in the model made", ranks);
  }
  EXPECT_EQ(run(evaluate + "more.csv").exit_code, 0);
  EXPECT_EQ(run(evaluate + "plain.npy").exit_code, 0);
  EXPECT_EQ(run(in_private + "more.csv").exit_code, 0);
}

TEST_F(ColumnsTest, AreComparedWithTheFirstFileOrRankThatNamesThem) {
  const std::string fit = "fit --classes 3 --mu 1 --out model --ledger ledger --train-y ";
  expect_other_columns(fit + "plain_y.npy y3.csv y4.csv --train-x plain.npy ab.csv ba.csv", "ba.csv", "in ab.csv");
  // Rank 0 has an array, the others tables.
  fs::copy_file(folder_ / "plain.npy", folder_ / "r0.npy");
  for (const char* labels : {"l0.npy", "l1.npy", "l2.npy"}) fs::copy_file(folder_ / "plain_y.npy", folder_ / labels);
  const std::string line = fit + "l{rank}.npy --train-x r{rank}.* ";
  write_table("r1.csv", "a,b", 1);
  write_table("r2.csv", "b,a", 2);
  expect_other_columns(line, "r2.csv", "on rank 1", 3);
  write_table("r2.csv", "a,b", 2);
  const ProgramRun same = run(line + "--out first --ledger first.jsonl", 3);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(bytes("first"), HasSubstr(kNamesOfBoth)) << "those of rank 1";

  // A model without names: ranks' own test tables are still compared with each other.
  const std::string plain = fit + "plain_y.npy --train-x plain.npy";
  ASSERT_EQ(run(plain + " --out plain --ledger second").exit_code, 0);
  write_table("t_0.csv", "a,b", 3);
  write_table("t_1.csv", "b,a", 4);
  const std::string test = " --test-y l{rank}.npy --test-x t_{rank}.csv";
  for (const std::string& two : {"evaluate --model plain" + test,
                                 std::string("predict --model plain --out out.csv --x t_{rank}.csv"), plain + test}) {
    expect_other_columns(two, "t_1.csv", "on rank 0", 2);
  }
}

// No silo is said to be the wrong one. Of features of training rows: network_test.
TEST_F(ColumnsTest, OfSilosAreComparedWithEachOtherAndWithWhatTheCoordinatorReads) {
  for (const std::string silo : {"1", "2", "3"}) {
    const int from = 10 * std::stoi(silo);
    write_table("same" + silo + ".csv", "a,b", from);
    write_table("t" + silo + ".csv", silo == "1" ? "t2,t1" : "t1,t2", from);
    write_bytes(folder_ / ("l" + silo + ".csv"), bytes("y.csv"));
  }
  const std::string silos = " --secure-aggregation --silo-timeout 20 --mu 1 --ledger ledger ";
  const auto expect_refused = [&](const std::string& line, const std::vector<std::string>& said) {
    run_among(3, line, 3, said);  // each party prints its own error
    EXPECT_FALSE(has("model") || has("ledger") || has("ledger-silo1")) << line;
  };
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

TEST_F(ColumnsTest, OfTargetsAreComparedAsThoseOfFeatures) {
  write_table("x_0.csv", "a,b", 0);
  write_table("x_1.csv", "a,b", 7);
  write_table("tt_0.csv", "t1,t2", 0);
  write_table("tt_1.csv", "t2,t1", 7);
  const std::pair<std::string, std::string> names{"t1", "t2"};
  const std::string test = "ab.csv --targets t12.csv --test-x more.csv --test-targets ";
  expect_other_columns(regress_ + test + "t21.csv", "t21.csv", "in t12.csv", 0, names);
  expect_other_columns(regress_ + "ab.csv more.csv --targets t12.csv t21.csv", "t21.csv", "in t12.csv", 0, names);
  expect_other_columns(regress_ + "x_{rank}.csv --targets tt_{rank}.csv", "tt_1.csv", "on rank 0", 2, names);
  EXPECT_EQ(run(regress_ + test + "cd.csv").exit_code, 3);
  EXPECT_EQ(run(regress_ + "ab.csv --targets t12.csv").exit_code, 0);
}

// Two runs at the same time do not disturb each other.
TEST_F(FilesOnceTest, SilosOfOneMachineAreRefusedByOneOfThem) {
  for (const char* file : {"x0.npy", "y0.npy"}) fs::remove(folder_ / file);  // silos count from 1
  const auto start = [&](const std::string& name) {
    return std::make_unique<RunningProgram>(
        split_arguments(fmt::format("fit --classes 3 --mu 1 --secure-aggregation --train-x x{{rank}}.npy --train-y "
                                    "y{{rank}}.npy --out {0} --ledger {0}.jsonl",
                                    name)),
        RunOptions{.folder = folder_.path(), .ranks = 4, .timeout_seconds = 2 * kSecondsToEnd});
  };
  const auto one = start("one");
  const auto other = start("other");
  EXPECT_EQ(one->finish().exit_code, 0);
  EXPECT_EQ(other->finish().exit_code, 0);
  link("x1.npy", "x3.npy", true);
  link("y1.npy", "y3.npy", false);
  expect_refused(fit("x{rank}.npy", "y{rank}.npy", 4, "--secure-aggregation --silo-timeout 20"),
                 {"x3.npy: silo 1 of this run also reads it, on this machine", "count twice"});
}

}  // namespace dpreduce::files_once_test
