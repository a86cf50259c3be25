// Training rows are private: a file of theirs has no public role, whatever name leads to it. As test rows they are
// told.

#include <hdf5.h>

#include "tests/cli/program_test.hpp"

namespace dpreduce::row_roles_test {

namespace fs = std::filesystem;

constexpr const char* kTrain = "--train-x x0.npy --train-y y0.npy";

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

  ProgramRun fit(const std::string& options, int ranks = 0) const {
    return run("fit --classes 3 --mu 1 --threads 1 --out model --ledger ledger --report report.json " + options, ranks);
  }
  void expect_refused(const ProgramRun& run, const std::vector<std::string>& said) const {
    expect_refusal(run, 3, said);
    EXPECT_THAT(run.err, HasSubstr("training rows are private"));
    for (const char* name : {"model", "ledger", "report.json"}) EXPECT_FALSE(has(name)) << name;
  }
  void expect_refused(const std::string& options, const std::vector<std::string>& said, int ranks = 0) const {
    SCOPED_TRACE(options);
    expect_refused(fit(options, ranks), said);
  }
  json report() const { return document("report.json"); }
};

TEST_F(RowRolesTest, ATrainingFileIsNoFileOfPublicRowsByWhateverName) {
  fs::create_hard_link(folder_ / "x0.npy", folder_ / "hard.npy");
  fs::create_symlink(folder_ / "x0.npy", folder_ / "soft.npy");
  for (const char* name : {"x0.npy", "hard.npy", "soft.npy", "x1.npy soft.npy", "x?.npy"}) {
    expect_refused(fmt::format("{} --method mean --center public --public-x {}", kTrain, name),
                   {"--public-x ", "--train-x x0.npy are the same"});
  }
  expect_refused(fmt::format("{} --method fc --rounds 2 --pca 2 --public-x x0.npy", kTrain), {"are the same"});
  expect_refused("--train-x d0.h5:/x --train-y d0.h5:/y --method mean --center public --public-x ./d0.h5:/x",
                 {"--public-x ./d0.h5:/x and --train-x d0.h5:/x are the same"});
  expect_refused(
      run(fmt::format("fit --classes 3 --epsilon 1 --out model --ledger ledger {} --method public --public-x x0.npy",
                      kTrain)),
      {"--public-x x0.npy and --train-x x0.npy are the same"});
}

// A file from elsewhere may name private rows, or some of them, by where they lie.
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
  for (const char* name : {"raw.h5:/x", "virtual.h5:/x"}) {
    const ProgramRun run = fit(fmt::format("{} --method mean --center public --public-x {}", kTrain, name));
    expect_refusal(run, 3, {name, "its rows are in other files"});
    EXPECT_FALSE(has("ledger") || has("model"));
  }
}

TEST_F(RowRolesTest, ACopyOfATrainingFileIsNoFileOfPublicRows) {
  fs::copy_file(folder_ / "x0.npy", folder_ / "copy.npy");
  for (const char* name : {"copy.npy", "d0.h5:/x"}) {
    expect_refused(fmt::format("{} --method mean --center public --public-x x1.npy {}", kTrain, name),
                   {std::string(name) + " holds the rows of --train-x x0.npy"});
  }
}

TEST_F(RowRolesTest, ATrainingFileIsNoFileOfValidationRows) {
  const std::string method = "--method ls --choose ";
  expect_refused(kTrain + (" " + method) + "--validation-x x0.npy --validation-y y1.npy",
                 {"--validation-x x0.npy and --train-x x0.npy are the same"});
  expect_refused(kTrain + (" " + method) + "--validation-x x1.npy --validation-y y0.npy",
                 {"--validation-y y0.npy and --train-y y0.npy are the same"});
  expect_refused(kTrain + (" " + method) + "--train-person y1.npy --validation-x x2.npy --validation-y y1.npy",
                 {"--validation-y y1.npy and --train-person y1.npy are the same"});
  EXPECT_EQ(fit(kTrain + (" " + method) + "--validation-x x1.npy --validation-y y1.npy").exit_code, 0);
}

TEST_F(RowRolesTest, AFileOfAnotherRankIsFound) {
  fs::rename(folder_ / "x2.npy", folder_ / "p0.npy");
  fs::rename(folder_ / "x3.npy", folder_ / "p1.npy");
  const std::string line = "--train-x x{rank}.npy --train-y y{rank}.npy --method mean --center public --public-x ";
  EXPECT_EQ(fit(line + "p{rank}.npy", 2).exit_code, 0);
  for (const char* name : {"model", "ledger", "report.json"}) fs::remove(folder_ / name);
  fs::remove(folder_ / "p0.npy");
  fs::create_symlink(folder_ / "x1.npy", folder_ / "p0.npy");
  expect_refused(line + "p{rank}.npy", {"--public-x p0.npy (rank 0) and --train-x x1.npy (rank 1) are the same"}, 2);
}

