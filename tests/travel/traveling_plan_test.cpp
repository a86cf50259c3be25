#include "fit/traveling_plan.hpp"

#include <atomic>

#include <sys/wait.h>
#include <unistd.h>

#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "common/silos/payload_archive.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::traveling_plan_test {

constexpr std::size_t kAllRows = 90;

class TravelingPlanTest : public testing::Test {
 protected:
  TravelingPlan plan_of(const FitOptions& options) const { return TravelingPlan::made(options, FittedRows::kDim); }
  FitOptions options_of(const std::string& method) const { return seeded_fit(method, folder_); }

  // Of rows first .. end - 1, as workers see plan and task: as bytes.
  PartialSum part(const TravelingPlan& plan, const TravelingTask& task, const std::string& name, std::size_t first,
                  std::size_t end) const {
    return PartialSum::from_bytes(partial_sum(TravelingPlan::from_bytes(plan.to_bytes()),
                                              TravelingTask::from_bytes(task.to_bytes()), rows_.part(first, end), name,
                                              1, [](double) {})
                                      .to_bytes());
  }

  // The sum over `partitions` uneven partitions, the last of them first.
  PartialSum sum_of(const TravelingPlan& plan, const TravelingTask& task, std::size_t partitions) const {
    std::optional<PartialSum> sum;
    for (std::size_t p = partitions; p-- > 0;) {
      const auto edge = [&](std::size_t e) { return kAllRows * e * e / (partitions * partitions); };
      const PartialSum next = part(plan, task, "p" + std::to_string(p), edge(p), edge(p + 1));
      if (sum) {
        sum->add(next);
      } else {
        sum = next;
      }
    }
    return *sum;
  }

  void run(FitSession& session, const TravelingPlan& plan, std::size_t partitions) const {
    while (session.task()) session.give(sum_of(plan, *session.task(), partitions));
  }

  TemporaryFolder folder_;
  FittedRows rows_{kAllRows, 1};
};

// tests/cli/place_matrix_test.cpp: those of every method.
TEST_F(TravelingPlanTest, AFitAndItsChargesAreThoseOfAllRows) {
  for (const std::string method : {"mean", "ls", "fc", "mean without noise"}) {
    FitOptions options = options_of(method.substr(0, method.find(' ')));
    options.privacy.ledger = folder_ / (method + ".jsonl");
    if (method == "fc") options.method.rounds = 3;
    if (method == "mean without noise") {
      options.privacy.budget = {};
      options.privacy.budget.non_private = true;
      options.privacy.seed.reset();
    }
    Communicator alone = Communicator::alone();
    FittedRun whole = fit(options, rows_.all(), alone);
    whole.finish();
    FitOptions again = options;
    again.privacy.ledger = folder_ / (method + "-parts.jsonl");
    const TravelingPlan plan = plan_of(again);
    FitSession session(plan, again.privacy.ledger, std::nullopt);
    run(session, plan, 3);
    session.fitted().finish();
    EXPECT_EQ(to_bytes(session.fitted().classifier), to_bytes(whole.classifier)) << method;
    const auto charges = Ledger::read(again.privacy.ledger).charges();
    const auto expected = Ledger::read(options.privacy.ledger).charges();
    ASSERT_EQ(charges.size(), expected.size());
    for (std::size_t c = 0; c < charges.size(); ++c) EXPECT_EQ(charges[c].entry.mu, expected[c].entry.mu);
  }
}

TEST_F(TravelingPlanTest, APartitionCountsOnce) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  const TravelingTask task = first_task(plan);
  PartialSum sum = part(plan, task, "a", 0, 30);
  sum.add(part(plan, task, "b", 30, 60));
  expect_refusal<UsageError>([&] { sum.add(part(plan, task, "b", 30, 60)); }, {"partition b is in both partial sums"});
  EXPECT_EQ(sum.partitions().size(), 2U);
}

