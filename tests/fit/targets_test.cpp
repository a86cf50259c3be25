// Numbers as targets, from rows to models: in memory, and in files.
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "common/model/classifier_file.hpp"
#include "fit/fit.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/testing.hpp"

namespace dpreduce::targets_test {

constexpr std::size_t kDim = FittedRows::kDim;

// Rows in the unit ball, and numbers 100 + 20 x_0 - 10 x_1, with the second target twice the first.
class TargetsTest : public testing::Test {
 protected:
  TargetsTest() {
    for (std::size_t row = 0; row < rows_.y.size(); ++row) {
      for (std::size_t a = 0; a < kDim; ++a) rows_.x[row * kDim + a] *= 0.15F;
      const double y = 100.0 + 20.0 * double{rows_.x[row * kDim]} - 10.0 * double{rows_.x[row * kDim + 1]};
      one_.push_back(y);
      two_.insert(two_.end(), {y, 2.0 * y});
    }
  }

  FitOptions options_of(const std::string& method = "ls") const {
    FitOptions options = seeded_fit(method, folder_);
    options.data.classes = 0;
    options.data.train.has_targets = true;
    options.data.target_range = {80.0, 120.0};
    options.rows.normalize = Normalize::kNone;
    return options;
  }
  static FitOptions exact(FitOptions options) {
    options.privacy.budget = BudgetOptions{};
    options.privacy.budget.non_private = true;
    options.privacy.seed.reset();
    return options;
  }

  RowsInMemory rows(const std::vector<double>& targets, std::size_t count = 1) const {
    return {.train_x = rows_.features(), .train_y = array_view(targets, count)};
  }
  Classifier fitted(const FitOptions& options, const RowsInMemory& rows) {
    FittedRun run = fit(options, rows, alone_);
    run.finish();
    return run.classifier;
  }
  template <typename Refusal>
  std::string refusal(const FitOptions& options, const RowsInMemory& rows) {
    return dpreduce::refusal<Refusal>([&] { fit(options, rows, alone_); });
  }

