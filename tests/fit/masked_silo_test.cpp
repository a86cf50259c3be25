#include "fit/masked_silo.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::masked_silo_test {

constexpr std::size_t kRowsOfAll = 90;
const char* const kText = "the plan's text";

class MaskedSiloTest : public testing::Test {
 protected:
  explicit MaskedSiloTest(std::size_t silos = 3) {
    roster_ = {.dim = FittedRows::kDim, .classes = FittedRows::kClasses, .members = {}};
    for (std::size_t party = 0; party <= silos; ++party) {
      identities_.push_back(Identity::generate());
      roster_.members.push_back({"p" + std::to_string(party), identities_.back().public_key()});
    }
    use("gd");
  }

  Identity identity(std::size_t party) {
    const std::filesystem::path path = folder_ / (std::to_string(party) + ".key");
    if (!std::filesystem::exists(path)) save_new_identity(identities_[party], path, "--out");
    return load_identity(path, "--identity");
  }
  MaskedPlan plan(const std::string& text = kText) const {
    return {TravelingPlan::made(options_, FittedRows::kDim), text, roster_};
  }
  // Made once, as by a process that lives until the session ends.
  MaskedSilo& silo(std::size_t number, const std::string& text = kText) {
    const auto name = std::pair(number, text);
    if (!silos_.contains(name)) silos_.emplace(name, MaskedSilo(plan(text), identity(number)));
    return silos_.at(name);
  }
  // A session of the fit by these options, before its first step.
  void begin() {
    driver_.emplace(TravelingPlan::made(options_, FittedRows::kDim));
    coordinator_.emplace(MaskedPlan{*driver_, kText, roster_}, identity(0));
  }
  void begin_and_join() {
    begin();
    joins_ = joins(coordinator_->invitation());
  }
  std::string request_of(const TravelingTask& task) { return coordinator_->request(task, joins_); }
  // Runs a session to its end, and returns what it has fitted.
  std::vector<std::byte> fitted() {
    begin_and_join();
    FitSession session(*driver_, std::nullopt, std::nullopt);
    for (steps_ = 0; const auto task = session.task(); ++steps_) {
      last_request_ = request_of(*task);
      std::vector<std::uint64_t> sum;
      for (std::size_t number = 1; number <= roster_.silos(); ++number) add(sum, answer(number, last_request_));
      session.give(coordinator_->opened(last_request_, *task, sum));
    }
    session.fitted().finish();
    std::filesystem::remove_all(folder_ / "ledger.jsonl");
    return to_bytes(session.fitted().classifier);
  }
  // What a fit of all rows is.
  std::vector<std::byte> fitted_whole(const RowsInMemory& rows) {
    Communicator alone = Communicator::alone();
    FittedRun whole = fit(options_, rows, alone);
    whole.finish();
    return to_bytes(whole.classifier);
  }

  RowsInMemory rows_of(std::size_t number) const {
    const std::size_t first = first_row_of(number);
    const std::size_t end = first_row_of(number + 1);
    RowsInMemory rows = rows_.part(first, end);
    if (!persons_.empty()) rows.train_person = array_view(std::span(persons_).subspan(first, end - first));
    return rows;
  }
  std::size_t first_row_of(std::size_t number) const { return kRowsOfAll * (number - 1) / roster_.silos(); }
  // The fit by that method, among silos that have joined no session.
  void use(const std::string& method) {
    options_ = seeded_fit(method, folder_);
    if (method == "gd" || method == "fc") options_.method.rounds = 3;
    silos_.clear();
  }
  std::vector<std::string> joins(const std::string& invitation) {
    std::vector<std::string> all;
    for (std::size_t number = roster_.silos(); number >= 1; --number) all.push_back(silo(number).join(invitation));
    return all;
  }
  std::vector<std::uint64_t> answer(std::size_t number, const std::string& request) {
    return silo(number).answer(request, rows_of(number), 1, [](double) {});
  }
  // Why silo 1 does not answer, with the rows of that silo.
  std::string refusal_of(const std::string& request, std::size_t whose_rows = 1) {
    return refusal<AggregationAborted>([&] { silo(1).answer(request, rows_of(whose_rows), 1, [](double) {}); });
  }
  static void add(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& answer) {
    sum.resize(answer.size());
    for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += answer[word];
  }
  // The message with the signature that such a message of the party's has in this session.
  std::string signed_as(const std::string& kind, std::size_t party, std::string message) {
    const auto digest = MaskedPlan{*driver_, kText, roster_}.digest;
    const std::string to_sign = "dpreduce masked " + kind + " v1" + coordinator_->invitation().substr(0, 16) +
                                std::string(reinterpret_cast<const char*>(digest.data()), digest.size()) + message;
    const Signature signature = identity(party).sign(std::as_bytes(std::span(to_sign)));
    return message.append(reinterpret_cast<const char*>(signature.data()), signature.size());
  }

