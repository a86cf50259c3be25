#include "common/ranks/communicator.hpp"

#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::communicator_test {

class CommunicatorTest : public testing::Test {
 protected:
  Communicator& ranks_ = test_ranks();
};

// What a rank adds: large, so that sums wrap around.
std::vector<std::uint64_t> parts_of(int rank, std::size_t elements) {
  std::vector<std::uint64_t> values(elements);
  for (std::size_t e = 0; e < elements; ++e) {
    values[e] = 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(rank) + 1) + e * 0xbf58476d1ce4e5b9U;
  }
  return values;
}

std::vector<std::uint64_t> expected_sum(int ranks, std::size_t elements) {
  std::vector<std::uint64_t> sum(elements, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<std::uint64_t> parts = parts_of(rank, elements);
    for (std::size_t e = 0; e < elements; ++e) sum[e] += parts[e];
  }
  return sum;
}

// What is left at this rank of a sum that rank `owner` has.
std::vector<std::uint64_t> sum_at(int owner, std::size_t elements) {
  return test_ranks().rank() == owner ? expected_sum(test_ranks().size(), elements)
                                      : std::vector<std::uint64_t>(elements, 0);
}

TEST_F(CommunicatorTest, SumsModulo2To64OfAnyLength) {
  for (const std::size_t elements : {0, 1, 7, 1000}) {
    std::vector<std::uint64_t> values = parts_of(ranks_.rank(), elements);
    ranks_.sum_everywhere(values);
    EXPECT_EQ(values, expected_sum(ranks_.size(), elements));
  }
}

// A message has at most 2^24 elements.
TEST_F(CommunicatorTest, SumsInSeveralMessages) {
  const std::uint64_t size = rank_count();
  std::vector<std::uint64_t> values((std::size_t{1} << 24) + 3);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = e + own_rank();
  ranks_.sum_everywhere(values);
  std::size_t wrong = 0;
  for (std::size_t e = 0; e < values.size(); ++e) wrong += values[e] != size * e + size * (size - 1) / 2;
  EXPECT_EQ(wrong, 0);
}

TEST_F(CommunicatorTest, LeavesMpiToWhoeverHasStartedItAndCountsRanksOfOneMachine) {
  EXPECT_EQ(test_ranks().ranks_on_machine(), test_ranks().size());
  for (int time = 0; time < 2; ++time) {
    Communicator again = Communicator::join();
    EXPECT_EQ(again.size(), test_ranks().size());
    EXPECT_EQ(again.max_everywhere(again.rank()), again.size() - 1.0);
  }
  EXPECT_EQ(test_ranks().max_everywhere(test_ranks().rank()), test_ranks().size() - 1.0);
}

TEST_F(CommunicatorTest, WhoDoubtsWhatItIsDoesNotJoin) {
  const int in_doubt = test_ranks().size() - 1;
  const bool doubts = test_ranks().rank() == in_doubt;
  try {
    Communicator::join(doubts ? "the file cannot be read" : "");
    FAIL() << "no rank may go on";
  } catch (const PeerFailed& failure) {
    EXPECT_EQ(failure.rank, in_doubt);
    EXPECT_EQ(failure.code(), ExitCode::kUsage);
  }
}

