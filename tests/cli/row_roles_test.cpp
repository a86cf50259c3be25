// Training rows are private: a file of theirs has no public role, whatever name leads to it. As test rows they are
// told.
#include <hdf5.h>

#include "tests/cli/program_test.hpp"

namespace dpreduce::row_roles_test {

const std::string kTrain = "--train-x x0.npy --train-y y0.npy ";
const std::string kMean = kTrain + "--method mean ";
const std::string kOfRanks = "--train-x x{rank}.npy --train-y y{rank}.npy --method mean --center public --public-x ";

class RowRolesTest : public ProgramTest {
 protected:
  RowRolesTest() {
    const TrainingRows rows = make_rows({80, 80, 80}, 5);
    for (std::size_t part = 0; part < 4; ++part) {
      const TrainingRows some = rows.part(60 * part, 60);
      write_rows(some, fmt::format("x{}.npy", part), fmt::format("y{}.npy", part));
      write_hdf5(some, folder_ / fmt::format("d{}.h5", part));
    }
  }
  ProgramRun fit(const std::string& options, int ranks = 0) const { return run(fit_ + options, ranks); }
  void expect_no_outputs() const {
    for (const char* name : {"model", "ledger", "report.json"}) EXPECT_FALSE(has(name)) << name;
  }
  void expect_refused(const ProgramRun& run, Strings said) const {
    said.emplace_back("training rows are private");
    expect_refusal(run, 3, said);
    expect_no_outputs();
  }
  void expect_refused(const std::string& options, const Strings& said, int ranks = 0) const {
    SCOPED_TRACE(options);
    expect_refused(fit(options, ranks), said);
  }

