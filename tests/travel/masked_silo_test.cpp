#include "travel/masked_silo.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

constexpr std::size_t kRowsOfAll = 90;
const char* const kText = "the plan's text";

struct Party {
  Identity identity = Identity::generate();
  std::string name;
};

class MaskedSiloTest : public testing::Test {
 protected:
  explicit MaskedSiloTest(std::size_t silos = 3) {
    roster_ = {.dim = FittedRows::kDim, .classes = FittedRows::kClasses, .members = {}};
    for (std::size_t party = 0; party <= silos; ++party) {
      parties_.push_back({Identity::generate(), "p" + std::to_string(party)});
      roster_.members.push_back({parties_.back().name, parties_.back().identity.public_key()});
    }
    options_.method.rounds = 3;
  }

  Identity identity(std::size_t party) {
    const std::filesystem::path path = folder_ / (std::to_string(party) + ".key");
    if (!std::filesystem::exists(path)) parties_[party].identity.save_new(path, "--out");
    return Identity::load(path, "--identity");
  }
  MaskedPlan plan(const std::string& text = kText) const {
    return {TravelingPlan::made(options_, FittedRows::kDim), text, roster_};
  }
  std::filesystem::path state(std::size_t number) { return folder_ / ("state" + std::to_string(number)); }
  // Made once, as by a process that lives until the session ends.
  MaskedSilo& silo(std::size_t number, const std::string& text = kText) {
    const auto name = std::pair(number, text);
    const auto found = silos_.find(name);
    if (found != silos_.end()) return found->second;
    return silos_.emplace(name, MaskedSilo(plan(text), identity(number), state(number))).first->second;
  }
  MaskedCoordinator coordinator(const TravelingPlan& of) { return {{of, kText, roster_}, identity(0)}; }

  RowsInMemory rows_of(std::size_t number) const {
    const std::size_t first = first_row_of(number);
    const std::size_t end = first_row_of(number + 1);
    RowsInMemory rows = rows_.part(first, end);
    if (!persons_.empty()) rows.train_person = array_view(std::span(persons_).subspan(first, end - first));
    return rows;
  }
  std::size_t first_row_of(std::size_t number) const { return kRowsOfAll * (number - 1) / roster_.silos(); }
  std::vector<std::string> joins(const std::string& invitation) {
    std::vector<std::string> all;
    for (std::size_t number = roster_.silos(); number >= 1; --number) all.push_back(silo(number).join(invitation));
    return all;
  }
  std::vector<std::uint64_t> answer(std::size_t number, const std::string& request) {
    return silo(number).answer(request, rows_of(number), 1, [](double) {});
  }
  template <typename Refusal>
  static std::string refusal(const std::function<void()>& work) {
    try {
      work();
    } catch (const Refusal& error) {
      return error.what();
    }
    return {};
  }
  static void add(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& answer) {
    sum.resize(answer.size());
    for (std::size_t word = 0; word < sum.size(); ++word) sum[word] += answer[word];
  }

  TemporaryFolder folder_;
  FittedRows rows_{kRowsOfAll, 1};
  std::vector<std::int64_t> persons_;  // whose each row is; empty: rows have none
  FitOptions options_ = seeded_fit("gd", folder_);

  // Of the session's first step.
  static TravelingTask first_of(const TravelingPlan& driver) {
    return *FitSession(driver, std::nullopt, std::nullopt).task();
  }
  std::vector<Party> parties_;
  Roster roster_;
  std::map<std::pair<std::size_t, std::string>, MaskedSilo> silos_;
};

class MaskedFit : public MaskedSiloTest, public testing::WithParamInterface<std::size_t> {
 protected:
  MaskedFit() : MaskedSiloTest(GetParam()) {}
};

TEST_P(MaskedFit, IsTheFitOfAllRows) {
  for (const std::string method : {"mean", "ls", "gd", "fc"}) {
    options_ = seeded_fit(method, folder_);
    silos_.clear();
    if (method == "gd" || method == "fc") options_.method.rounds = 3;
    Communicator alone = Communicator::alone();
    FittedRun whole = fit(options_, rows_.all(), alone);
    whole.finish();

    const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
    const MaskedCoordinator coordinator = this->coordinator(driver);
    FitSession session(driver, std::nullopt, std::nullopt);
    const std::vector<std::string> joins = this->joins(coordinator.invitation());
    std::uint64_t steps = 0;
    std::string request;
    while (const auto task = session.task()) {
      request = coordinator.request(*task, joins);
      std::vector<std::uint64_t> sum;
      for (std::size_t number = 1; number <= roster_.silos(); ++number) add(sum, answer(number, request));
      session.give(coordinator.opened(request, *task, sum));
      ++steps;
    }
    EXPECT_EQ(steps, driver.tasks()) << method;
    session.fitted().finish();
    EXPECT_EQ(to_bytes(session.fitted().classifier), to_bytes(whole.classifier)) << method;
    for (std::size_t number = 1; number <= roster_.silos(); ++number) {
      silo(number).end(request);
      EXPECT_TRUE(std::filesystem::is_empty(state(number)));
    }
    std::filesystem::remove_all(folder_ / "ledger.jsonl");
  }
}