// Of rank r: empty, or long, or with zeros in it.
std::string message_of(int rank) {
  return rank == 1 ? std::string() : std::string(static_cast<std::size_t>(rank) * 100'003 + 5, '\0') + "of a rank";
}

TEST_F(CommunicatorTest, MessagesOfAnyLengthAreBroadcast) {
  for (const int which : {0, 1, 7}) {
    EXPECT_EQ(ranks_.trusted().broadcast(ranks_.is_coordinator() ? message_of(which) : "ignored"), message_of(which));
  }
}

TEST_F(CommunicatorTest, MessagesAreGatheredInTheOrderOfRanks) {
  std::vector<std::string> expected;
  for (int rank = 0; ranks_.is_coordinator() && rank < ranks_.size(); ++rank) expected.push_back(message_of(rank));
  EXPECT_EQ(ranks_.trusted().gather(message_of(ranks_.rank())), expected);
}

TEST_F(CommunicatorTest, EveryRankGetsWhatEveryOtherHasForIt) {
  const std::size_t size = rank_count();
  const std::size_t own = own_rank();
  std::vector<std::vector<std::uint64_t>> messages(size);
  for (std::size_t to = 0; to < size; ++to) messages[to].assign(own * to * 1000, 10 * own + to);
  const auto received = ranks_.exchange(std::move(messages));
  ASSERT_EQ(received.size(), size);
  for (std::size_t from = 0; from < size; ++from) {
    EXPECT_EQ(received[from], std::vector<std::uint64_t>(own * from * 1000, 10 * from + own));
  }
}

TEST_F(CommunicatorTest, AnyRankMayOwnASumAndTheOthersKeepNothing) {
  for (int owner = 0; owner < ranks_.size(); ++owner) {
    std::vector<std::uint64_t> values = parts_of(ranks_.rank(), 101);
    ranks_.sum_to(owner, values);
    EXPECT_EQ(values, sum_at(owner, 101));
  }
  std::vector<std::uint64_t> of_coordinator = parts_of(ranks_.rank(), 1001);
  ranks_.sum_to_coordinator(of_coordinator);
  EXPECT_EQ(of_coordinator, sum_at(0, 1001));
  std::vector<std::uint64_t> values(1);
  EXPECT_THROW(ranks_.sum_to(ranks_.size(), values), std::logic_error);
  EXPECT_THROW(ranks_.sum_to(-1, values), std::logic_error);
}

TEST_F(CommunicatorTest, SumsGoOnBesideOtherCollectives) {
  std::vector<std::uint64_t> first = parts_of(ranks_.rank(), 1001);
  std::vector<std::uint64_t> second = parts_of(ranks_.rank(), 5);
  const int last = ranks_.size() - 1;
  const auto of_first = ranks_.start_sum_to(0, first);
  const auto of_second = ranks_.start_sum_to(last, second);
  ranks_.together([&] { of_first->advance(); });
  EXPECT_EQ(ranks_.max_everywhere(ranks_.rank()), last);
  of_second->wait();
  of_first->wait();
  EXPECT_EQ(first, sum_at(0, 1001));
  EXPECT_EQ(second, sum_at(last, 5));
}

TEST_F(CommunicatorTest, BroadcastsTheCoordinatorsValues) {
  std::vector<double> values(9, ranks_.rank() + 0.25);
  ranks_.broadcast(values);
  EXPECT_EQ(values, std::vector<double>(9, 0.25));
}

TEST_F(CommunicatorTest, GathersInRankOrderAndBytesIntoWhatHasRoomForAll) {
  using Numbers = std::vector<std::int32_t>;
  const Numbers local(own_rank(), ranks_.rank());  // rank r gives r values
  Numbers expected;
  for (int rank = 0; rank < ranks_.size(); ++rank)
    expected.insert(expected.end(), static_cast<std::size_t>(rank), rank);
  EXPECT_EQ(ranks_.gather_to_coordinator(local), ranks_.is_coordinator() ? expected : Numbers{});
  Numbers all(ranks_.is_coordinator() ? expected.size() : 1, 7);
  ranks_.gather_to_coordinator(std::as_bytes(std::span(local)), std::as_writable_bytes(std::span(all)));
  EXPECT_EQ(all, ranks_.is_coordinator() ? expected : Numbers{7});
}

using CommunicatorFailure = CommunicatorTest;

TEST_F(CommunicatorFailure, LongWorkEndsSoonAfterAPeerFails) {
  const auto started = std::chrono::steady_clock::now();
  EXPECT_THROW(ranks_.together([&] {
    if (ranks_.rank() == ranks_.size() - 1) throw BadInput("row 3");
    for (int chunk = 0; chunk < 6000; ++chunk) {  // a minute, if nobody told
      ranks_.check_peers();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }),
               Error);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
}

TEST_F(CommunicatorFailure, LowestFailingRankSpeaksAndAllGetItsCode) {
  const int first_failing = ranks_.size() / 2;
  const std::string said = expect_failure_of<BadInput>(first_failing, [&] {
    ranks_.together([&] {
      if (ranks_.rank() == first_failing) throw BadInput("file x.npy");
      if (ranks_.rank() > first_failing) throw UsageError("another reason");
    });
  });
  EXPECT_EQ(said, ranks_.rank() == first_failing ? "file x.npy" : "");
  EXPECT_TRUE(ranks_.failure_agreed());
}

TEST_F(CommunicatorFailure, WaitsForSumsThatHaveBegun) {
  std::vector<std::uint64_t> values = parts_of(ranks_.rank(), 100001);
  const auto fail_meanwhile = [&] {
    const auto pending = ranks_.start_sum_to(0, values);
    ranks_.together([] { throw UsageError("while a sum is on its way"); });
  };
  EXPECT_ANY_THROW(fail_meanwhile());
  std::vector<std::uint64_t> next = parts_of(ranks_.rank(), 7);
  ranks_.sum_to_coordinator(next);
  EXPECT_EQ(next, sum_at(0, 7));
}

TEST_F(CommunicatorFailure, IsOfItsPhaseAlone) {
  for (int time = 0; time < 3; ++time) {
    const auto fail = [&] {
      ranks_.together([&] {
        if (ranks_.is_coordinator()) throw BadInput("file x.npy");
      });
    };
    EXPECT_THROW(fail(), Error);
    int chunks = 0;
    ranks_.together([&] {
      for (; chunks < 20; ++chunks) {
        ranks_.check_peers();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    EXPECT_EQ(chunks, 20);
  }
}

}  // namespace dpreduce::communicator_test
