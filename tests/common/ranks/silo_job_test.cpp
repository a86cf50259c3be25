// What is not offered among silos is refused, twice: by Communicator, and by the job beneath it.
#include "common/ranks/silo_job.hpp"

#include <atomic>

#include "common/ranks/communicator.hpp"
#include "tests/common/silos/silo_communicators.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_job_test {

TEST(SiloJob, RefusesWhatWouldRevealValuesOfSingleSilos) {
  std::atomic<int> parties = 0;
  run_among_silos({.silos = 2, .threshold = 2}, std::nullopt,
                  [&](std::uint32_t rank, const std::function<Communicator()>& join) {
                    Communicator ranks = join();
                    std::vector<double> sums{1.0};
                    std::vector<std::uint64_t> words{1};
                    const std::vector<std::int32_t> labels{1};
                    const std::vector<std::byte> bytes(1);
                    std::vector<std::byte> all(rank == 0 ? 3 : 0);
                    const Job::Messages messages(3);
                    EXPECT_THROW(ranks.sum_everywhere(sums), std::logic_error);
                    EXPECT_THROW(ranks.gather_to_coordinator(labels), std::logic_error);
                    EXPECT_THROW(ranks.gather_to_coordinator(bytes, all), std::logic_error);
                    EXPECT_THROW(ranks.trusted().gather("1"), std::logic_error);
                    EXPECT_THROW(ranks.trusted().broadcast("1"), std::logic_error);
                    EXPECT_THROW(ranks.exchange(messages), std::logic_error);
                    EXPECT_THROW(ranks.sum_to(1, words), std::logic_error);
                    Job& job = *ranks.silos();
                    EXPECT_THROW(job.sum_everywhere(sums), std::logic_error);
                    EXPECT_THROW(job.gather_to_coordinator(bytes, all), std::logic_error);
                    EXPECT_THROW(job.exchange(messages), std::logic_error);
                    EXPECT_THROW(job.sum_to(1, words), std::logic_error);
                    EXPECT_EQ(sums, std::vector<double>{1.0});
                    // Nothing was sent: what is offered goes on.
                    EXPECT_EQ(ranks.max_everywhere(rank), 2.0);
                    ++parties;
                  });
  EXPECT_EQ(parties, 3);
}

}  // namespace dpreduce::silo_job_test