  TemporaryFolder folder_;
  FittedRows rows_{kRowsOfAll, 1};
  std::vector<std::int64_t> persons_;  // whose each row is; empty: rows have none
  FitOptions options_;

  TravelingTask first_task() const { return *FitSession(*driver_, std::nullopt, std::nullopt).task(); }

  std::optional<TravelingPlan> driver_;
  std::optional<MaskedCoordinator> coordinator_;
  std::vector<std::string> joins_;
  std::string last_request_;
  std::uint64_t steps_ = 0;  // of the last fit
  std::vector<Identity> identities_;
  Roster roster_;
  std::map<std::pair<std::size_t, std::string>, MaskedSilo> silos_;
};

class MaskedFit : public MaskedSiloTest, public testing::WithParamInterface<std::size_t> {
 protected:
  MaskedFit() : MaskedSiloTest(GetParam()) {}
};

TEST_P(MaskedFit, IsTheFitOfAllRows) {
  for (const std::string method : {"mean", "ls", "gd", "fc"}) {
    use(method);
    const std::vector<std::byte> whole = fitted_whole(rows_.all());
    EXPECT_EQ(fitted(), whole) << method;
    EXPECT_EQ(steps_, driver_->tasks()) << method;
    for (std::size_t number = 1; number <= roster_.silos(); ++number) {
      silo(number).end(last_request_);
      expect_refusal<AggregationAborted>([&] { answer(number, last_request_); }, {"has not joined the session"});
    }
  }
}

// Four rows of each person, or what is left of a silo's; clipped and weighed.
TEST_P(MaskedFit, OfPersonsInOneSiloEachIsTheFitThatCountsThemOverAllRows) {
  persons_.resize(kRowsOfAll);
  for (std::size_t number = 1; number <= roster_.silos(); ++number) {
    const std::size_t first = first_row_of(number);
    for (std::size_t row = first; row < first_row_of(number + 1); ++row) {
      persons_[row] = static_cast<std::int64_t>(1000 * number + (row - first) / 4);
    }
  }
  for (const char* method : {"gd", "ls", "fisher"}) {
    use(method);
    options_.data.rows_per_person = 2;
    RowsInMemory all = rows_.all();
    all.train_person = array_view(persons_);
    const std::vector<std::byte> whole = fitted_whole(all);
    options_.silos.silos_per_person = 1;
    EXPECT_EQ(fitted(), whole) << method;
  }
}

INSTANTIATE_TEST_SUITE_P(Silos, MaskedFit, testing::Values(2, 3, 7));

TEST_F(MaskedSiloTest, AnswersLookRandomAndAddUpOnlyWithAllSilos) {
  begin_and_join();
  FitSession session(*driver_, std::nullopt, std::nullopt);
  const std::string request = request_of(*session.task());
  std::vector<std::uint64_t> sum;
  std::vector<std::uint64_t> one = answer(1, request);
  // 18 words and two: a statistic of 30 rows has small numbers and zeros; 2^-20 for each word to be as small as 2^44.
  for (const std::uint64_t word : one) EXPECT_GT(std::min(word, -word), std::uint64_t{1} << 43);
  add(sum, one);
  add(sum, answer(2, request));
  const auto opened = [&] { coordinator_->opened(request, *session.task(), sum); };
  EXPECT_THAT(refusal<AggregationAborted>(opened), HasSubstr("do not add up"));
  add(sum, answer(2, request));
  EXPECT_THAT(refusal<AggregationAborted>(opened), HasSubstr("do not add up")) << "one twice, another not at all";
  for (std::uint64_t word = 0; word < sum.size(); ++word) sum[word] -= answer(2, request)[word];
  add(sum, answer(3, request));
  session.give(coordinator_->opened(request, *session.task(), sum));
  sum.pop_back();
  expect_refusal<AggregationAborted>([&] { coordinator_->opened(request, *session.task(), sum); }, {"do not add up"});
}