  TemporaryFolder folder_;
  Communicator alone_ = Communicator::alone();
  FittedRows rows_{900, 1};
  std::vector<double> one_;
  std::vector<double> two_;
};

TEST_F(TargetsTest, WithoutNoiseALineIsFoundInUnitsOfTargets) {
  const Classifier model = fitted(exact(options_of()), rows(one_));
  ASSERT_TRUE(model.predicts_numbers());
  const std::vector<double> predicted = model.predict_scores(rows_.x);
  ASSERT_EQ(predicted.size(), one_.size());
  for (std::size_t row = 0; row < one_.size(); ++row) EXPECT_NEAR(predicted[row], one_[row], 0.05) << row;
}

TEST_F(TargetsTest, EachOfSeveralTargetsHasItsOwnRangeAndIsPredicted) {
  FitOptions options = exact(options_of());
  options.data.target_range = {80.0, 120.0, 160.0, 240.0};
  const std::vector<double> predicted = fitted(options, rows(two_, 2)).predict_scores(rows_.x);
  for (std::size_t place = 0; place < two_.size(); ++place) EXPECT_NEAR(predicted[place], two_[place], 0.1) << place;
}

TEST_F(TargetsTest, NumbersBeyondTheirRangeCountAsTheNearestWithin) {
  std::vector<double> wild = one_;
  std::vector<double> held = one_;
  for (std::size_t row = 0; row < wild.size(); row += 100) {
    wild[row] = row % 200 == 0 ? 1e300 : -1e9;
    held[row] = row % 200 == 0 ? 120.0 : 80.0;
  }
  EXPECT_EQ(to_bytes(fitted(options_of(), rows(wild))), to_bytes(fitted(options_of(), rows(held))));
}

TEST_F(TargetsTest, NoiseLeavesMostOfALine) {
  FitOptions options = options_of();
  options.privacy.budget.mu = 8.0;
  const std::vector<double> predicted = fitted(options, rows(one_)).predict_scores(rows_.x);
  double squares = 0.0;
  double spread = 0.0;
  for (std::size_t row = 0; row < one_.size(); ++row) {
    squares += std::pow(predicted[row] - one_[row], 2.0);
    spread += std::pow(one_[row] - 103.0, 2.0);
  }
  EXPECT_LT(squares, 0.3 * spread);  // a seeded run
}

TEST_F(TargetsTest, FilesAndIntegersGiveTheModelOfTheSameNumbersInMemory) {
  std::vector<double> whole;
  std::vector<std::int64_t> integers;
  for (const double y : one_) {
    integers.push_back(std::llround(y));
    whole.push_back(static_cast<double>(integers.back()));
  }
  FitOptions options = options_of();
  const std::vector<std::byte> in_memory = to_bytes(fitted(options, rows(whole)));
  options.data.train = rows_.write(folder_, "train");
  write_npy(options.data.train.y.front(), integers);
  options.data.train.has_targets = true;
  FittedRun run = fit(options, alone_);
  run.finish();
  EXPECT_EQ(to_bytes(run.classifier), in_memory);
  EXPECT_EQ(to_bytes(classifier_from_bytes(in_memory, "model")), in_memory);
}

TEST_F(TargetsTest, PersonsAreHeldToTheirBoundEitherWay) {
  const std::vector<std::int64_t> persons(one_.size(), 5);  // all rows are one person's
  for (const UnitBound bound : {UnitBound::kWeight, UnitBound::kClip}) {
    FitOptions options = options_of();
    options.data.unit_bound = bound;
    RowsInMemory of_one = rows(one_);
    of_one.train_person = array_view(persons);
    std::int64_t largest = 0;
    TrainingTerms terms;
    terms.watcher = [&](const WatchedRelease& watched) {
      for (const std::int64_t value : watched.release.block("gram").values()) {
        largest = std::max(largest, std::abs(value));
      }
    };
    FittedRun run = fit(options, of_one, alone_, Accounts::kLedger, std::move(terms));
    run.finish();
    const double sigma = run.fit->plan().noise->releases.front().blocks.front().sigma;
    EXPECT_LT(static_cast<double>(largest), 32767.0 * 32767.0 + 6.0 * sigma) << to_string(bound);
  }
}

TEST_F(TargetsTest, ATargetThatIsNotFiniteIsNamedWithItsRowAndValue) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> targets = one_;
    targets[17] = bad;
    EXPECT_THAT(refusal<BadInput>(options_of(), rows(targets)),
                AllOf(HasSubstr("row 17 has target "), HasSubstr("give a finite number")));
  }
}

TEST_F(TargetsTest, MethodsThatAreAboutClassesAreRefusedByName) {
  for (const std::string method : {"mean", "gd", "adam", "newton", "fisher", "fedavg"}) {
    EXPECT_THAT(refusal<UsageError>(options_of(method), rows(one_)), HasSubstr("--targets goes with --method ls"));
  }
}

TEST_F(TargetsTest, OptionsThatAreAboutClassesAreRefused) {
  const auto said = [&](const auto& change) {
    FitOptions options = options_of();
    change(options);
    return refusal<UsageError>(options, rows(one_));
  };
  EXPECT_THAT(said([](FitOptions& o) { o.data.classes = 3; }), HasSubstr("--targets with --classes"));
  EXPECT_THAT(said([](FitOptions& o) { o.data.max_labels = 1; }), HasSubstr("--targets with --max-labels"));
  EXPECT_THAT(said([](FitOptions& o) { o.data.imbalance_ratio = 9; }), HasSubstr("--targets with --imbalance-ratio"));
  EXPECT_THAT(said([](FitOptions& o) { o.rows.select = 3; }), HasSubstr("--targets with --select"));
  EXPECT_THAT(said([](FitOptions& o) { o.method.shared_gram = true; }), HasSubstr("--targets with --shared-gram"));
  EXPECT_THAT(said([](FitOptions& o) { o.method.choose = true; }), HasSubstr("--targets with --choose"));
  EXPECT_THAT(said([](FitOptions& o) { o.data.target_range = {1.0, 1.0}; }), HasSubstr("LO must be less than HI"));
  EXPECT_THAT(said([](FitOptions& o) { o.data.target_range = {1.0, 2.0, 3.0, 4.0}; }), HasSubstr("1 target(s)"));
  EXPECT_THAT(said([](FitOptions& o) { o.data.train.has_targets = false; }), HasSubstr("--classes 0"));
}

}  // namespace dpreduce::targets_test
