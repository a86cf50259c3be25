// Numbers as targets, from rows to models: in memory, and in files.
#include "common/ledger/column_bins.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::targets_test {

using testing::DoubleNear;
using testing::Pointwise;

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
    options.privacy = {.budget = kWithoutNoise, .ledger = options.privacy.ledger};
    return options;
  }

  RowsInMemory rows(const std::vector<double>& targets, std::size_t count = 1) const {
    return {.train_x = rows_.features(), .train_y = array_view(targets, count)};
  }
  static FittedRun finished(const FitOptions& options, const RowsInMemory& rows, ReleaseWatcher watcher = {}) {
    return fitted_run(options, rows, Accounts::kLedger, {.watcher = std::move(watcher)});
  }
  static Classifier fitted(const FitOptions& options, const RowsInMemory& rows) {
    return finished(options, rows).classifier;
  }
  template <typename Refusal>
  static std::string refusal(const FitOptions& options, const RowsInMemory& rows) {
    return dpreduce::refusal<Refusal>([&] { finished(options, rows); });
  }
  // Share of the targets' variance that predictions leave.
  static double left(const Classifier& model, const std::vector<float>& x, const std::vector<double>& y) {
    return share_left(model, x, y, std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size()));
  }
  // The same by a fit of one target.
  double left_by(const FitOptions& options, const std::vector<double>& targets) {
    return left(fitted(options, rows(targets)), rows_.x, one_);
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
  EXPECT_THAT(model.predict_scores(rows_.x), Pointwise(DoubleNear(0.05), one_));
}

TEST_F(TargetsTest, EachOfSeveralTargetsHasItsOwnRangeAndIsPredicted) {
  FitOptions options = exact(options_of());
  options.data.target_range = {80.0, 120.0, 160.0, 240.0};
  EXPECT_THAT(fitted(options, rows(two_, 2)).predict_scores(rows_.x), Pointwise(DoubleNear(0.1), two_));
}

TEST_F(TargetsTest, NumbersBeyondTheirRangeCountAsTheNearestWithin) {
  std::vector<double> wild = one_;
  std::vector<double> held = one_;
  for (std::size_t row = 0; row < wild.size(); row += 100)
    std::tie(wild[row], held[row]) = row % 200 == 0 ? std::pair{1e300, 120.0} : std::pair{-1e9, 80.0};
  EXPECT_EQ(to_bytes(fitted(options_of(), rows(wild))), to_bytes(fitted(options_of(), rows(held))));
}

TEST_F(TargetsTest, NoiseLeavesMostOfALine) {
  FitOptions options = options_of();
  options.privacy.budget.mu = 8.0;
  EXPECT_LT(share_left(fitted(options, rows(one_)), rows_.x, one_, 103.0), 0.3);  // a seeded run
}

TEST_F(TargetsTest, RoundsOfClippedResidualsFindALineAndLeaveLessOfItToNoise) {
  EXPECT_LT(left_by(exact(options_of("fc")), one_), 1e-5);
  FitOptions options = options_of("fc");
  options.data.target_range = {-1000.0, 1200.0};  // far too wide
  options.privacy.budget.mu = 40.0;
  const double by_rounds = left_by(options, one_);
  options.method.name = "ls";
  EXPECT_LT(by_rounds, left_by(options, one_));
  EXPECT_LT(by_rounds, 0.5);
  options.method.name = "auto";
  EXPECT_EQ(left_by(options, one_), by_rounds) << "auto is fc";
}

// Few persons with 1 to 88 rows, of columns that are nearly sums of others. Their residuals are scaled down less than
// their squares: full steps go ten times too far, and round 3 leaves ten times the spread.
TEST_F(TargetsTest, RoundsOfPersonsWithManyRowsStayNearLeastSquares) {
  constexpr std::size_t kColumns = 12;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> x;
  std::vector<double> y;
  std::vector<std::int64_t> persons;
  for (std::int64_t person = 0; person < 60; ++person) {
    for (std::int64_t row = 0; row <= person * person / 40; ++row) {
      float sums[2] = {};
      for (std::size_t a = 0; a + 2 < kColumns; ++a) {
        x.push_back(0.2F * normal(engine));
        sums[a % 2] += x.back() / 3.0F;
      }
      for (const float sum : sums) x.push_back(sum + 0.004F * normal(engine));
      const auto first = x.end() - kColumns;
      y.push_back(100.0 + 20.0 * double{first[0]} - 15.0 * double{first[3]} + 5.0 * double{normal(engine)});
      persons.push_back(person);
    }
  }
  RowsInMemory rows{.train_x = array_view(x, kColumns), .train_y = array_view(y)};
  rows.train_person = array_view(persons);
  const double by_squares = left(fitted(exact(options_of("ls")), rows), x, y);
  EXPECT_LT(by_squares, 0.8);
  FitOptions options = options_of("fc");
  for (const std::uint64_t rounds : {3, 6}) {
    options.method.rounds = rounds;
    EXPECT_NEAR(left(fitted(exact(options), rows), x, y), by_squares, 0.01) << rounds;
  }
  options.privacy.budget.mu = 300.0;  // the same where noise is small
  EXPECT_NEAR(left(fitted(options, rows), x, y), by_squares, 0.05);
}

