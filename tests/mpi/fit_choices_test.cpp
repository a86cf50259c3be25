// Ranks, threads and memory do not change a bit of the model, whatever is chosen to train it.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/model/classifier_file.hpp"
#include "fit/fit.hpp"
#include "tests/cli/program_run.hpp"
#include "tests/cli/training_files.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace fit_choices_test {

// A name, and the options of the method; @ is the folder of the files.
struct Choices {
  std::string name;
  std::string options;
};

// Prints the name alone.
void PrintTo(const Choices& choices, std::ostream* out) {
  *out << choices.name;
}

class FitChoicesTest : public testing::TestWithParam<Choices> {
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
    std::string line = "fit --classes 3 --train-x @/x.npy --train-y @/y.npy --epsilon 2 --delta 1e-6 --seed 7 " +
                       GetParam().options + further;
    for (std::size_t at = line.find('@'); at != std::string::npos; at = line.find('@')) line.replace(at, 1, path_);
    FittedRun run = fit(parsed_fit(split_arguments(line)), ranks, Accounts::kElsewhere);
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

std::unique_ptr<TemporaryFolder> FitChoicesTest::folder_;
std::string FitChoicesTest::path_;

TEST_P(FitChoicesTest, RanksDoNotMatter) {
  const std::string alone = model_of_one_rank();
  ASSERT_FALSE(alone.empty());
  EXPECT_TRUE(model(test_ranks()) == alone);
}

TEST_P(FitChoicesTest, ThreadsAndMemoryDoNotMatter) {
  if (test_ranks().size() > 1) return;  // once is enough
  const std::string alone = model_of_one_rank();
  for (const std::string further : {" --threads 1", " --threads 3", " --memory 1", " --memory 64 --threads 2"}) {
    EXPECT_TRUE(model_of_one_rank(further) == alone) << further;
  }
}

std::vector<Choices> all_choices() {
  std::vector<Choices> all;
  const std::vector<Choices> methods = {{"mean_cosine", "--method mean"},
                                        {"mean_euclidean", "--method mean --metric euclidean"},
                                        {"ls", "--method ls --shared-gram"},
                                        {"ls_by_class", "--method ls --alpha 0.5"},
                                        {"fc", "--method fc --rounds 3"}};
  for (const Choices& method : methods) {
    for (const std::string center : {"none", "dp"}) {
      for (const std::string adjacency : {"add-remove", "replace-one"}) {
        all.push_back({method.name + "_center_" + center + "_" + adjacency.substr(0, adjacency.find('-')),
                       method.options + " --center " + center + " --adjacency " + adjacency});
      }
    }
  }
  for (const std::string loss : {"sigmoid", "square"}) {
    all.push_back({"fc_" + loss, "--method fc --gram-share 0.5 --rounds 2 --loss " + loss});
  }
  for (const std::string adjacency : {"add-remove", "replace-one"}) {
    all.push_back({"fisher_" + adjacency.substr(0, 3), "--method fisher --center dp --adjacency " + adjacency});
  }
  all.push_back({"fisher_select_t", "--method fisher --select 7 --select-by t --normalize none --clip 3"});
  all.push_back({"mean_select", "--method mean --metric euclidean --select 5"});
  all.push_back({"ls_select", "--method ls --shared-gram --center dp --select 9"});
  all.push_back({"fc_pca_select", "--method fc --rounds 2 --pca 17 --select 9 --pca-share 0.2 --select-share 0.05"});
  all.push_back({"mean_pca", "--method mean --pca 3"});
  all.push_back({"ls_public_pca", "--method ls --shared-gram --pca 8 --center public --public-x @/public.npy"});
  all.push_back({"gd", "--method gd --rounds 3 --center dp"});
  all.push_back({"gd_ball", "--method gd --rounds 3 --radius 2 --learning-rate 0.5 --iterate average --loss sigmoid"});
  all.push_back({"adam", "--method adam --rounds 3 --adjacency replace-one"});
  all.push_back({"gd_batch", "--method gd --rounds 5 --batch 0.3 --center dp --accountant rdp"});
  all.push_back({"adam_batch", "--method adam --rounds 3 --batch 0.1 --warm-start --accountant rdp"});
  all.push_back({"gd_warm", "--method gd --rounds 2 --warm-start"});
  all.push_back({"fc_warm", "--method fc --rounds 2 --warm-start --warm-start-share 0.4 --center dp"});
  all.push_back({"newton_warm", "--method newton --rounds 2 --warm-start --adjacency replace-one"});
  all.push_back({"newton", "--method newton --rounds 2 --center dp --adjacency replace-one"});
  all.push_back({"newton_sigmoid", "--method newton --rounds 2 --loss sigmoid --iterate average"});
  all.push_back({"ls_moments", "--method ls --alpha 2 --center moments"});
  all.push_back({"automatic", "--method auto"});
  all.push_back({"ls_choose", "--method ls --shared-gram --choose --choose-share 0.3"});
  all.push_back({"ls_by_class_choose", "--method ls --alpha 2 --choose --center dp --adjacency replace-one"});
  all.push_back({"gd_warm_choose", "--method gd --rounds 5 --warm-start --choose"});
  all.push_back(
      {"newton_warm_choose",
       "--method newton --rounds 4 --warm-start --choose --validation-x @/public.npy --validation-y @/labels.npy"});
  all.push_back({"adam_choose", "--method adam --rounds 5 --choose"});
  all.push_back(
      {"fc_choose", "--method fc --rounds 4 --choose --validation-x @/public.npy --validation-y @/labels.npy"});
  all.push_back({"center_public", "--method mean --metric euclidean --center public --public-x @/public.npy"});
  for (const std::string adjacency : {"add-remove", "replace-one"}) {
    all.push_back(
        {"public_" + adjacency.substr(0, 3), "--method public --public-x @/public.npy --adjacency " + adjacency});
  }
  all.push_back({"public_sets", "--method public --public-x @/public*.npy --top-k 4 --d-min 0.7 --d-max 1.6"});
  all.push_back({"public_center_pca", "--method public --public-x @/public.npy --center public --pca 9 --top-k 2"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(, FitChoicesTest, testing::ValuesIn(all_choices()),
                         [](const testing::TestParamInfo<Choices>& choices) { return choices.param.name; });

}  // namespace fit_choices_test
}  // namespace dpreduce
