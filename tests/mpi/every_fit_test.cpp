// Ranks, threads and memory do not change a bit of the model, whatever is chosen to train it: the part of
// tests/cli/place_matrix_test.cpp that needs MPI, and rows that do not fit into the memory.
#include "tests/cli/every_fit.hpp"

#include "common/model/classifier_file.hpp"
#include "fit/fit.hpp"
#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::every_fit_test {

class EveryFitTest : public testing::TestWithParam<EveryFit> {
 protected:
  // Made by rank 0, for all.
  static void SetUpTestSuite() {
    std::string path;
    test_ranks().together([&] {
      if (!test_ranks().is_coordinator()) return;
      folder_ = std::make_unique<TemporaryFolder>();
      path = folder_->path();
      write_npy(make_rows({5003, 3119, 1885}, 32), path + "/x.npy", path + "/y.npy");
      write_npy(make_rows({700, 40, 261}, 32), path + "/public.npy", path + "/labels.npy");
    });
    path_ = test_ranks().trusted().broadcast(path);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  // The bytes of the model.
  static std::string model(Communicator& ranks, const std::string& further = "") {
    const std::string line = "fit --classes 3 --train-x @/x.npy --train-y @/y.npy --epsilon 2 --delta 1e-6 --seed 7 " +
                             GetParam().options + further;
    FittedRun run = fit(parsed_fit(split_arguments(with_folder(line, path_))), ranks, Accounts::kElsewhere);
    run.finish();
    const std::vector<std::byte> bytes = to_bytes(run.classifier);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  static std::string model_of_one_rank(const std::string& further = "") {
    std::string bytes;
    test_ranks().together([&] {
      if (!test_ranks().is_coordinator()) return;
      Communicator alone = Communicator::alone();
      bytes = model(alone, further);
    });
    return test_ranks().trusted().broadcast(bytes);
  }

 private:
  static std::unique_ptr<TemporaryFolder> folder_;
  static std::string path_;
};

std::unique_ptr<TemporaryFolder> EveryFitTest::folder_;
std::string EveryFitTest::path_;

TEST_P(EveryFitTest, RanksDoNotMatter) {
  if (test_ranks().size() == 1) return;
  const std::string alone = model_of_one_rank();
  ASSERT_FALSE(alone.empty());
  EXPECT_TRUE(model(test_ranks()) == alone);
}

TEST_P(EveryFitTest, ThreadsAndMemoryDoNotMatter) {
  if (test_ranks().size() > 1) return;  // once is enough
  const std::string alone = model_of_one_rank();
  for (const std::string further : {" --threads 1", " --threads 3 --memory 1"}) {
    EXPECT_TRUE(model_of_one_rank(further) == alone) << further;
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryFitTest, testing::ValuesIn(every_fit()),
                         [](const testing::TestParamInfo<EveryFit>& fit) { return fit.param.name; });

}  // namespace dpreduce::every_fit_test