// Four rows of each person, or what is left of a silo's; weighed and clipped.
TEST_P(MaskedFit, OfPersonsInOneSiloEachIsTheFitThatCountsThemOverAllRows) {
  persons_.resize(kRowsOfAll);
  for (std::size_t number = 1; number <= roster_.silos(); ++number) {
    const std::size_t first = first_row_of(number);
    for (std::size_t row = first; row < first_row_of(number + 1); ++row) {
      persons_[row] = static_cast<std::int64_t>(1000 * number + (row - first) / 4);
    }
  }
  for (const auto& [method, bound] :
       {std::pair{"gd", UnitBound::kWeight}, {"gd", UnitBound::kClip}, {"ls", UnitBound::kClip}}) {
    options_ = seeded_fit(method, folder_);
    silos_.clear();
    if (options_.method.name == "gd") options_.method.rounds = 3;
    options_.data.rows_per_person = 2;
    options_.data.unit_bound = bound;
    RowsInMemory all = rows_.all();
    all.train_person = array_view(persons_);
    Communicator alone = Communicator::alone();
    FittedRun whole = fit(options_, all, alone);
    whole.finish();

    options_.silos.silos_per_person = 1;
    const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
    const MaskedCoordinator coordinator = this->coordinator(driver);
    FitSession session(driver, std::nullopt, std::nullopt);
    const std::vector<std::string> joins = this->joins(coordinator.invitation());
    while (const auto task = session.task()) {
      const std::string request = coordinator.request(*task, joins);
      std::vector<std::uint64_t> sum;
      for (std::size_t number = 1; number <= roster_.silos(); ++number) add(sum, answer(number, request));
      session.give(coordinator.opened(request, *task, sum));
    }
    session.fitted().finish();
    EXPECT_EQ(to_bytes(session.fitted().classifier), to_bytes(whole.classifier)) << method;
    std::filesystem::remove_all(folder_ / "ledger.jsonl");
  }
}

INSTANTIATE_TEST_SUITE_P(Silos, MaskedFit, testing::Values(2, 3, 7));

TEST_F(MaskedSiloTest, AnswersLookRandomAndAddUpOnlyWithAllSilos) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  FitSession session(driver, std::nullopt, std::nullopt);
  const std::string request = coordinator.request(*session.task(), joins(coordinator.invitation()));
  std::vector<std::uint64_t> sum;
  std::vector<std::uint64_t> one = answer(1, request);
  // 18 words and two: a statistic of 30 rows has small numbers and zeros; 2^-20 for each word to be as small as 2^44.
  for (const std::uint64_t word : one) EXPECT_GT(std::min(word, -word), std::uint64_t{1} << 43);
  add(sum, one);
  add(sum, answer(2, request));
  const auto opened = [&] { coordinator.opened(request, *session.task(), sum); };
  EXPECT_THAT(refusal<AggregationAborted>(opened), HasSubstr("do not add up"));
  add(sum, answer(2, request));
  EXPECT_THAT(refusal<AggregationAborted>(opened), HasSubstr("do not add up")) << "one twice, another not at all";
  for (std::uint64_t word = 0; word < sum.size(); ++word) sum[word] -= answer(2, request)[word];
  add(sum, answer(3, request));
  session.give(coordinator.opened(request, *session.task(), sum));
  sum.pop_back();
  EXPECT_THAT(refusal<AggregationAborted>([&] { coordinator.opened(request, *session.task(), sum); }),
              HasSubstr("do not add up"));
}

TEST_F(MaskedSiloTest, AStepIsAnsweredOnceOrTheSameAgain) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::string invitation = coordinator.invitation();
  const std::vector<std::string> joins = this->joins(invitation);
  EXPECT_EQ(joins, this->joins(invitation)) << "a join may be asked for again";
  TravelingTask task = first_of(driver);
  const std::string request = coordinator.request(task, joins);
  EXPECT_EQ(answer(1, request), answer(1, request));

  const auto with_other_rows = [&] { silo(1).answer(request, rows_of(2), 1, [](double) {}); };
  EXPECT_THAT(refusal<AggregationAborted>(with_other_rows), HasSubstr("step 0 of this session was answered already"));
  TravelingTask other = task;
  std::get<TaskGradientPoint>(other.task.point).weights.values.front() = 1;  // another point, chosen to differ
  const std::string another = coordinator.request(other, joins);
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, another); }), HasSubstr("was answered already"));
  task.step = 1;
  EXPECT_NE(answer(1, coordinator.request(task, joins)), answer(1, request)) << "masks of another step";
  task.step = driver.tasks();
  const std::string beyond = coordinator.request(task, joins);
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, beyond); }), HasSubstr("the plan has 3"));
}

