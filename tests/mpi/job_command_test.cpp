#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "tests/mpi/mpi_test.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce::job_command_test {

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
    expect_failure_of<UsageError>(
        other, [&] { command_of_job(dpreduce_command(), ranks.rank() == other ? words : of_rank_0, ranks); });
  }
}

TEST(JobCommand, ItsConfigurationFileMayBeReadByRank0Alone) {
  Communicator& ranks = test_ranks();
  const TemporaryFolder folder;
  const std::string path = folder / "job.toml";
  std::vector<std::string> words{"fit"};
  if (ranks.is_coordinator()) {
    write_bytes(path, "train-x = 'x.npy'\ntrain-y = 'y.npy'\nclasses = 3\nreport = 'r.json'\n");
    words.insert(words.end(), {"--config", path});
  }
  const RunnableCommand command = command_of_job(dpreduce_command(), words, ranks);
  EXPECT_EQ(command.target<FitCommand>()->options.output.report, "r.json");
}

TEST(JobCommand, WhatIsWrongIsToldByRank0AndEndsAll) {
  Communicator& ranks = test_ranks();
  const std::vector<std::string> well{"privacy", "explain", "r.json"};
  const std::vector<std::string> wrong{"privacy", "explain", "r.json", "--nonsense"};
  expect_failure_of<UsageError>(
      0, [&] { command_of_job(dpreduce_command(), ranks.is_coordinator() ? wrong : well, ranks); });
}

}  // namespace dpreduce::job_command_test