TEST_F(TravelingPlanTest, APartitionThatIsMissingOrUnknownIsNamed) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  FitSession session(plan, folder_ / "ledger.jsonl", std::vector<std::string>{"a", "b"});
  const PartialSum a = part(plan, *session.task(), "a", 0, 30);
  EXPECT_THAT(refusal<UsageError>([&] { session.give(a); }), HasSubstr("missing from the sum: b"));
  PartialSum all = a;
  all.add(part(plan, *session.task(), "b", 30, kAllRows));
  PartialSum more = all;
  more.add(part(plan, *session.task(), "c", 0, 0));
  EXPECT_THAT(refusal<UsageError>([&] { session.give(more); }), HasSubstr("not expected: c"));
  session.give(all);  // it still waits
  EXPECT_FALSE(session.task());
}

TEST_F(TravelingPlanTest, SumsOfAnotherSessionOrStepAreRefused) {
  FitOptions options = options_of("gd");
  options.method.rounds = 2;
  const TravelingPlan plan = plan_of(options);
  const TravelingPlan other = plan_of(options);
  FitSession session(plan, folder_ / "ledger.jsonl", std::nullopt);
  const TravelingTask first = *session.task();
  PartialSum sum = sum_of(plan, first, 1);
  const FitSession session_of_other(other, std::nullopt, std::nullopt);
  const PartialSum sum_of_other = sum_of(other, *session_of_other.task(), 1);
  EXPECT_THAT(refusal<UsageError>([&] { sum.add(sum_of_other); }), HasSubstr("two sessions"));
  EXPECT_THAT(refusal<UsageError>([&] { session.give(sum_of_other); }), HasSubstr("another plan's session"));
  session.give(sum);
  ASSERT_TRUE(session.task());
  EXPECT_THAT(refusal<UsageError>([&] { session.give(sum); }), HasSubstr("is of step 0 of this or another session"));
}

// Their noise differs, and so do their weights.
TEST_F(TravelingPlanTest, SumsOfTwoSessionsOfOnePlanDoNotMix) {
  FitOptions options = options_of("gd");
  options.method.rounds = 2;
  options.privacy.seed.reset();
  const TravelingPlan plan = plan_of(options);
  FitSession session(plan, std::nullopt, std::nullopt);
  FitSession other(plan, std::nullopt, std::nullopt);
  session.give(sum_of(plan, *session.task(), 1));
  other.give(sum_of(plan, *other.task(), 1));
  EXPECT_THAT(refusal<UsageError>([&] { session.give(sum_of(plan, *other.task(), 1)); }),
              HasSubstr("is of step 1 of this or another session"));
}

TEST(PersonCounts, ThatDoNotOpenNameTheirPartition) {
  SumTicket ticket;
  PersonCounts counts = PersonCounts::sealed({.persons = {{1, 2}, {1, 3}}, .rows = {3, 5}}, ticket, "p0");
  counts.add(PersonCounts::sealed({.persons = {{1, 3}}, .rows = {7}}, ticket, "p1"));
  EXPECT_EQ(counts.opened(ticket).shared.rows, std::vector<std::uint64_t>{12});
  ticket.secret[0] ^= 1;
  expect_refusal<AggregationAborted>([&] { counts.opened(ticket); },
                                     {"partition p0: its counts of persons do not match their seal"});
}

TEST_F(TravelingPlanTest, ASumThatWasChangedOnTheWayIsRefusedAndNothingIsCharged) {
  const FitOptions options = options_of("mean");
  const TravelingPlan plan = plan_of(options);
  FitSession session(plan, folder_ / "ledger.jsonl", std::nullopt);
  TravelingPlan without_secret = plan;
  without_secret.ticket.secret[0] ^= 1;  // whoever has not got it seals nothing that opens
  EXPECT_THAT(refusal<AggregationAborted>([&] { session.give(sum_of(without_secret, *session.task(), 2)); }),
              HasSubstr("does not match the seals of its partitions"));
  EXPECT_TRUE(Ledger::read(options.privacy.ledger).charges().empty());
  std::string bytes = sum_of(plan, *session.task(), 1).to_bytes();
  bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 1);
  expect_refusal<BadInput>([&] { PartialSum::from_bytes(bytes); }, {"not a partial sum, or are damaged"});
  EXPECT_THAT(refusal<BadInput>([&] { PartialSum::from_bytes("x"); }), HasSubstr("not a partial sum"));
}