TEST_F(TargetsTest, FewRowsOfManyFeaturesThatShareAMeanAreShrunkTowardTheMeanOfTargets) {
  constexpr std::size_t kRows = 300;
  constexpr std::size_t kFeatures = 100;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> x;
  for (std::size_t entry = 0; entry < kRows * kFeatures; ++entry) x.push_back(0.08F + 0.03F * normal(engine));
  std::vector<double> y;
  for (std::size_t row = 0; row < kRows; ++row) y.push_back(110.0 + 2.0 * normal(engine));
  FitOptions options = options_of("ls");
  options.privacy.budget.mu = 0.5;
  for (const std::uint64_t seed : {1, 2, 3}) {
    options.privacy.seed = seed;
    const RowsInMemory rows{.train_x = array_view(x, kFeatures), .train_y = array_view(y)};
    EXPECT_LT(left(fitted(options, rows), x, y), 2.0) << seed;
  }
}

TEST_F(TargetsTest, RoundsAreAveragedSoThatMoreOfThemAddNoNoise) {
  FitOptions options = options_of("fc");
  options.privacy.budget.mu = 10.0;
  const auto left_after = [&](std::uint64_t rounds) {
    options.method.rounds = rounds;
    double sum = 0.0;
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      options.privacy.seed = seed;
      sum += left_by(options, one_);
    }
    return sum;
  };
  EXPECT_LT(left_after(60), 2.0 * left_after(2));  // the noise of one round of 60 has 30 times the variance
}

// Where rows and targets are about 0, a step leaves the slope a share q of what it lacked; the regression that rounds
// begin at is such a step with twice the ridge, which leaves 2 q / (1 + q). So q follows from least squares alone, and
// with it the average of all rounds but the first two.
TEST_F(TargetsTest, TheFirstTwoOfSeveralRoundsAreNotInTheAverage) {
  const std::vector<float> x{0.07F, -0.07F, 0.07F, -0.07F};
  const std::vector<double> y{110.0, 90.0, 110.0, 90.0};
  FitOptions options = exact(options_of());
  const auto share_of_slope = [&](const std::string& method, std::optional<std::uint64_t> rounds) {
    options.method.name = method;
    options.method.rounds = rounds;
    const Classifier model = fitted(options, {.train_x = array_view(x, 1), .train_y = array_view(y)});
    EXPECT_NEAR(model.parts().bias[0], 100.0, 1e-2);
    return model.parts().weights[0] / (10.0 / 0.07);
  };
  const double q = 1.0 - share_of_slope("ls", std::nullopt);
  ASSERT_GT(q, 0.2);
  ASSERT_LT(q, 0.8);
  const double first = 2.0 * q / (1.0 + q);
  EXPECT_NEAR(share_of_slope("fc", 1), 1.0 - first * q, 1e-3);
  EXPECT_NEAR(share_of_slope("fc", 2), 1.0 - first * std::pow(q, 2), 1e-3);
  EXPECT_NEAR(share_of_slope("fc", 3), 1.0 - first * std::pow(q, 3), 1e-3);
  EXPECT_NEAR(share_of_slope("fc", 4), 1.0 - first * (std::pow(q, 3) + std::pow(q, 4)) / 2.0, 1e-3);
}

TEST_F(TargetsTest, WithoutARangeOneIsFoundThatOneTargetInAHundredDoesNotWiden) {
  std::vector<double> wild = one_;
  for (std::size_t row = 0; row < wild.size(); row += 100) wild[row] *= 1000.0;
  for (const std::string method : {"ls", "fc"}) {
    FitOptions options = options_of(method);
    options.data.target_range.clear();
    options.privacy.budget.mu = 20.0;
    const double of_wild = left_by(options, wild);
    EXPECT_NEAR(of_wild, left_by(options, one_), 0.02) << method;
    EXPECT_LT(of_wild, 0.2) << method;
  }
}

