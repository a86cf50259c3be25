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
  static TravelingPlan plan_of(const FitOptions& options) { return TravelingPlan::made(options, FittedRows::kDim); }
  FitOptions options_of(const std::string& method, std::optional<std::uint64_t> rounds = std::nullopt) const {
    FitOptions options = seeded_fit(method, folder_);
    if (rounds) options.method.rounds = *rounds;
    return options;
  }

  // Of rows first .. end - 1, as workers see plan and task: as bytes.
  PartialSum part(const TravelingPlan& plan, const TravelingTask& task, const std::string& name, std::size_t first,
                  std::size_t end) const {
    return PartialSum::from_bytes(partial_sum(TravelingPlan::from_bytes(plan.to_bytes()),
                                              TravelingTask::from_bytes(task.to_bytes()), rows_.part(first, end), name,
                                              1, [](double) {})
                                      .to_bytes());
  }
  PartialSum part(const std::string& name, std::size_t first, std::size_t end) const {
    return part(plan_, task_, name, first, end);
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

  LedgerState ledger() const { return Ledger::read(folder_ / "ledger.jsonl"); }

  TemporaryFolder folder_;
  FittedRows rows_{kAllRows, 1};
  const TravelingPlan plan_ = plan_of(options_of("mean"));
  const TravelingTask task_ = first_task(plan_);  // also that of each of its sessions
};

// tests/cli/place_matrix_test.cpp: those of every method.
TEST_F(TravelingPlanTest, AFitAndItsChargesAreThoseOfAllRows) {
  for (const std::string method : {"mean", "ls", "fc", "mean without noise"}) {
    FitOptions options = options_of(method.substr(0, method.find(' ')));
    if (method == "fc") options.method.rounds = 3;
    options.privacy.ledger = folder_ / (method + ".jsonl");
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
    const auto charged = [](const FitOptions& by) {
      std::vector<double> mus;
      const LedgerState ledger = Ledger::read(by.privacy.ledger);
      for (const LedgerCharge& charge : ledger.charges()) mus.push_back(charge.entry.mu);
      return mus;
    };
    EXPECT_EQ(charged(again), charged(options)) << method;
  }
}

TEST_F(TravelingPlanTest, APartitionCountsOnce) {
  PartialSum sum = part("a", 0, 30);
  sum.add(part("b", 30, 60));
  expect_refusal<UsageError>([&] { sum.add(part("b", 30, 60)); }, {"partition b is in both partial sums"});
  EXPECT_EQ(sum.partitions().size(), 2U);
}

TEST_F(TravelingPlanTest, APartitionThatIsMissingOrUnknownIsNamed) {
  FitSession session(plan_, folder_ / "ledger.jsonl", std::vector<std::string>{"a", "b"});
  PartialSum all = part("a", 0, 30);
  EXPECT_THAT(refusal<UsageError>([&] { session.give(all); }), HasSubstr("missing from the sum: b"));
  all.add(part("b", 30, kAllRows));
  PartialSum more = all;
  more.add(part("c", 0, 0));
  EXPECT_THAT(refusal<UsageError>([&] { session.give(more); }), HasSubstr("not expected: c"));
  session.give(all);  // it still waits
  EXPECT_FALSE(session.task());
}

TEST_F(TravelingPlanTest, SumsOfAnotherSessionOrStepAreRefused) {
  const TravelingPlan plan = plan_of(options_of("gd", 2));
  const TravelingPlan other = plan_of(options_of("gd", 2));
  FitSession session(plan, folder_ / "ledger.jsonl", std::nullopt);
  PartialSum sum = sum_of(plan, *session.task(), 1);
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
  FitOptions options = options_of("gd", 2);
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
  FitSession session(plan_, folder_ / "ledger.jsonl", std::nullopt);
  TravelingPlan without_secret = plan_;
  without_secret.ticket.secret[0] ^= 1;  // whoever has not got it seals nothing that opens
  EXPECT_THAT(refusal<AggregationAborted>([&] { session.give(sum_of(without_secret, *session.task(), 2)); }),
              HasSubstr("does not match the seals of its partitions"));
  EXPECT_TRUE(ledger().charges().empty());
  std::string bytes = sum_of(plan_, *session.task(), 1).to_bytes();
  bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 1);
  expect_refusal<BadInput>([&] { PartialSum::from_bytes(bytes); }, {"not a partial sum, or are damaged"});
  expect_refusal<BadInput>([&] { PartialSum::from_bytes("x"); }, {"not a partial sum"});
}