// Whoever adds sums up can add to any word: that of partitions with rows is under the fingerprint as the others.
TEST_F(TravelingPlanTest, WhetherThereAreRowsIsNotForWhoAddsSumsUpToSay) {
  const FitOptions options = options_of("mean");
  const TravelingPlan plan = plan_of(options);
  FitSession session(plan, folder_ / "ledger.jsonl", std::nullopt);
  const auto with_last_word = [](const PartialSum& sum, std::uint64_t more) {
    const std::string message = sum.to_bytes();
    const std::span<const std::byte> value = value_in(message, "partial sum");
    PayloadReader last(value.last(8));
    PayloadWriter changed;
    changed.bytes(value.first(value.size() - 8)).u64(last.u64() + more);
    return PartialSum::from_bytes(framed_message("partial sum", changed.take()));
  };
  const PartialSum none = part(plan, *session.task(), "none", 0, 0);
  const PartialSum all = sum_of(plan, *session.task(), 1);
  EXPECT_THAT(refusal<BadInput>([&] { session.give(with_last_word(none, 0)); }), HasSubstr("no partition has a row"));
  for (const PartialSum& changed : {with_last_word(none, 1), with_last_word(all, ~std::uint64_t{0})}) {
    expect_refusal<AggregationAborted>([&] { session.give(changed); }, {"does not match the seals of its partitions"});
  }
  EXPECT_TRUE(Ledger::read(options.privacy.ledger).charges().empty());
}

TEST_F(TravelingPlanTest, APartitionIsNamedInPrintableCharacters) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  PartialSum sum = part(plan, first_task(plan), "b\n\x1b[2J", 0, 30);
  EXPECT_THAT(refusal<UsageError>([&] { sum.add(PartialSum(sum)); }), HasSubstr("partition b??[2J is in both"));
  EXPECT_THAT(refusal<UsageError>([&] { require_partitions(sum.partitions(), {"a\r"}, "sum"); }),
              HasSubstr("missing from the sum: a?;"));
}

// Whoever adds sums up needs no secret. A list that names one partition twice, with its words in twice, would open.
TEST_F(TravelingPlanTest, AListThatNamesAPartitionTwiceIsRefused) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  const TravelingTask task = first_task(plan);
  const std::string a = part(plan, task, "a", 0, 30).to_bytes();
  const std::string b = part(plan, task, "b", 30, kAllRows).to_bytes();
  const auto value_of = [](const std::string& message) {
    const std::span<const std::byte> value = value_in(message, "partial sum");
    return std::vector<std::byte>(value.begin(), value.end());
  };
  // 16 bytes of the session, 8 of the step, 32 of the task, the number of partitions; of each its name of one byte and
  // a nonce; the number of words, and these.
  constexpr std::size_t kList = 16 + 8 + 32;
  constexpr std::size_t kPartition = 8 + 1 + 16;
  const std::vector<std::byte> of_a = value_of(a);
  const std::vector<std::byte> of_b = value_of(b);
  const auto words_of = [&](const std::vector<std::byte>& value) {
    const std::span<const std::byte> bytes = value;
    PayloadReader reader(bytes.subspan(kList + 8 + kPartition));
    std::vector<std::uint64_t> words(reader.u64());
    for (std::uint64_t& word : words) word = reader.u64();
    return words;
  };
  const auto forged = [&](std::initializer_list<const std::vector<std::byte>*> parts) {
    PayloadWriter writer;
    writer.bytes(std::span(of_a).first(kList)).u64(parts.size());
    std::vector<std::uint64_t> sum(words_of(of_a).size(), 0);
    for (const std::vector<std::byte>* one : parts) {
      writer.bytes(std::span(*one).subspan(kList + 8, kPartition));
      for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += words_of(*one)[word];
    }
    writer.u64(sum.size());
    for (const std::uint64_t word : sum) writer.u64(word);
    return framed_message("partial sum", writer.take());
  };
  EXPECT_NO_THROW(PartialSum::from_bytes(forged({&of_a, &of_b})));
  for (const auto& twice : {forged({&of_a, &of_b, &of_a}), forged({&of_a, &of_a}), forged({&of_b, &of_a})}) {
    EXPECT_THAT(refusal<BadInput>([&] { PartialSum::from_bytes(twice); }), HasSubstr("not a partial sum"));
  }
}