// Two answers under one mask would give the difference of the rows that they are of.
TEST_F(MaskedSiloTest, AFolderThatIsRestoredMakesNoSecondAnswer) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::string request = coordinator.request(first_of(driver), joins(coordinator.invitation()));
  const std::filesystem::path backup = folder_ / "backup";
  const std::filesystem::path after = folder_ / "after";
  const auto copy = [&](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  };
  copy(state(1), backup);
  const std::vector<std::uint64_t> answered = answer(1, request);
  copy(state(1), after);
  const auto with_other_rows = [&] { return silo(1).answer(request, rows_of(2), 1, [](double) {}); };

  copy(backup, state(1));
  EXPECT_THAT(refusal<AggregationAborted>([&] { with_other_rows(); }), HasSubstr("was answered already"));
  EXPECT_EQ(answer(1, request), answered);
  copy(backup, state(1));
  silos_.clear();  // the process ends, and is started again
  EXPECT_THAT(refusal<AggregationAborted>([&] { with_other_rows(); }), HasSubstr("has not joined the session"));
  copy(after, state(1));
  EXPECT_EQ(with_other_rows(), answered) << "what was sent, whatever the rows are now";
  silo(1).join(coordinator.invitation());
  EXPECT_THAT(refusal<AggregationAborted>([&] { with_other_rows(); }), HasSubstr("another join in the place"));
}

TEST_F(MaskedSiloTest, ItsFolderHoldsTheLastAnswerAndNoKey) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::vector<std::string> joins = this->joins(coordinator.invitation());
  EXPECT_TRUE(std::filesystem::is_empty(state(1)));
  TravelingTask task = first_of(driver);
  std::vector<std::uint64_t> answered;
  for (task.step = 0; task.step < 2; ++task.step) answered = answer(1, coordinator.request(task, joins));
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(state(1))) {
    ++files;
    EXPECT_EQ(file.file_size(), 32 + 8 * answered.size()) << "the request's digest, and words that were sent";
  }
  EXPECT_EQ(files, 1U);
}

TEST_F(MaskedSiloTest, AForkOfTheProcessThatJoinedDoesNotAnswer) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::string request = coordinator.request(first_of(driver), joins(coordinator.invitation()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_refused = !refusal<AggregationAborted>([&] { answer(1, request); }).empty() &&
                            !refusal<AggregationAborted>([&] { silo(1).join(coordinator.invitation()); }).empty();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(answer(1, request).empty());
}

// What a coordinator signs decides where a silo reads and writes.
TEST_F(MaskedSiloTest, ATaskOfOtherSizesThanThePlansIsRefused) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::vector<std::string> joins = this->joins(coordinator.invitation());
  const std::vector<std::function<void(StatisticTask&)>> changes{
      [](StatisticTask& task) { task.label = FittedRows::kClasses; },
      [](StatisticTask& task) { task.preprocessing.intercept = task.preprocessing.intercept > 0.0 ? 0.0 : 0.1; },
      [](StatisticTask& task) { task.preprocessing.pool = 2; },
      [](StatisticTask& task) { task.preprocessing.clip_norm *= 2; },
      [](StatisticTask& task) {
        TaskWeights& weights = std::get<TaskGradientPoint>(task.point).weights;
        weights.largest.push_back(1.0);
        weights.values.resize(weights.values.size() / FittedRows::kClasses * weights.largest.size());
      }};
  for (std::size_t change = 0; change < changes.size(); ++change) {
    SCOPED_TRACE(change);
    TravelingTask task = first_of(driver);
    changes[change](task.task);
    const std::string request = coordinator.request(task, joins);
    EXPECT_THAT(refusal<UsageError>([&] { answer(1, request); }), HasSubstr("that the plan does not have"));
  }
}

TEST_F(MaskedSiloTest, ASessionHasKeysOfItsOwn) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::vector<std::string> before = joins(coordinator.invitation());
  const std::string request = coordinator.request(first_of(driver), before);
  const std::vector<std::uint64_t> answered = answer(1, request);
  silo(1).end(coordinator.invitation());
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, request); }), HasSubstr("has not joined the session"));
  EXPECT_NE(silo(1).join(coordinator.invitation()), before.back());
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, request); }), HasSubstr("another join in the place"));
  const std::vector<std::string> now = joins(coordinator.invitation());
  EXPECT_NE(answer(1, coordinator.request(first_of(driver), now)), answered) << "the same rows and task";
}

