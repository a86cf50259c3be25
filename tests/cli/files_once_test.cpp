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