// Bytes of the same partition differ each time, and in about half of all bits: they say nothing of the rows.
TEST_F(TravelingPlanTest, SealedWordsLookRandom) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  const TravelingTask task = first_task(plan);
  const std::string once = part(plan, task, "a", 0, kAllRows).to_bytes();
  const std::string again = part(plan, task, "a", 0, kAllRows).to_bytes();
  ASSERT_EQ(once.size(), again.size());
  std::size_t differing = 0;
  for (std::size_t b = 0; b < once.size(); ++b) {
    differing += static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned char>(once[b] ^ again[b])));
  }
  const std::size_t sealed_bits = 64 * (FittedRows::kClasses * FittedRows::kDim + 4) + 128;
  EXPECT_GT(differing, sealed_bits * 2 / 5);
}

TEST_F(TravelingPlanTest, ASessionThatIsGivenUpGivesBackWhatItReserved) {
  FitOptions options = options_of("gd");
  options.method.rounds = 3;
  const TravelingPlan plan = plan_of(options);
  std::size_t charges = 0;
  {
    FitSession session(plan, options.privacy.ledger, std::nullopt);
    EXPECT_TRUE(Ledger::read(options.privacy.ledger).open_runs().empty()) << "no row has been looked at";
    session.give(sum_of(plan, *session.task(), 1));
    const LedgerState ledger = Ledger::read(options.privacy.ledger);
    EXPECT_EQ(ledger.open_runs().size(), 1U);
    charges = ledger.charges().size();
  }
  const LedgerState ledger = Ledger::read(options.privacy.ledger);
  EXPECT_TRUE(ledger.open_runs().empty());
  EXPECT_EQ(ledger.charges().size(), charges);
}

// Noise of class Gram matrices is bound to the digest of the first sum, and each is made for rows of one class.
TEST_F(TravelingPlanTest, RowsThatChangeBetweenTheSumsOfClassesAreRefusedBeforeTheyGetNoise) {
  const auto refused_after_first = [&](const FittedRows& later) {
    const TravelingPlan plan = plan_of(options_of("ls"));
    FitSession session(plan, std::nullopt, std::nullopt);
    session.give(sum_of(plan, *session.task(), 2));
    const PartialSum other = partial_sum(plan, *session.task(), later.all(), "p", 1, [](double) {});
    const std::string words = refusal<BadInput>([&] { session.give(other); });
    EXPECT_EQ(refusal<BadInput>([&] { session.task(); }), words);  // it stays ended, and says why
    EXPECT_EQ(refusal<BadInput>([&] { session.fitted(); }), words);
    return words;
  };
  FittedRows one_class = rows_;
  std::fill(one_class.y.begin(), one_class.y.end(), 0);
  EXPECT_THAT(refused_after_first(one_class), HasSubstr("the training rows changed between two sums"));
  FittedRows one_value = rows_;
  one_value.x[0] += 1.0F;
  EXPECT_THAT(refused_after_first(one_value), HasSubstr("the training rows changed between two sums"));
}

TEST_F(TravelingPlanTest, ATaskOfAnotherPlanIsRefusedByTheWorker) {
  const TravelingTask task = first_task(plan_of(options_of("mean")));
  EXPECT_THAT(refusal<UsageError>([&] { part(plan_of(options_of("gd")), task, "a", 0, 30); }),
              HasSubstr("the task is of another plan"));
}

TEST_F(TravelingPlanTest, ASumIsTakenOnceByManyThreads) {
  FitOptions options = options_of("gd");
  options.method.rounds = 2;
  const TravelingPlan plan = plan_of(options);
  FitSession session(plan, std::nullopt, std::nullopt);
  for (std::uint64_t step = 0; session.task(); ++step) {
    ASSERT_EQ(session.task()->step, step);
    const PartialSum sum = sum_of(plan, *session.task(), 1);
    std::atomic<int> taken = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        if (refusal<UsageError>([&] { session.give(sum); }).empty()) ++taken;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1);
  }
  EXPECT_THAT(refusal<UsageError>([&] { session.give(PartialSum()); }), HasSubstr("waits for no sum"));
}

