// The same rows, options and seed give the same model, byte for byte, however the rows are stored and spread.
#include "tests/cli/program_test.hpp"

namespace dpreduce::fit_test {

const std::string kWhole = "--train-x x.npy --train-y y.npy";

// A name; a way to store the rows, or the options of a method.
struct Choice {
  std::string name;
  std::string options;
};

class FitTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const TemporaryFolder& folder = *folder_;
    const TrainingRows rows = make_rows({5003, 3119, 1885}, 32);
    write_npy(rows, folder / "x.npy", folder / "y.npy");
    write_npy(rows, folder / "fortran_x.npy", folder / "fortran_y.npy", MemoryOrder::kFortran);
    write_hdf5(rows, folder / "rows.h5");
    const std::size_t cuts[] = {0, 1, 6500, rows.rows()};
    for (std::size_t shard = 0; shard < 3; ++shard) {
      write_npy(rows.part(cuts[shard], cuts[shard + 1] - cuts[shard]), folder / numbered_npy("x_", shard),
                folder / numbered_npy("y_", shard));
    }
    write_npy(rows.part(0, 0), folder / "none_x.npy", folder / "none_y.npy");
    const TrainingRows other = make_rows({700, 40, 261}, 32);
    write_npy(other, folder / "other_x.npy", folder / "other_y.npy");
    write_npy(other, folder / "public.npy", folder / "unused.npy");
    write_npy(other.part(0, 400), folder / "public_0.npy", folder / "unused.npy");
    write_npy(other.part(400, 601), folder / "public_1.npy", folder / "unused.npy");
    write_hdf5(other, folder / "public.h5");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::vector<Choice> storages() {
    return {{"three uneven files", "--train-x x_0.npy x_1.npy x_2.npy --train-y y_0.npy y_1.npy y_2.npy"},
            {"files of a pattern", "--train-x x_?.npy --train-y y_*.npy"},
            {"files cut differently from the labels", "--train-x x.npy --train-y y_0.npy y_1.npy y_2.npy"},
            {"an empty file among others",
             "--train-x x_0.npy none_x.npy x_1.npy x_2.npy --train-y y_0.npy y_1.npy none_y.npy y_2.npy"},
            {"HDF5", "--train-x rows.h5:/x --train-y rows.h5:/y"},
            {"Fortran order", "--train-x fortran_x.npy --train-y y.npy"}};
  }

  static std::string printed_by(const std::string& line, int ranks = 0) {
    const ProgramRun run = run_program(split_arguments(line), {.folder = folder_->path(), .ranks = ranks});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return run.out;
  }

  // The bytes of the model.
  static std::string fit(const std::string& options, int ranks = 0) {
    printed_by("fit --classes 3 --out model --ledger ledger " + options, ranks);
    const std::string model = read_bytes(*folder_ / "model");
    std::filesystem::remove(*folder_ / "model");
    std::filesystem::remove(*folder_ / "ledger");
    return model;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};

std::unique_ptr<TemporaryFolder> FitTest::folder_;

// One choice for every way in which a method reads its rows.
class FitReadersTest : public FitTest, public testing::WithParamInterface<Choice> {};

TEST_P(FitReadersTest, AnyStorageOfTheRowsGivesTheSameBytes) {
  const std::string options = " --epsilon 2 --delta 1e-6 --seed 7 " + GetParam().options;
  const std::string expected = fit(kWhole + options);
  for (const auto& [name, files] : storages()) EXPECT_TRUE(fit(files + options) == expected) << name;
  EXPECT_TRUE(fit(kWhole + options, 1) == expected) << "mpirun -n 1";
}

INSTANTIATE_TEST_SUITE_P(, FitReadersTest,
                         testing::ValuesIn(std::vector<Choice>{
                             {"sums", "--method mean --center dp"},
                             {"sums_reduced", "--method mean --pca 3"},
                             {"sums_and_squares", "--method fisher --select 7 --select-by t --normalize none --clip 3"},
                             {"gram", "--method ls --shared-gram --adjacency replace-one"},
                             {"grams_by_class", "--method ls --alpha 0.5 --center dp"},
                             {"gram_and_rounds", "--method fc --rounds 3"},
                             {"rounds_of_samples", "--method gd --rounds 5 --batch 0.3 --accountant rdp"},
                             {"hessians", "--method newton --rounds 2"},
                             {"utilities", "--method public --public-x public.npy"},
                             {"utilities_of_pairs", "--method public --public-x public.npy --d-min 0.7 --d-max 1.6"},
                             {"correct_rows", "--method adam --rounds 5 --choose"},
                         }),
                         [](const auto& choice) { return choice.param.name; });

TEST_F(FitTest, AnyStorageOnSeveralRanksGivesTheSameBytes) {
  const std::string seeded =
      " --method mean --mu 1 --seed 1 --center dp --metric euclidean --clip 2 --pool 2 --normalize none";
  const std::string expected = fit(kWhole + seeded);
  for (const auto& [name, files] : storages()) EXPECT_TRUE(fit(files + seeded, 3) == expected) << name;
  EXPECT_TRUE(fit("--train-x x_{rank}.npy --train-y y_{rank}.npy" + seeded, 3) == expected) << "silos' own files";
}

TEST_F(FitTest, ABatchNeedsNoNoiseWithoutPrivacy) {
  const std::string options = kWhole + " --method gd --rounds 3 --non-private";
  EXPECT_EQ(fit(options + " --batch 0.5"), fit(options + " --batch 0.5"));
  EXPECT_NE(fit(options + " --batch 0.5"), fit(options));
}

TEST_F(FitTest, PublicRowsMayBeStoredInAnyWayAndACenterOfThemCostsNothing) {
  const std::string options = kWhole + " --mu 1 --seed 3 --method mean --center public --pool 2 --public-x ";
  const std::string expected = fit(options + "public.npy");
  for (const std::string files : {"public_0.npy public_1.npy", "public_?.npy", "public.h5:/x"}) {
    EXPECT_TRUE(fit(options + files) == expected) << files;
    EXPECT_TRUE(fit(options + files, 3) == expected) << files;
  }
  EXPECT_FALSE(fit(options + "public_0.npy") == expected);

  const auto plan = [](const std::string& center) {
    const std::string told = printed_by("fit --classes 3 --mu 1 --dry-run --method mean " + kWhole + center);
    return told.substr(0, told.find("cost "));  // in seconds it is measured, and another every time
  };
  EXPECT_EQ(plan(" --center public --public-x public.npy"), plan(""));
}

TEST_F(FitTest, RunsAreAlikeWithoutNoiseAndDifferByTheirSeedsOrWithoutOne) {
  EXPECT_NE(fit(kWhole + " --mu 1 --seed 1"), fit(kWhole + " --mu 1 --seed 2"));
  const std::string exact = fit(kWhole + " --non-private");
  for (const int ranks : {0, 3}) {
    EXPECT_NE(fit(kWhole + " --mu 1", ranks), fit(kWhole + " --mu 1", ranks)) << ranks;
    EXPECT_TRUE(fit(kWhole + " --non-private", ranks) == exact) << ranks;
  }
}

}  // namespace dpreduce::fit_test