TEST_F(MaskedSiloTest, MessagesOfOthersAreRefused) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::vector<std::string> joins = this->joins(coordinator.invitation());
  const std::string request = coordinator.request(first_of(driver), joins);
  for (const std::size_t place : {std::size_t{0}, std::size_t{20}, request.size() / 2, request.size() - 1}) {
    std::string changed = request;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, changed); }), HasSubstr("not signed by the roster's"));
  }
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, "short"); }), HasSubstr("too short"));
  EXPECT_THAT(refusal<AggregationAborted>([&] { silo(1).join(request); }), HasSubstr("not signed by the roster's"));
  EXPECT_THAT(refusal<AggregationAborted>([&] { silo(1, "another plan").join(coordinator.invitation()); }),
              HasSubstr("the same plan"));
  MaskedSilo& told_otherwise = silo(2, "another plan");
  EXPECT_THAT(refusal<AggregationAborted>([&] { told_otherwise.answer(request, rows_of(2), 1, [](double) {}); }),
              HasSubstr("the same plan"));

  // A coordinator that puts a key of its own in the place of silo 2's, or leaves the silo out.
  std::vector<std::string> forged = joins;
  forged[1][10] = static_cast<char>(forged[1][10] ^ 1);
  EXPECT_THAT(refusal<AggregationAborted>([&] { coordinator.request(first_of(driver), forged); }),
              HasSubstr("the join of silo 2 (p2) is not signed by it"));
  std::vector<std::string> fewer{joins[0], joins[2]};
  EXPECT_THAT(refusal<AggregationAborted>([&] { coordinator.request(first_of(driver), fewer); }),
              HasSubstr("silo 2 (p2) has not joined"));
  fewer.push_back(joins[0]);
  EXPECT_THAT(refusal<AggregationAborted>([&] { coordinator.request(first_of(driver), fewer); }),
              HasSubstr("is there twice"));
}

TEST_F(MaskedSiloTest, SilosCheckJoinsThemselves) {
  const TravelingPlan driver = TravelingPlan::made(options_, FittedRows::kDim);
  const MaskedCoordinator coordinator = this->coordinator(driver);
  const std::vector<std::string> joins = this->joins(coordinator.invitation());
  const std::string honest = coordinator.request(first_of(driver), joins);
  // The deviating coordinator signs what it likes: a join is 100 bytes, behind session and step.
  const auto signed_with = [&](const std::function<void(std::string&)>& change) {
    std::string message = honest.substr(0, honest.size() - 64);
    change(message);
    const MaskedPlan own{driver, kText, roster_};
    std::string to_sign = "dpreduce masked request v1" + message.substr(0, 16) +
                          std::string(reinterpret_cast<const char*>(own.digest.data()), own.digest.size()) + message;
    const Signature signature = identity(0).sign(std::as_bytes(std::span(to_sign)));
    return message.append(reinterpret_cast<const char*>(signature.data()), signature.size());
  };
  EXPECT_EQ(answer(1, signed_with([](std::string&) {})), answer(1, honest));
  const std::string forged = signed_with([](std::string& message) { message[24 + 100 + 4] ^= 1; });
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, forged); }), HasSubstr("silo 2 (p2) is not signed by it"));
  const std::string without =
      signed_with([](std::string& message) { message.replace(24 + 100, 100, message, 24, 100); });
  EXPECT_THAT(refusal<AggregationAborted>([&] { answer(1, without); }), HasSubstr("lacks the join of silo 2"));
  const std::string cut = signed_with([](std::string& message) { message.resize(24 + 150); });
  EXPECT_NE(refusal<AggregationAborted>([&] { answer(1, cut); }), "");
  const std::string no_task = signed_with([](std::string& message) { message.resize(24 + 300); });
  EXPECT_NE(refusal<BadInput>([&] { answer(2, no_task); }), "");
}

TEST_F(MaskedSiloTest, PartiesMustBeOnTheRosterAndFitThePlan) {
  EXPECT_THAT(refusal<UsageError>([&] { MaskedSilo(plan(), identity(0), folder_ / "s"); }), HasSubstr("no silo"));
  EXPECT_THAT(refusal<UsageError>([&] { MaskedCoordinator(plan(), identity(1)); }), HasSubstr("roster's coordinator"));
  EXPECT_THAT(refusal<BadInput>([&] { MaskedSilo(plan(), identity(1), folder_ / "1.key"); }), HasSubstr("a folder"));
  roster_.dim = 7;
  EXPECT_THAT(refusal<BadInput>([&] { plan(); }), HasSubstr("6 features and 3 classes, the roster for 7 and 3"));
}

}  // namespace
}  // namespace dpreduce