  const std::string fit_ = "fit --classes 3 --mu 1 --threads 1 --out model --ledger ledger --report report.json ";
};

TEST_F(RowRolesTest, ATrainingFileIsNoFileOfPublicRowsByWhateverName) {
  fs::create_hard_link(folder_ / "x0.npy", folder_ / "hard.npy");
  fs::create_symlink(folder_ / "x0.npy", folder_ / "soft.npy");
  for (const char* name : {"x0.npy", "hard.npy", "soft.npy", "x1.npy soft.npy", "x?.npy"}) {
    expect_refused(kMean + "--center public --public-x " + name, {"--public-x ", "--train-x x0.npy are the same"});
  }
  expect_refused(kTrain + "--method fc --rounds 2 --pca 2 --public-x x0.npy", {"are the same"});
  expect_refused("--train-x d0.h5:/x --train-y d0.h5:/y --method mean --center public --public-x ./d0.h5:/x",
                 {"--public-x ./d0.h5:/x and --train-x d0.h5:/x are the same"});
  expect_refused(
      run("fit --classes 3 --epsilon 1 --out model --ledger ledger --method public --public-x x0.npy " + kTrain),
      {"--public-x x0.npy and --train-x x0.npy are the same"});
}

TEST_F(RowRolesTest, RowsThatLieInOtherFilesAreNoPublicRows) {
  const hsize_t shape[] = {30, 5};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  const auto make = [&](const char* name, auto&& refer) {
    const hid_t file = H5Fcreate((folder_ / name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    EXPECT_GE(refer(creation), 0);
    const hid_t dataset = H5Dcreate2(file, "/x", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Fclose(file);
  };
  make("raw.h5", [](hid_t creation) { return H5Pset_external(creation, "x0.npy", 128, sizeof(float) * 30 * 5); });
  make("virtual.h5", [&](hid_t creation) {
    const hsize_t whole[] = {60, 5};
    const hsize_t first[] = {0, 0};
    const hid_t source = H5Screate_simple(2, whole, nullptr);
    H5Sselect_hyperslab(source, H5S_SELECT_SET, first, nullptr, shape, nullptr);
    const herr_t mapped = H5Pset_virtual(creation, space, "d0.h5", "/x", source);
    H5Sclose(source);
    return mapped;
  });
  H5Sclose(space);
  for (const std::string name : {"raw.h5:/x", "virtual.h5:/x"}) {
    expect_refusal(fit(kMean + "--center public --public-x " + name), 3, {name, "its rows are in other files"});
    expect_no_outputs();
  }
}

TEST_F(RowRolesTest, ACopyOfATrainingFileIsNoFileOfPublicRows) {
  fs::copy_file(folder_ / "x0.npy", folder_ / "copy.npy");
  for (const std::string name : {"copy.npy", "d0.h5:/x"}) {
    expect_refused(kMean + "--center public --public-x x1.npy " + name, {name + " holds the rows of --train-x x0.npy"});
  }
}

TEST_F(RowRolesTest, ATrainingFileIsNoFileOfValidationRows) {
  const std::string choose = kTrain + "--method ls --choose --validation-x ";
  for (const auto& [files, said] :
       {std::pair{"x0.npy --validation-y y1.npy", "--validation-x x0.npy and --train-x x0.npy are the same"},
        std::pair{"x1.npy --validation-y y0.npy", "--validation-y y0.npy and --train-y y0.npy are the same"},
        std::pair{"x2.npy --validation-y y1.npy --train-person y1.npy",
                  "--validation-y y1.npy and --train-person y1.npy are the same"}}) {
    expect_refused(choose + files, {said});
  }
  expect_code(fit_ + choose + "x1.npy --validation-y y1.npy", 0);
}

TEST_F(RowRolesTest, AFileOfAnotherRankIsFound) {
  fs::rename(folder_ / "x2.npy", folder_ / "p0.npy");
  fs::rename(folder_ / "x3.npy", folder_ / "p1.npy");
  expect_code(fit_ + kOfRanks + "p{rank}.npy", 0, 2);
  for (const char* name : {"model", "ledger", "report.json"}) fs::remove(folder_ / name);
  fs::remove(folder_ / "p0.npy");
  fs::create_symlink(folder_ / "x1.npy", folder_ / "p0.npy");
  expect_refused(kOfRanks + "p{rank}.npy", {"--public-x p0.npy (rank 0) and --train-x x1.npy (rank 1) are the same"},
                 2);
}

TEST_F(RowRolesTest, AFileOfASiloIsFoundOnItsMachine) {
  fs::remove(folder_ / "x0.npy");  // silos count from 1
  fs::remove(folder_ / "y0.npy");
  expect_refused("--secure-aggregation " + kOfRanks + "x2.npy", {"x2.npy (public rows) is a training file of silo 2"},
                 4);
}

TEST_F(RowRolesTest, ABadValueOfOtherRowsCostsNothing) {
  TrainingRows bad = make_rows({80, 80, 80}, 5).part(60, 60);
  bad.features[17 * 5] = std::numeric_limits<float>::quiet_NaN();
  bad.labels[9] = 3;
  write_rows(bad, "bad_x.npy", "bad_y.npy");
  for (const std::string options :
       {"--method fc --public-x bad_x.npy", "--method public --public-x bad_x.npy",
        "--method gd --choose --validation-x bad_x.npy --validation-y y1.npy",
        "--method mean --test-x bad_x.npy --test-y y1.npy", "--method mean --test-x x1.npy --test-y bad_y.npy"}) {
    SCOPED_TRACE(options);
    const std::string said =
        options.ends_with("bad_y.npy") ? "bad_y.npy: row 9 has label 3" : "bad_x.npy: row 17: not a finite number";
    for (const int ranks : {0, 2}) expect_refusal(fit(kTrain + options, ranks), 3, {said});
    expect_no_outputs();
  }
  expect_code(fit_ + kTrain + "--method fc --public-x bad_x.npy --bad-rows zero", 0);
}

TEST_F(RowRolesTest, ASweepIsRefusedAsAFit) {
  const std::string line =
      "sweep --test-x x1.npy --test-y y1.npy --classes 3 --epsilons 1 --seeds 1 --out swept --methods "
      "mean~--center~public --public-x x0.npy " +
      kTrain;
  expect_refused(run(line), {"--public-x x0.npy and --train-x x0.npy are the same"});
}

TEST_F(RowRolesTest, TestRowsThatAreTrainingRowsAreToldEverywhere) {
  fs::copy_file(folder_ / "x0.npy", folder_ / "copy.npy");
  for (const char* test : {"x0.npy", "copy.npy"}) {
    SCOPED_TRACE(test);
    const std::string told = expect_code(fit_ + kMean + fmt::format("--test-x {} --test-y y1.npy", test), 0).err;
    EXPECT_THAT(told, HasSubstr(fmt::format("warning: --test-x {} ", test)));
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
    EXPECT_EQ(document("report.json")["test"]["rows_are_training_rows"], true);
    EXPECT_THAT(run("privacy explain report.json").out, HasSubstr("here the test rows are training rows"));
    succeed("report report.json --out page.html");
    EXPECT_THAT(bytes("page.html"), HasSubstr("exact figures about training rows"));
    succeed("export --overwrite --card card.md --model model --report report.json");
    EXPECT_THAT(bytes("card.md"), HasSubstr("exact figures about training rows"));
  }
  EXPECT_THAT(expect_code(fit_ + kMean + "--test-x x1.npy --test-y y1.npy", 0).err, Not(HasSubstr("training rows")));
  EXPECT_FALSE(document("report.json")["test"].contains("rows_are_training_rows"));
}

TEST_F(RowRolesTest, ThatRowsArePublicIsTheWordOfWhoRanIt) {
  EXPECT_EQ(reported(fit_ + kMean + "--center public --public-x x1.npy")["public_by_word"], json({"public_x"}));
  EXPECT_THAT(run("privacy explain report.json").out, HasSubstr("declared public: nothing protects"));
  expect_code(fit_ + kMean, 0);
  EXPECT_THAT(run("privacy explain report.json").out, Not(HasSubstr("declared public")));
}

}  // namespace dpreduce::row_roles_test