// Whoever adds sums up can add to any word: that of partitions with rows is under the fingerprint as the others.
TEST_F(TravelingPlanTest, WhetherThereAreRowsIsNotForWhoAddsSumsUpToSay) {
  FitSession session(plan_, folder_ / "ledger.jsonl", std::nullopt);
  const auto with_last_word = [](const PartialSum& sum, std::uint64_t more) {
    const std::string message = sum.to_bytes();
    const std::span<const std::byte> value = value_in(message, "partial sum");
    PayloadReader last(value.last(8));
    PayloadWriter changed;
    changed.bytes(value.first(value.size() - 8)).u64(last.u64() + more);
    return PartialSum::from_bytes(framed_message("partial sum", changed.take()));
  };
  const PartialSum none = part(plan_, *session.task(), "none", 0, 0);
  const PartialSum all = sum_of(plan_, *session.task(), 1);
  EXPECT_THAT(refusal<BadInput>([&] { session.give(with_last_word(none, 0)); }), HasSubstr("no partition has a row"));
  for (const PartialSum& changed : {with_last_word(none, 1), with_last_word(all, ~std::uint64_t{0})}) {
    expect_refusal<AggregationAborted>([&] { session.give(changed); }, {"does not match the seals of its partitions"});
  }
  EXPECT_TRUE(ledger().charges().empty());
}

TEST_F(TravelingPlanTest, APartitionIsNamedInPrintableCharacters) {
  PartialSum sum = part("b\n\x1b[2J", 0, 30);
  EXPECT_THAT(refusal<UsageError>([&] { sum.add(PartialSum(sum)); }), HasSubstr("partition b??[2J is in both"));
  EXPECT_THAT(refusal<UsageError>([&] { require_partitions(sum.partitions(), {"a\r"}, "sum"); }),
              HasSubstr("missing from the sum: a?;"));
}

// Whoever adds sums up needs no secret. A list that names one partition twice, with its words in twice, would open.
TEST_F(TravelingPlanTest, AListThatNamesAPartitionTwiceIsRefused) {
  using Value = std::span<const std::byte>;
  const std::string messages[] = {part("a", 0, 30).to_bytes(), part("b", 30, kAllRows).to_bytes()};
  const Value a = value_in(messages[0], "partial sum");
  const Value b = value_in(messages[1], "partial sum");
  // 16 bytes of the session, 8 of the step, 32 of the task, the number of partitions; of each its name of one byte and
  // a nonce; the number of words, and these.
  constexpr std::size_t kList = 16 + 8 + 32;
  constexpr std::size_t kPartition = 8 + 1 + 16;
  const auto forged = [&](std::initializer_list<Value> parts) {
    PayloadWriter writer;
    writer.bytes(a.first(kList)).u64(parts.size());
    std::vector<std::uint64_t> sum;
    for (const Value& one : parts) {
      writer.bytes(one.subspan(kList + 8, kPartition));
      PayloadReader words(one.subspan(kList + 8 + kPartition));
      sum.resize(words.u64(), 0);
      for (std::uint64_t& word : sum) word += words.u64();
    }
    writer.u64(sum.size());
    for (const std::uint64_t word : sum) writer.u64(word);
    return framed_message("partial sum", writer.take());
  };
  EXPECT_NO_THROW(PartialSum::from_bytes(forged({a, b})));
  for (const auto& twice : {forged({a, b, a}), forged({a, a}), forged({b, a})}) {
    EXPECT_THAT(refusal<BadInput>([&] { PartialSum::from_bytes(twice); }), HasSubstr("not a partial sum"));
  }
}

// Bytes of the same partition differ each time, and in about half of all bits: they say nothing of the rows.
TEST_F(TravelingPlanTest, SealedWordsLookRandom) {
  const std::string once = part("a", 0, kAllRows).to_bytes();
  const std::string again = part("a", 0, kAllRows).to_bytes();
  ASSERT_EQ(once.size(), again.size());
  std::size_t differing = 0;
  for (std::size_t b = 0; b < once.size(); ++b) {
    differing += static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned char>(once[b] ^ again[b])));
  }
  const std::size_t sealed_bits = 64 * (FittedRows::kClasses * FittedRows::kDim + 4) + 128;
  EXPECT_GT(differing, sealed_bits * 2 / 5);
}