TEST_F(RowRolesTest, AFileOfASiloIsFoundOnItsMachine) {
  fs::remove(folder_ / "x0.npy");  // silos count from 1
  fs::remove(folder_ / "y0.npy");
  const std::string line =
      "--secure-aggregation --train-x x{rank}.npy --train-y y{rank}.npy --method mean --center public --public-x ";
  expect_refused(line + "x2.npy", {"x2.npy (public rows) is a training file of silo 2"}, 4);
}

// Rows beside the training rows are looked at before anything is reserved.
TEST_F(RowRolesTest, ABadValueOfOtherRowsCostsNothing) {
  TrainingRows bad = make_rows({80, 80, 80}, 5).part(60, 60);
  bad.features[17 * 5] = std::numeric_limits<float>::quiet_NaN();
  bad.labels[9] = 3;
  write_rows(bad, "bad_x.npy", "bad_y.npy");
  const std::pair<const char*, const char*> cases[] = {
      {"--method fc --public-x bad_x.npy", "bad_x.npy: row 17: not a finite number"},
      {"--method public --public-x bad_x.npy", "bad_x.npy: row 17: not a finite number"},
      {"--method gd --choose --validation-x bad_x.npy --validation-y y1.npy", "bad_x.npy: row 17: not a finite number"},
      {"--method mean --test-x bad_x.npy --test-y y1.npy", "bad_x.npy: row 17: not a finite number"},
      {"--method mean --test-x x1.npy --test-y bad_y.npy", "bad_y.npy: row 9 has label 3"}};
  for (const auto& [options, message] : cases) {
    SCOPED_TRACE(options);
    for (const int ranks : {0, 2}) expect_refusal(fit(fmt::format("{} {}", kTrain, options), ranks), 3, {message});
    for (const char* name : {"model", "ledger", "report.json"}) EXPECT_FALSE(has(name)) << name;
  }
  EXPECT_EQ(fit(fmt::format("{} --method fc --public-x bad_x.npy --bad-rows zero", kTrain)).exit_code, 0);
}

TEST_F(RowRolesTest, ASweepIsRefusedAsAFit) {
  const std::string line = fmt::format(
      "sweep {} --test-x x1.npy --test-y y1.npy --classes 3 --epsilons 1 --seeds 1 --out swept "
      "--methods mean~--center~public --public-x x0.npy",
      kTrain);
  expect_refused(run(line), {"--public-x x0.npy and --train-x x0.npy are the same"});
}

TEST_F(RowRolesTest, TestRowsThatAreTrainingRowsAreToldEverywhere) {
  fs::copy_file(folder_ / "x0.npy", folder_ / "copy.npy");
  for (const char* test : {"x0.npy", "copy.npy"}) {
    SCOPED_TRACE(test);
    const ProgramRun trained = fit(fmt::format("{} --method mean --test-x {} --test-y y1.npy", kTrain, test));
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_THAT(trained.err, HasSubstr(fmt::format("warning: --test-x {} ", test)));
    EXPECT_EQ(std::ranges::count(trained.err, '\n'), 1) << trained.err;
    EXPECT_EQ(report()["test"]["rows_are_training_rows"], true);
    EXPECT_THAT(run("privacy explain report.json").out, HasSubstr("here the test rows are training rows"));
    succeed("report report.json --out page.html");
    EXPECT_THAT(bytes("page.html"), HasSubstr("exact figures about training rows"));
    succeed("export --overwrite --card card.md --model model --report report.json");
    EXPECT_THAT(bytes("card.md"), HasSubstr("exact figures about training rows"));
  }
  const ProgramRun other = fit(fmt::format("{} --method mean --test-x x1.npy --test-y y1.npy", kTrain));
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_FALSE(report()["test"].contains("rows_are_training_rows"));
  EXPECT_THAT(other.err, Not(HasSubstr("training rows")));
}

TEST_F(RowRolesTest, ThatRowsArePublicIsTheWordOfWhoRanIt) {
  ASSERT_EQ(fit(fmt::format("{} --method mean --center public --public-x x1.npy", kTrain)).exit_code, 0);
  EXPECT_EQ(report()["public_by_word"], json({"public_x"}));
  EXPECT_THAT(run("privacy explain report.json").out, HasSubstr("declared public: nothing protects"));
  ASSERT_EQ(fit(fmt::format("{} --method mean", kTrain)).exit_code, 0);
  EXPECT_THAT(run("privacy explain report.json").out, Not(HasSubstr("declared public")));
}

}  // namespace dpreduce::row_roles_test