TEST_F(TargetsTest, ColumnsAreScaledByTheirRangesBeforeARowIsMeasured) {
  FittedRows raw = rows_;
  FittedRows scaled = rows_;
  std::vector<double> ranges;
  for (std::size_t a = 0; a < kDim; ++a) {
    const double half = std::exp2(static_cast<double>(a));
    ranges.insert(ranges.end(), {5.0 - half, 5.0 + half});
    for (std::size_t row = 0; row < raw.y.size(); ++row) {
      raw.x[row * kDim + a] = static_cast<float>(5.0 + half * std::round(64.0 * double{raw.x[row * kDim + a]}) / 64.0);
      scaled.x[row * kDim + a] =
          static_cast<float>(std::clamp((double{raw.x[row * kDim + a]} - 5.0) / half, -1.0, 1.0));
    }
  }
  const RowsInMemory of_raw{.train_x = raw.features(), .train_y = array_view(one_)};
  const RowsInMemory of_scaled{.train_x = scaled.features(), .train_y = array_view(one_)};
  FitOptions options = options_of();
  const Classifier by_hand = fitted(options, of_scaled);
  options.rows.feature_range = ranges;
  const Classifier by_range = fitted(options, of_raw);
  EXPECT_EQ(by_range.parts().weights, by_hand.parts().weights);
  EXPECT_EQ(by_range.predict_scores(raw.x), by_hand.predict_scores(scaled.x));
  EXPECT_EQ(to_bytes(classifier_from_bytes(to_bytes(by_range), "model")), to_bytes(by_range));

  options.rows.feature_range.clear();
  options.rows.finds_ranges = FindRanges::kAlways;
  options.privacy.budget.mu = 100.0;
  const Classifier found = fitted(options, of_raw);
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_NEAR(found.parts().preprocessing.columns.center[a], 5.0, std::max(2.5, std::exp2(a))) << a;
    EXPECT_LT(found.parts().preprocessing.columns.scale[a], 10.0 + 2.0 * std::exp2(a)) << a;
  }
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
  EXPECT_EQ(to_bytes(fit(options, alone_).classifier), in_memory);
  EXPECT_EQ(to_bytes(classifier_from_bytes(in_memory, "model")), in_memory);
}

TEST_F(TargetsTest, PersonsAreHeldToTheirBound) {
  const std::vector<std::int64_t> persons(one_.size(), 5);  // all rows are one person's
  RowsInMemory of_one = rows(one_);
  of_one.train_person = array_view(persons);
  std::int64_t largest = 0;
  const FittedRun run = finished(options_of(), of_one, [&](const WatchedRelease& watched) {
    for (const std::int64_t value : watched.release.block("gram").values()) {
      largest = std::max(largest, std::abs(value));
    }
  });
  const double sigma = run.fit->plan().noise->releases.front().blocks.front().sigma;
  EXPECT_LT(static_cast<double>(largest), 32767.0 * 32767.0 + 6.0 * sigma);
}

// Of rows that have weights, residuals are counted in parts of a row. Rows that all count in full are clipped where
// rows without weights are: where few residuals are longer, as the plain regression leaves them.
TEST_F(TargetsTest, ResidualsOfWeighedRowsAreClippedWhereThoseOfWholeRowsAre) {
  const std::vector<float> whole(one_.size(), 1.0F);
  FitOptions options = options_of("fc");
  options.data.target_range = {-1000.0, 1200.0};  // residuals are small beside it
  options.privacy.budget.mu = 40.0;
  const auto bound_of = [&](const FitOptions& asked, const RowsInMemory& trained) {
    double bound = 0.0;
    finished(asked, trained, [&](const WatchedRelease& watched) {
      if (watched.name == "gradient") bound = std::get<GradientPoint>(watched.point).residual_norm;
    });
    return bound;
  };
  // So that one residual in twenty is beyond the bound: of residuals in one bin every rule says the same.
  std::vector<double> spread = one_;
  std::mt19937_64 random(5);
  std::normal_distribution<double> deviation(0.0, 60.0);
  for (double& target : spread) target += deviation(random);
  const double plain = bound_of(options, rows(spread));
  EXPECT_GT(plain, 0.0);
  EXPECT_LT(plain, 0.25) << "or there is nothing to compare";
  FitOptions weighed = options;
  weighed.data.weight_bound = 1.0;
  RowsInMemory with_weights = rows(spread);
  with_weights.train_weight = array_view(whole);
  EXPECT_EQ(bound_of(weighed, with_weights), plain);
}

