// Solutions of classes as rounds end: gathered, recorded, and taken again.
#include "run/class_solutions.hpp"

#include "common/base/error.hpp"
#include "run/release_log.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::class_solutions_test {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kWidth = 2;

const PlannedRelease kPlanned{.name = "class_least_squares", .rounds = 1, .blocks = {}, .profiles = {}, .mu = 1.0};

class ClassSolutionsTest : public testing::Test {
 protected:
  std::unique_ptr<ReleaseLog> log(LogStart start) const {
    auto log = std::make_unique<ReleaseLog>(folder_ / "run", start, 0.0);
    log->bind("0123456789abcdef0123456789abcdef", {{"method", "ls"}});
    return log;
  }

  ClassSolutions solutions(ReleaseLog* log, std::size_t width = kWidth) {
    return {alone_, kClasses, width, &kPlanned, log, log == nullptr ? 0 : log->recorded()};
  }

  Communicator alone_ = Communicator::alone();
  TemporaryFolder folder_;
};

TEST_F(ClassSolutionsTest, ARunThatGoesOnHasWhatWasRecordedAndWantsTheRest) {
  {
    const auto log = this->log(LogStart::kNewRun);
    ClassSolutions first = solutions(log.get());
    EXPECT_EQ(first.left_of({3, 1, 0, 2}), (std::vector<std::size_t>{3, 1, 0, 2}));
    first.add(3, {0.1, -0.0});
    first.end_round();
    first.end_round();  // of a rank that owns no class of the last round
    first.add(1, {1e-310, 7.0});
    first.end_round();
  }
  const auto log = this->log(LogStart::kResume);
  EXPECT_EQ(log->release_labels(), (std::vector<std::string>{"class_least_squares"})) << "one line in the ledger";
  ClassSolutions second = solutions(log.get());
  EXPECT_EQ(second.left_of({3, 1, 0, 2}), (std::vector<std::size_t>{0, 2}));
  second.add(0, {5.0, 6.0});
  second.end_round();
  EXPECT_EQ(second.take(), (std::vector<double>{5.0, 6.0, 1e-310, 7.0, 0.0, 0.0, 0.1, -0.0}));
  EXPECT_THROW(second.add(3, {1.0, 2.0}), std::logic_error) << "it is known";
}

TEST_F(ClassSolutionsTest, NothingIsRecordedWithoutALog) {
  ClassSolutions some(alone_, kClasses, kWidth, nullptr, nullptr, 0);
  some.add(2, {1.0, 2.0});
  some.end_round();
  EXPECT_EQ(some.take(), (std::vector<double>{0, 0, 0, 0, 1.0, 2.0, 0, 0}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  EXPECT_THROW(some.add(kClasses, {1.0, 2.0}), std::logic_error);
  EXPECT_THROW(some.add(0, {1.0}), std::logic_error);
}

TEST_F(ClassSolutionsTest, EntriesThatHoldSomethingElseAreDamage) {
  const std::vector<NamedIntegers> wrong{
      {{"classes", {0}}},
      {{"classes", {0}}, {"solutions", {1}}},
      {{"classes", {0, 0}}, {"solutions", {1, 2, 3, 4}}},
      {{"classes", {4}}, {"solutions", {1, 2}}},
      {{"classes", {-1}}, {"solutions", {1, 2}}},
  };
  for (std::size_t number = 0; number < wrong.size(); ++number) {
    std::filesystem::remove_all(folder_ / "run");
    {
      const auto log = this->log(LogStart::kNewRun);
      log->record_part(kPlanned, wrong[number]);
    }
    const auto log = this->log(LogStart::kResume);
    EXPECT_THROW(solutions(log.get()), BadInput) << number;
  }
}

TEST_F(ClassSolutionsTest, AnotherReleaseIsNoPart) {
  {
    const auto log = this->log(LogStart::kNewRun);
    log->record(PlannedRelease{.name = "center", .rounds = 1, .blocks = {}, .profiles = {}, .mu = 1.0}, Release({}));
  }
  const auto log = this->log(LogStart::kResume);
  EXPECT_THROW(solutions(log.get()), BadInput);
}

}  // namespace dpreduce::class_solutions_test
