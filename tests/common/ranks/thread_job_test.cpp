// Ranks that are threads mean what MPI's mean.
#include <atomic>

#include "common/base/error.hpp"
#include "common/ranks/communicator.hpp"
#include "tests/testing.hpp"

namespace dpreduce::thread_job_test {

TEST(ThreadRanks, SumGatherAndExchangeInRankOrder) {
  for (const int size : {1, 2, 3, 5}) {
    std::atomic<int> ended = 0;
    Communicator::on_threads(size, [&](Communicator& ranks) {
      ASSERT_EQ(ranks.size(), size);
      const auto own = static_cast<std::uint64_t>(ranks.rank()) + 1;
      const auto all = static_cast<std::uint64_t>(size * (size + 1) / 2);
      std::vector<std::uint64_t> values{own, ~std::uint64_t{0} - own};
      ranks.sum_everywhere(values);
      EXPECT_EQ(values[0], all);
      EXPECT_EQ(values[1], ~std::uint64_t{0} * static_cast<std::uint64_t>(size) - all);  // mod 2^64
      for (int owner = 0; owner < size; ++owner) {
        std::vector<std::uint64_t> sum{own};
        ranks.sum_to(owner, sum);
        EXPECT_EQ(sum[0], ranks.rank() == owner ? all : 0);
      }
      EXPECT_EQ(ranks.max_everywhere(-ranks.rank()), 0.0);
      EXPECT_EQ(ranks.trusted().broadcast(ranks.is_coordinator() ? "public" : ""), "public");
      const std::vector<std::string> words = ranks.trusted().gather(std::string(own, 'x'));
      EXPECT_EQ(words.size(), ranks.is_coordinator() ? static_cast<std::size_t>(size) : 0);
      for (std::size_t rank = 0; rank < words.size(); ++rank) EXPECT_EQ(words[rank].size(), rank + 1);
      std::vector<std::vector<std::uint64_t>> messages;
      for (std::uint64_t to = 0; to < static_cast<std::uint64_t>(size); ++to) messages.push_back({own, to});
      const auto received = ranks.exchange(std::move(messages));
      for (std::uint64_t from = 0; from < received.size(); ++from) {
        EXPECT_EQ(received[from], (std::vector<std::uint64_t>{from + 1, own - 1}));
      }
      ranks.together([&] { ++ended; });
      EXPECT_FALSE(ranks.failure_agreed());
    });
    EXPECT_EQ(ended, size);
  }
}

TEST(ThreadRanks, FailTogetherAndThrowTheLowestRanksOwnError) {
  for (const int failing : {0, 2}) {
    std::atomic<int> peers = 0;
    const auto fail = [&](Communicator& ranks) {
      try {
        ranks.together([&] {
          if (ranks.rank() == failing) throw BadInput("row 7");
        });
      } catch (const PeerFailed& failure) {
        EXPECT_EQ(failure.rank, failing);
        EXPECT_EQ(failure.code(), ExitCode::kBadInput);
        ++peers;
        throw;
      }
    };
    EXPECT_EQ(refusal<BadInput>([&] { Communicator::on_threads(3, fail); }), "row 7");
    EXPECT_EQ(peers, 2);
  }
}

TEST(ThreadRanks, DoNotWaitForOneThatHasGone) {
  const auto go = [](Communicator& ranks) {
    if (ranks.rank() == 1) throw std::runtime_error("outside together");
    ranks.max_everywhere(0.0);
  };
  EXPECT_THROW(Communicator::on_threads(3, go), std::runtime_error);
}

}  // namespace dpreduce::thread_job_test