TEST_F(TravelingPlanTest, AForkedProcessNeitherUsesNorEndsTheSession) {
  FitOptions options = options_of("gd");
  options.method.rounds = 2;
  const TravelingPlan plan = plan_of(options);
  auto session = std::make_unique<FitSession>(plan, options.privacy.ledger, std::nullopt);
  session->give(sum_of(plan, *session->task(), 1));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_refused = !refusal<UsageError>([&] { session->task(); }).empty();
    session.reset();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Ledger::read(options.privacy.ledger).open_runs().size(), 1U);
  run(*session, plan, 1);
  session->fitted().finish();
}

TEST_F(TravelingPlanTest, OneTaskIsEnoughForOneRelease) {
  EXPECT_EQ(plan_of(options_of("mean")).tasks(), 1U);
  EXPECT_EQ(plan_of(options_of("ls")).tasks(), 1U + FittedRows::kClasses);
  EXPECT_GT(plan_of(options_of("gd")).tasks(), 1U);
}

TEST_F(TravelingPlanTest, ALimitNeedsALedgerToKeepItOn) {
  FitOptions options = options_of("mean");
  options.privacy.limit_epsilon = 1.0;
  options.privacy.limit_delta = 1e-6;
  options.privacy.seed.reset();
  expect_refusal<UsageError>([&] { FitSession(plan_of(options), std::nullopt, std::nullopt); }, {"--budget-epsilon"});
  EXPECT_NE(refusal<BudgetRefused>([&] { FitSession(plan_of(options), options.privacy.ledger, std::nullopt); }), "");
}

TEST_F(TravelingPlanTest, WhatNeedsMoreThanSumsIsRefused) {
  const auto refused = [&](const std::string& method, const std::function<void(FitOptions&)>& change) {
    FitOptions options = options_of(method);
    change(options);
    return refusal<UsageError>([&] { plan_of(options); });
  };
  EXPECT_THAT(refused("gd", [](FitOptions& options) { options.method.batch = 0.5; }), HasSubstr("--batch"));
  EXPECT_THAT(refused("fedavg", [](FitOptions&) {}), HasSubstr("--method fedavg"));
  EXPECT_THAT(refused("ls", [](FitOptions& options) { options.method.choose = true; }), HasSubstr("--choose"));
  EXPECT_THAT(refused("mean", [](FitOptions& options) { options.privacy.resume = true; }), HasSubstr("--resume"));
  EXPECT_THAT(refused("mean", [](FitOptions& options) { options.data.imbalance_ratio = 10; }),
              HasSubstr("--imbalance"));
  EXPECT_THAT(refused("mean", [](FitOptions& options) { options.data.train.x = {"x.npy"}; }), HasSubstr("x.npy"));
}

TEST_F(TravelingPlanTest, APartitionOfOtherRowsIsRefusedByTheWorker) {
  const TravelingPlan plan = plan_of(options_of("mean"));
  const TravelingTask task = first_task(plan);
  const std::vector<float> narrow(10, 1.0F);
  const std::vector<std::int64_t> labels(5, 0);
  const std::vector<std::int64_t> beyond{0, 1, 3};
  const auto of = [&](const RowsInMemory& rows) { partial_sum(plan, task, rows, "p", 1, [](double) {}); };
  EXPECT_THAT(refusal<BadInput>([&] { of({.train_x = array_view(narrow, 2), .train_y = array_view(labels)}); }),
              AllOf(HasSubstr("partition p"), HasSubstr("2 features")));
  EXPECT_THAT(refusal<BadInput>(
                  [&] { of({.train_x = array_view(std::span(rows_.x).first(18), 6), .train_y = array_view(beyond)}); }),
              HasSubstr("class"));
  EXPECT_THAT(refusal<UsageError>([&] { partial_sum(plan, task, rows_.all(), "", 1, [](double) {}); }),
              HasSubstr("give each partition its own name"));
}

}  // namespace dpreduce::traveling_plan_test
