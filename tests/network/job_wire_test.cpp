// The wires of a job's parties, here threads of one process that find each other as processes do through their parents.
#include "network/job_wire.hpp"

#include <deque>
#include <latch>

#include "tests/network/network_parties.hpp"

namespace dpreduce::job_wire_test {

using Party = std::function<int(Wire&)>;

// The parents of so many parties.
class Parents {
 public:
  Parents(std::size_t size, bool is_on_one_machine)
      : is_on_one_machine_(is_on_one_machine), texts_(kJobExchanges, std::vector<std::string>(size)) {
    while (come_.size() < texts_.size()) come_.emplace_back(static_cast<std::ptrdiff_t>(size));
  }

  JobPlace place_of(std::size_t rank) {
    return {static_cast<int>(rank), static_cast<int>(texts_.front().size()), is_on_one_machine_,
            [this, rank, round = std::size_t{0}](const std::string& own) mutable {
              EXPECT_LE(own.size(), kLongestJobText);
              const std::size_t now = round++;
              texts_[now][rank] = own;
              come_[now].arrive_and_wait();
              return texts_[now];
            }};
  }
  // A party has ended before the exchange of that number.
  void end(std::size_t before = 0) {
    for (; before < come_.size(); ++before) come_[before].count_down();
  }

 private:
  bool is_on_one_machine_;
  std::vector<std::vector<std::string>> texts_;
  std::deque<std::latch> come_;  // of each exchange: who has not come
};

// A party that has nothing to do has ended before it could find the others. Returns what each has returned, or thrown.
std::vector<std::string> run_all(const std::vector<Party>& parties, bool is_on_one_machine = true) {
  Parents parents(parties.size(), is_on_one_machine);
  std::vector<std::string> ends(parties.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < parties.size(); ++rank) {
    if (!parties[rank]) {
      parents.end();
      continue;
    }
    threads.emplace_back([&, rank] {
      try {
        ends[rank] = fmt::format("code {}", run_on_job_wire(parents.place_of(rank), parties[rank]));
      } catch (const PeerFailed& failure) {
        ends[rank] = fmt::format("party {} is gone", failure.rank);
      } catch (const std::exception& failure) {
        ends[rank] = failure.what();
        parents.end(rank == 0 ? 1 : 0);  // after the exchange of keys
      }
    });
  }
  threads.clear();
  return ends;
}

void expect_farewell(Wire& wire, std::uint32_t of) {
  const std::optional<Message> message = next_of(wire);
  ASSERT_TRUE(message.has_value());
  EXPECT_TRUE(message->is_farewell);
  EXPECT_EQ(message->from, of);
}

// Answers so many questions, and hears that a silo is gone, where one is; then it sends something to nobody.
Party answering(std::size_t questions, std::optional<std::uint32_t> ending = {}) {
  return [questions, ending](Wire& wire) {
    std::size_t answered = 0;
    bool has_heard = !ending;
    while (answered < questions || !has_heard) {
      const std::optional<Message> message = next_of(wire);
      if (!message) return 1;
      has_heard = has_heard || (message->is_farewell && message->from == ending);
      if (message->is_farewell) continue;
      wire.send(message->from, message->bytes);
      ++answered;
    }
    if (ending) wire.send(*ending, message_of(1));
    return 0;
  };
}

Party asking(std::size_t number) {
  return [number](Wire& wire) {
    EXPECT_NE(wire.binding(0), LineBinding{}) << "signatures hold for this line alone";
    wire.send(0, message_of(number));
    const std::optional<Message> answer = next_of(wire);
    return answer && answer->bytes == message_of(number) ? 0 : 1;
  };
}

TEST(JobWire, PartiesFindAndUnderstandEachOther) {
  EXPECT_THAT(run_all({answering(3), asking(1), asking(2), asking(3)}),
              ElementsAre("code 0", "code 0", "code 0", "code 0"));
  EXPECT_THAT(run_all({answering(1), asking(1)}, false), ElementsAre("code 0", "code 0")) << "not on one machine";
}

// Where a firewall lets some ports through.
TEST(JobWire, TheCoordinatorListensAtAPortOfTheRangeThatIsGiven) {
  NetworkParties others(1);  // they have a port of the system's choice, which is taken
  const auto range_from = [&](int first, int last) {
    return fmt::format("{}-{}", others.port() + first, others.port() + last);
  };
  const auto run_with = [](const std::string& ports) {
    ::setenv("DPREDUCE_PORTS", ports.c_str(), 1);
    return run_all({answering(1), asking(1)});
  };
  EXPECT_THAT(run_with(range_from(0, 9)), ElementsAre("code 0", "code 0")) << "the first is taken, another is not";
  const std::string of_one = range_from(0, 0);
  EXPECT_THAT(run_with(of_one).front(), AllOf(HasSubstr("no port is free"), HasSubstr("DPREDUCE_PORTS")));
  for (const char* const wrong : {"40000", "40100-40000", "0-7", "40000-70000", "a-b", "40000-40100 "}) {
    EXPECT_THAT(run_with(wrong).front(), HasSubstr("must be a range of ports, e.g. 40000-40100")) << wrong;
  }
  ::unsetenv("DPREDUCE_PORTS");
}

TEST(JobWire, ASiloTriesAddressesInTurnAndNamesThemWhereNoneAnswers) {
  NetworkParties parties(1);
  NetworkTerms terms = parties.terms_of(1);
  terms.is_of_job = true;
  const NetworkAddress nobody{"127.0.0.2", std::to_string(parties.port())};
  SiloWire silo(parties.identity(1), terms, nobody, {"127.0.0.3", "127.0.0.1"});
  silo.wait_for_coordinator(std::chrono::seconds(15));
  SiloWire alone(parties.identity(1), terms, nobody, {"127.0.0.3"});
  EXPECT_THAT(refusal<AggregationAborted>([&] { alone.wait_for_coordinator(std::chrono::milliseconds(500)); }),
              AllOf(HasSubstr("cannot be reached within 0.5 s"), HasSubstr("127.0.0.2"), HasSubstr("127.0.0.3")));
}

TEST(JobWire, WhoeverEndsIsGoneForTheOthersAtOnce) {
  const Party waiting = [](Wire& wire) {
    const int code = asking(1)(wire);
    expect_farewell(wire, 0);
    wire.send(0, message_of(2));
    return code;
  };
  EXPECT_THAT(run_all({answering(1, 2), waiting, [](Wire&) { return 7; }}), ElementsAre("code 0", "code 0", "code 7"));
}

TEST(JobWire, NobodyWaitsForAPartyThatHasEndedBefore) {
  const auto began = WireClock::now();
  EXPECT_THAT(run_all({answering(1, 2), asking(1), nullptr}), ElementsAre("code 0", "code 0", ""));
  EXPECT_LT(WireClock::now() - began, std::chrono::seconds(15));
  EXPECT_THAT(run_all({nullptr, asking(1), asking(2)}), ElementsAre("", "party 0 is gone", "party 0 is gone"));
}

// A line on which nothing comes says nothing: rows may take all of a party's time, and kernels tell who is gone.
TEST(JobWire, ALongSilenceIsNotTheEndOfALine) {
  const LineTimes times = LineTimes::of_job(false);
  EXPECT_GT(times.silence, std::chrono::hours(24 * 365));
  EXPECT_EQ(times.reconnect.count(), 0);
}

}  // namespace dpreduce::job_wire_test