TEST_F(MaskedSiloTest, AStepIsAnsweredOnceOrTheSameAgain) {
  begin();
  const std::string invitation = coordinator_->invitation();
  joins_ = joins(invitation);
  EXPECT_EQ(joins_, joins(invitation)) << "a join may be asked for again";
  TravelingTask task = first_task();
  const std::string request = request_of(task);
  EXPECT_EQ(answer(1, request), answer(1, request));
  EXPECT_THAT(refusal_of(request, 2), HasSubstr("step 0 of this session was already answered")) << "other rows";
  TravelingTask other = task;
  change_weights(std::get<GradientPoint>(other.task.point).weights,
                 [](auto& values, auto&) { values.front() = 1; });  // another point, chosen to differ
  EXPECT_THAT(refusal_of(request_of(other)), HasSubstr("was already answered"));
  task.step = 1;
  EXPECT_NE(answer(1, request_of(task)), answer(1, request)) << "masks of another step";
  task.step = driver_->tasks();
  EXPECT_THAT(refusal_of(request_of(task)), HasSubstr("the plan has 3"));
}

// Two answers under one mask would give the difference of the rows that they are of.
TEST_F(MaskedSiloTest, OtherRowsGetNoSecondAnswerNorDoesAProcessThatIsStartedAgain) {
  begin_and_join();
  const std::string request = request_of(first_task());
  const std::vector<std::uint64_t> answered = answer(1, request);
  EXPECT_THAT(refusal_of(request, 2), HasSubstr("was already answered"));
  EXPECT_EQ(answer(1, request), answered);
  silos_.clear();  // the process ends, and is started again
  for (const std::size_t whose : {1, 2}) {
    EXPECT_THAT(refusal_of(request, whose), HasSubstr("has not joined the session"));
  }
  silo(1).join(coordinator_->invitation());
  EXPECT_THAT(refusal_of(request, 2), HasSubstr("another join instead"));
}

TEST_F(MaskedSiloTest, AForkOfTheProcessThatJoinedDoesNotAnswer) {
  begin_and_join();
  const std::string request = request_of(first_task());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_refused = !refusal_of(request).empty() &&
                            !refusal<AggregationAborted>([&] { silo(1).join(coordinator_->invitation()); }).empty();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(answer(1, request).empty());
}

// What a coordinator signs decides where a silo reads and writes.
TEST_F(MaskedSiloTest, ATaskOfOtherSizesThanThePlansIsRefused) {
  begin_and_join();
  const std::vector<std::function<void(StatisticTask&)>> changes{
      [](StatisticTask& task) { task.label = FittedRows::kClasses; },
      [](StatisticTask& task) { task.preprocessing.intercept = task.preprocessing.intercept > 0.0 ? 0.0 : 0.1; },
      [](StatisticTask& task) { task.preprocessing.pool = 2; },
      [](StatisticTask& task) { task.preprocessing.clip_norm *= 2; },
      [](StatisticTask& task) {
        change_weights(std::get<GradientPoint>(task.point).weights, [](auto& values, auto& largest) {
          largest.push_back(1.0);
          values.resize(values.size() / FittedRows::kClasses * largest.size());
        });
      }};
  for (std::size_t change = 0; change < changes.size(); ++change) {
    SCOPED_TRACE(change);
    TravelingTask task = first_task();
    changes[change](task.task);
    const std::string request = request_of(task);
    EXPECT_THAT(refusal<UsageError>([&] { answer(1, request); }), HasSubstr("that the plan does not have"));
  }
}

TEST_F(MaskedSiloTest, ASessionHasKeysOfItsOwn) {
  begin_and_join();
  const std::string request = request_of(first_task());
  const std::vector<std::uint64_t> answered = answer(1, request);
  silo(1).end(coordinator_->invitation());
  EXPECT_THAT(refusal_of(request), HasSubstr("has not joined the session"));
  EXPECT_NE(silo(1).join(coordinator_->invitation()), joins_.back());
  EXPECT_THAT(refusal_of(request), HasSubstr("another join instead"));
  const std::vector<std::string> now = joins(coordinator_->invitation());
  EXPECT_NE(answer(1, coordinator_->request(first_task(), now)), answered) << "the same rows and task";
}

