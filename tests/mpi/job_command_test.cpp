#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace job_command_test {

using testing::ElementsAre;

TEST(JobCommand, IsThatOfRank0OnAllRanks) {
  Communicator& ranks = test_ranks();
  const std::vector<std::string> of_coordinator{"fit",  "--train-x", "silo{rank}/x.npy", "--train-y", "y.npy",
                                                "--mu", "0.1",       "--classes",        "10"};
  const std::vector<std::string> name_alone{"fit"};
  const RunnableCommand command =
      command_of_job(dpreduce_command(), ranks.rank() % 2 == 0 ? of_coordinator : name_alone, ranks);
  const FitOptions& fit = command.target<FitCommand>()->options;
  EXPECT_EQ(fit.privacy.budget.mu, 0.1);
  EXPECT_THAT(fit.data.train.x, ElementsAre("silo{rank}/x.npy"));  // each rank puts its own number in
}

TEST(JobCommand, ARankThatIsToldSomethingElseEndsAll) {
  Communicator& ranks = test_ranks();
  if (ranks.size() == 1) return;
  const int other = ranks.size() - 1;
  const std::vector<std::string> of_rank_0{"privacy", "explain", "r.json"};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"no", "command"},
                                             {"privacy", "explain", "s.json"},
                                             {"privacy", "explain", "--config", "/nonexistent"}}) {
    try {
      command_of_job(dpreduce_command(), ranks.rank() == other ? words : of_rank_0, ranks);
      ADD_FAILURE() << "no error";
    } catch (const PeerFailed& failure) {
      EXPECT_EQ(failure.rank, other);
      EXPECT_EQ(failure.code(), ExitCode::kUsage);
    } catch (const UsageError&) {
      EXPECT_EQ(ranks.rank(), other);
    }
  }
}

TEST(JobCommand, ItsConfigurationFileMayBeReadByRank0Alone) {
  Communicator& ranks = test_ranks();
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("job_command_test_{}.toml", ::getpid());
  if (ranks.is_coordinator())
    std::ofstream(path) << "train-x = 'x.npy'\ntrain-y = 'y.npy'\nclasses = 3\nreport = 'r.json'\n";
  std::vector<std::string> words{"fit"};
  if (ranks.is_coordinator()) words.insert(words.end(), {"--config", path.string()});
  const RunnableCommand command = command_of_job(dpreduce_command(), words, ranks);
  if (ranks.is_coordinator()) std::filesystem::remove(path);
  EXPECT_EQ(command.target<FitCommand>()->options.output.report, "r.json");
}

TEST(JobCommand, WhatIsWrongIsToldByRank0AndEndsAll) {
  Communicator& ranks = test_ranks();
  const std::vector<std::string> well{"privacy", "explain", "r.json"};
  const std::vector<std::string> wrong{"privacy", "explain", "r.json", "--nonsense"};
  if (ranks.is_coordinator()) {
    EXPECT_THROW(command_of_job(dpreduce_command(), wrong, ranks), UsageError);
    return;
  }
  try {
    command_of_job(dpreduce_command(), well, ranks);
    ADD_FAILURE() << "no error";
  } catch (const PeerFailed& failure) {
    EXPECT_EQ(failure.rank, 0);
    EXPECT_EQ(failure.code(), ExitCode::kUsage);
  }
}

}  // namespace job_command_test
}  // namespace dpreduce