TEST_F(TravelingPlanTest, ASessionThatIsGivenUpGivesBackWhatItReserved) {
  const TravelingPlan plan = plan_of(options_of("gd", 3));
  std::size_t charges = 0;
  {
    FitSession session(plan, folder_ / "ledger.jsonl", std::nullopt);
    EXPECT_TRUE(ledger().open_runs().empty()) << "no row has been looked at";
    session.give(sum_of(plan, *session.task(), 1));
    EXPECT_EQ(ledger().open_runs().size(), 1U);
    charges = ledger().charges().size();
  }
  EXPECT_TRUE(ledger().open_runs().empty());
  EXPECT_EQ(ledger().charges().size(), charges);
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
  EXPECT_THAT(refusal<UsageError>([&] { part(plan_of(options_of("gd")), task_, "a", 0, 30); }),
              HasSubstr("the task is of another plan"));
}

TEST_F(TravelingPlanTest, ASumIsTakenOnceByManyThreads) {
  const TravelingPlan plan = plan_of(options_of("gd", 2));
  FitSession session(plan, std::nullopt, std::nullopt);
  for (std::uint64_t step = 0; session.task(); ++step) {
    ASSERT_EQ(session.task()->step, step);
    const PartialSum sum = sum_of(plan, *session.task(), 1);
    std::atomic<int> taken = 0;
    const auto give = [&] { taken += refusal<UsageError>([&] { session.give(sum); }).empty() ? 1 : 0; };
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(give);
    threads.clear();
    EXPECT_EQ(taken, 1);
  }
  EXPECT_THAT(refusal<UsageError>([&] { session.give(PartialSum()); }), HasSubstr("waits for no sum"));
}

TEST_F(TravelingPlanTest, AForkedProcessNeitherUsesNorEndsTheSession) {
  const TravelingPlan plan = plan_of(options_of("gd", 2));
  auto session = std::make_unique<FitSession>(plan, folder_ / "ledger.jsonl", std::nullopt);
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
  EXPECT_EQ(ledger().open_runs().size(), 1U);
  run(*session, plan, 1);
  session->fitted().finish();
}

TEST_F(TravelingPlanTest, OneTaskIsEnoughForOneRelease) {
  EXPECT_EQ(plan_.tasks(), 1U);
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
  const std::tuple<const char*, std::function<void(FitOptions&)>, const char*> all[] = {
      {"gd", [](FitOptions& options) { options.method.batch = 0.5; }, "--batch"},
      {"fedavg", [](FitOptions&) {}, "--method fedavg"},
      {"ls", [](FitOptions& options) { options.method.choose = true; }, "--choose"},
      {"mean", [](FitOptions& options) { options.privacy.resume = true; }, "--resume"},
      {"mean", [](FitOptions& options) { options.data.imbalance_ratio = 10; }, "--imbalance"},
      {"mean", [](FitOptions& options) { options.data.train.x = {"x.npy"}; }, "x.npy"}};
  for (const auto& [method, change, said] : all) {
    FitOptions options = options_of(method);
    change(options);
    expect_refusal<UsageError>([&] { plan_of(options); }, {said});
  }
}

TEST_F(TravelingPlanTest, APartitionOfOtherRowsIsRefusedByTheWorker) {
  const std::vector<float> narrow(10, 1.0F);
  const std::vector<std::int64_t> labels(5, 0);
  const std::vector<std::int64_t> beyond{0, 1, 3};
  const auto of = [&](const RowsInMemory& rows, const std::string& name = "p") {
    partial_sum(plan_, task_, rows, name, 1, [](double) {});
  };
  const RowsInMemory of_another_class{.train_x = rows_.part(0, 3).train_x, .train_y = array_view(beyond)};
  expect_refusal<BadInput>([&] { of({.train_x = array_view(narrow, 2), .train_y = array_view(labels)}); },
                           {"partition p", "2 features"});
  expect_refusal<BadInput>([&] { of(of_another_class); }, {"class"});
  expect_refusal<UsageError>([&] { of(rows_.all(), ""); }, {"give each partition its own name"});
}

}  // namespace dpreduce::traveling_plan_test