TEST_F(MaskedSiloTest, MessagesOfOthersAreRefused) {
  begin_and_join();
  const std::string request = request_of(first_task());
  for (const std::size_t place : {std::size_t{0}, std::size_t{20}, request.size() / 2, request.size() - 1}) {
    std::string changed = request;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    EXPECT_THAT(refusal_of(changed), HasSubstr("not signed by the roster's"));
  }
  // A coordinator that puts a key of its own in the place of silo 2's, or leaves the silo out.
  std::vector<std::string> forged = joins_;
  forged[1][10] = static_cast<char>(forged[1][10] ^ 1);
  const std::vector<std::string> fewer{joins_[0], joins_[2]};
  const std::vector<std::string> twice{joins_[0], joins_[2], joins_[0]};
  expect_refusals<AggregationAborted>({
      {[&] { answer(1, "short"); }, "too short"},
      {[&] { silo(1).join(request); }, "not signed by the roster's"},
      {[&] { silo(1, "another plan").join(coordinator_->invitation()); }, "the same plan"},
      {[&] { silo(2, "another plan").answer(request, rows_of(2), 1, [](double) {}); }, "the same plan"},
      {[&] { coordinator_->request(first_task(), forged); }, "the join of silo 2 (p2) is not signed by it"},
      {[&] { coordinator_->request(first_task(), fewer); }, "silo 2 (p2) has not joined"},
      {[&] { coordinator_->request(first_task(), twice); }, "appears twice"},
  });
}

// Signed as it should be: each honest silo would refuse the request with it, so the coordinator makes none.
TEST_F(MaskedSiloTest, AJoinWhoseKeyGivesNoSecretIsRefusedByTheCoordinator) {
  begin_and_join();
  joins_[1] = signed_as("join", 2, joins_[1].substr(0, 4) + std::string(32, '\0'));
  EXPECT_THAT(refusal<AggregationAborted>([&] { request_of(first_task()); }),
              HasSubstr("the key in the join of silo 2 (p2) is a point of small order"));
}

TEST_F(MaskedSiloTest, SilosCheckJoinsThemselves) {
  begin_and_join();
  const std::string honest = request_of(first_task());
  // The deviating coordinator signs what it likes: a join is 100 bytes, behind session and step.
  const auto signed_with = [&](const std::function<void(std::string&)>& change) {
    std::string message = honest.substr(0, honest.size() - 64);
    change(message);
    return signed_as("request", 0, message);
  };
  EXPECT_EQ(answer(1, signed_with([](std::string&) {})), answer(1, honest));
  EXPECT_THAT(refusal_of(signed_with([](std::string& message) { message[24 + 100 + 4] ^= 1; })),
              HasSubstr("silo 2 (p2) is not signed by it"));
  EXPECT_THAT(refusal_of(signed_with([](std::string& message) { message.replace(24 + 100, 100, message, 24, 100); })),
              HasSubstr("lacks the join of silo 2"));
  EXPECT_NE(refusal_of(signed_with([](std::string& message) { message.resize(24 + 150); })), "");
  const std::string no_task = signed_with([](std::string& message) { message.resize(24 + 300); });
  EXPECT_NE(refusal<BadInput>([&] { answer(2, no_task); }), "");
}

TEST_F(MaskedSiloTest, PartiesMustBeOnTheRosterAndFitThePlan) {
  EXPECT_THAT(refusal<UsageError>([&] { MaskedSilo(plan(), identity(0)); }), HasSubstr("does not belong to a silo"));
  EXPECT_THAT(refusal<UsageError>([&] { MaskedCoordinator(plan(), identity(1)); }), HasSubstr("roster's coordinator"));
  roster_.dim = 7;
  EXPECT_THAT(refusal<BadInput>([&] { plan(); }), HasSubstr("6 features and 3 classes, the roster for 7 and 3"));
}

}  // namespace dpreduce::masked_silo_test