// The rule: 2^-1.5, or the end of the bin behind which a twentieth of the rows is left, as far as that is seen by three
// standard deviations of the noised counts behind.
TEST_F(TargetsTest, ResidualsAreClippedWhereFewAreLongerAndAtTheUsualLengthWhereNoiseHidesThat) {
  FitOptions options = options_of("fc");
  std::set<double> bounds;
  for (const double mu : {0.05, 0.15, 1.0, 5.0, 30.0}) {
    options.privacy.budget.mu = mu;
    double bound = 0.0;
    std::vector<double> deviations(kResidualBins - 1);  // by how many there are more behind each bin than few
    finished(options, rows(one_), [&](const WatchedRelease& watched) {
      if (watched.name == "gradient") bound = std::get<GradientPoint>(watched.point).residual_norm;
      if (watched.name != "residual_sizes") return;
      const ReleasedBlock& sizes = watched.release.block("sizes");
      for (std::size_t bin = 0; bin < deviations.size(); ++bin) {
        const auto behind = sizes.values().subspan(bin + 1);
        const double beyond = std::accumulate(behind.begin(), behind.end(), -0.05 * 900.0);
        deviations[bin] = beyond / (sizes.sigma() * std::sqrt(behind.size()));
      }
    });
    std::size_t bin = 0;
    while (upper_edge_of_residual(bin) != bound) ASSERT_LT(++bin, kResidualBins);
    const std::size_t usual = 9;
    EXPECT_EQ(upper_edge_of_residual(usual), std::exp2(-1.5));
    // The number of rows is noised as well, so that a few deviations next to the bound are not told apart.
    if (bin < usual) {
      for (std::size_t other = bin; other < usual; ++other) EXPECT_LT(deviations[other], -2.0) << mu << " " << other;
    }
    if (bin > usual) {
      for (std::size_t other = usual; other < bin; ++other) EXPECT_GT(deviations[other], 2.0) << mu << " " << other;
    }
    if (bin > 0 && bin <= usual) {
      EXPECT_GT(deviations[bin - 1], -4.0) << mu;
    }
    if (bin >= usual && bin + 2 < kResidualBins) {
      EXPECT_LT(deviations[bin], 4.0) << mu;
    }
    if (mu == 0.05) {
      EXPECT_EQ(bin, usual) << "all is noise";
    }
    bounds.insert(bound);
  }
  EXPECT_GT(bounds.size(), 2U) << "or any rule would do";
}

TEST_F(TargetsTest, ATargetThatIsNotFiniteIsNamedWithItsRowAndValue) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> targets = one_;
    targets[17] = bad;
    EXPECT_THAT(refusal<BadInput>(options_of(), rows(targets)),
                AllOf(HasSubstr("row 17 has target "), HasSubstr("give a finite number")));
  }
}

TEST_F(TargetsTest, OptionsThatAreAboutClassesAndRangesThatDoNotFitAreRefused) {
  const std::vector<std::string> names{"a", "b"};
  const std::vector<double> of_one{0.0, 1.0};
  const std::vector<double> of_two{0.0, 1.0, 2.0, 3.0};
  const Spoils<FitOptions> spoils{
      {[](auto& fit) { fit.method.name = "mean"; }, "--targets goes with --method auto, ls or fc"},
      {[](auto& fit) { fit.data.classes = 3; }, "--targets with --classes"},
      {[&](auto& fit) { fit.data.train.class_names = names; }, "--targets with --class-names"},
      {[](auto& fit) { fit.data.max_labels = 1; }, "--targets with --max-labels"},
      {[](auto& fit) { fit.data.imbalance_ratio = 9; }, "--targets with --imbalance-ratio"},
      {[](auto& fit) { fit.rows.select = 3; }, "--targets with --select"},
      {[](auto& fit) { fit.method.shared_gram = true; }, "--targets with --shared-gram"},
      {[](auto& fit) { fit.method.choose = true; }, "--targets with --choose"},
      {[](auto& fit) { fit.data.target_range.assign(2, 1.0); }, "LO must be less than HI"},
      {[&](auto& fit) { fit.data.target_range = of_two; }, "4 numbers for 1 column(s)"},
      {[](auto& fit) { fit.data.train.has_targets = false, fit.data.target_range.clear(); }, "--classes 0"},
      {[](auto& fit) { fit.data.train.has_targets = false; }, "--target-range goes with --targets"},
      {[&](auto& fit) { fit.rows.feature_range = of_two; }, "--feature-range: 4 numbers for 6 column(s)"},
      {[&](auto& fit) { fit.rows.feature_range = of_one, fit.rows.pool = 2; }, "--feature-range with --pool"}};
  for (const auto& [spoil, message] : spoils) {
    FitOptions options = options_of();
    spoil(options);
    EXPECT_THAT(refusal<UsageError>(options, rows(one_)), HasSubstr(message));
  }
}

}  // namespace dpreduce::targets_test
