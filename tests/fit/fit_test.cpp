#include "fit/fit.hpp"

#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::fit_test {

class FitTest : public testing::Test {
 protected:
  FitOptions options_of(const std::string& method) const { return seeded_fit(method, folder_); }

  // What a fit on these rows is refused with; empty where it is not.
  template <typename Refusal>
  std::string refusal(const FitOptions& options, const RowsInMemory& rows, Accounts accounts = Accounts::kLedger) {
    return dpreduce::refusal<Refusal>([&] { fit(options, rows, alone_, accounts); });
  }

  bool has_run_file() const {
    return std::ranges::any_of(folder_.names(), [](const std::string& name) { return name.ends_with(".releases"); });
  }

  TemporaryFolder folder_;
  Communicator alone_ = Communicator::alone();
  FittedRows rows_{90, 1};
  FittedRows other_rows_{30, 2};
};

class FitByMethod : public FitTest, public testing::WithParamInterface<std::string> {};

TEST_P(FitByMethod, ArraysInMemoryGiveTheModelOfTheSameRowsInFiles) {
  FitOptions options = options_of(GetParam());
  if (GetParam() == "gd" || GetParam() == "auto") options.method.rounds = 3;
  RowsInMemory rows = rows_.all();
  use_others(options, rows, other_rows_);
  FitOptions on_files = options;
  on_files.data.train = rows_.write(folder_, "train");
  const RowFiles other = other_rows_.write(folder_, "other");
  if (rows.public_x) on_files.data.public_x = other.x;
  if (rows.validation_x) on_files.data.validation = other;
  const FittedRun in_memory = fitted_run(options, rows, Accounts::kLedger);
  FittedRun in_files = fit(on_files, alone_);
  in_files.finish();
  EXPECT_EQ(to_bytes(in_memory.classifier), to_bytes(in_files.classifier));
  EXPECT_EQ(in_memory.chosen_setting, in_files.chosen_setting);
  EXPECT_EQ(in_memory.chosen_public_rows.has_value(), GetParam() == "public");
  EXPECT_EQ(in_memory.fit->plan().config_digest, in_files.fit->plan().config_digest);
}

INSTANTIATE_TEST_SUITE_P(Methods, FitByMethod, testing::Values("mean", "ls", "gd", "auto", "public"),
                         [](const auto& of) { return of.param; });

TEST_F(FitTest, DoublesThatAreFloatsGiveTheSameModel) {
  const std::vector<double> doubles(rows_.x.begin(), rows_.x.end());
  const std::vector<std::uint8_t> labels(rows_.y.begin(), rows_.y.end());
  const FittedRun of_doubles =
      fit(options_of("mean"), {.train_x = array_view(doubles, 6), .train_y = array_view(labels)}, alone_);
  const FittedRun of_floats = fit(options_of("mean"), rows_.all(), alone_);
  EXPECT_EQ(to_bytes(of_doubles.classifier), to_bytes(of_floats.classifier));
}

TEST_F(FitTest, ZerosAndOnesAreRowsOfSeveralClasses) {
  std::vector<std::uint8_t> sets(rows_.y.size() * 3, 0);
  for (std::size_t row = 0; row < rows_.y.size(); ++row) sets[3 * row + row % 3] = 1;
  FitOptions options = options_of("mean");
  const RowsInMemory rows{.train_x = rows_.features(), .train_y = array_view(sets, 3)};
  EXPECT_THAT(refusal<UsageError>(options, rows), HasSubstr("give the largest number per row with --max-labels"));
  options.data.max_labels = 2;
  EXPECT_EQ(fit(options, rows, alone_).classifier.classes(), 3U);
}

TEST_F(FitTest, APrivateFitChargesItsLedgerAndItsFileGoesWhenItIsFinished) {
  FitOptions options = options_of("mean");
  options.privacy.seed.reset();
  FittedRun run = fit(options, rows_.all(), alone_);
  EXPECT_TRUE(has_run_file());
  ASSERT_TRUE(run.classifier.parts().privacy.has_value());
  EXPECT_NEAR(run.classifier.parts().privacy->mu.value(), 2.0, 1e-12);
  run.finish();
  EXPECT_FALSE(has_run_file());
  const LedgerState ledger = Ledger::read(options.privacy.ledger);
  ASSERT_EQ(ledger.charges().size(), run.fit->plan().noise->releases.size());
  EXPECT_TRUE(ledger.charges().front().entry.terms.is_private);
  EXPECT_TRUE(ledger.open_runs().empty());
  const std::string bytes = read_bytes(options.privacy.ledger);
  run.finish();
  EXPECT_EQ(read_bytes(options.privacy.ledger), bytes) << "finishing twice is finishing once";
}

TEST_F(FitTest, ARunThatIsNotFinishedKeepsItsFile) {
  FitOptions options = options_of("mean");
  fit(options, rows_.all(), alone_);
  EXPECT_FALSE(has_run_file()) << "with a seed it has nothing that a run could go on with";
  options.privacy.seed.reset();
  fit(options, rows_.all(), alone_);
  EXPECT_TRUE(has_run_file());
}

TEST_F(FitTest, AnOnlookerSeesThePassesAndCanEndTheFit) {
  FitOptions options = options_of("gd");
  options.privacy.seed.reset();
  options.method.rounds = 3;
  std::vector<std::string> passes;
  double share = 0.0;
  const ProgressOf look = [&](std::string_view pass) -> OnChunk {
    passes.emplace_back(pass);
    return [&](double done) { share = done; };
  };
  fit(options, rows_.all(), alone_, Accounts::kLedger, {.progress = look}).finish();
  EXPECT_GE(passes.size(), 3U);
  EXPECT_EQ(share, 1.0);

  struct Signal {};  // as a binding throws what its language has raised
  std::size_t seen = 0;
  const ProgressOf end_in_the_second = [&](std::string_view) -> OnChunk {
    ++seen;
    return [&](double) {
      if (seen == 2) throw Signal();
    };
  };
  EXPECT_THROW(fit(options, rows_.all(), alone_, Accounts::kLedger, {.progress = end_in_the_second}), Signal);
  EXPECT_TRUE(Ledger::read(options.privacy.ledger).open_runs().empty());  // what was not charged is given back
}

TEST_F(FitTest, ALimitOfTheDataSetIsKept) {
  FitOptions options = options_of("mean");
  options.privacy.seed.reset();
  options.privacy.limit_epsilon = 0.1, options.privacy.limit_delta = 1e-6;
  EXPECT_NE(refusal<BudgetRefused>(options, rows_.all()), "");
}

TEST_F(FitTest, AnAccountThatIsKeptElsewhereLeavesNoFile) {
  FitOptions options = options_of("mean");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  options.privacy.ledger.clear();
  const FittedRun run = fitted_run(options, rows_.all());
  std::filesystem::current_path(before);
  EXPECT_THAT(folder_.names(), IsEmpty());
  EXPECT_EQ(run.fit->plan().noise->releases.size(), 1U);
}

TEST_F(FitTest, WithoutNoiseNoLedgerIsNeeded) {
  FitOptions options = options_of("mean");
  options.privacy = {.budget = kWithoutNoise, .ledger = ""};
  const FittedRun run = fitted_run(options, rows_.all(), Accounts::kLedger);
  EXPECT_FALSE(run.classifier.parts().privacy.has_value());
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(FitTest, OptionsThatDoNotGoWithAFitInMemoryAreRefused) {
  struct Refused {
    std::function<void(FitOptions&)> change;
    std::string message;
    Accounts accounts = Accounts::kLedger;
  };
  const std::vector<Refused> all{
      {[](auto& fit) { fit.privacy.ledger.clear(); }, "--ledger: a file name is needed"},
      {[](auto& fit) { fit.privacy.limit_epsilon = 1.0, fit.privacy.limit_delta = 1e-6; }, "--budget-epsilon",
       Accounts::kElsewhere},
      {[](auto& fit) { fit.privacy.resume = true; }, "--resume", Accounts::kElsewhere},
      {[](auto& fit) { fit.output.dry_run = true; }, "--dry-run: construct a ResolvedFit"},
      {[](auto& fit) { fit.silos.secure_aggregation = true; }, "--secure-aggregation"},
      {[](auto& fit) { fit.data.train.x.assign(1, "x.npy"); }, "--train-x x.npy: rows are given in memory"},
      {[](auto& fit) { fit.rows.center = Centering::kPublic; }, "--center public goes with --public-x"}};
  for (const auto& [change, message, accounts] : all) {
    FitOptions options = options_of("mean");
    change(options);
    EXPECT_THAT(refusal<UsageError>(options, rows_.all(), accounts), HasSubstr(message));
  }
}

TEST_F(FitTest, RowsAreInMemoryOrInFiles) {
  FitOptions options = options_of("mean");
  EXPECT_THROW(fit(options, alone_), UsageError);
  options.data.train.x = rows_.write(folder_, "train").x;
  EXPECT_THROW(fit(options, alone_), UsageError) << "features without labels";
}

TEST_F(FitTest, RowsThatDoNotFitAreRefused) {
  const FitOptions options = options_of("mean");
  RowsInMemory rows = rows_.all();
  rows.train_y = other_rows_.labels();
  EXPECT_THAT(refusal<BadInput>(options, rows),
              HasSubstr("have 90 rows but labels (training labels in memory) have 30"));
  rows = rows_.all();
  rows.train_y = array_view(std::span(rows_.x).first(90));
  EXPECT_THAT(refusal<BadInput>(options, rows), HasSubstr("training labels in memory: labels are float32"));
  rows = rows_.all();
  rows.public_x = array_view(other_rows_.x, 5);
  EXPECT_THAT(refusal<BadInput>(options_of("public"), rows),
              HasSubstr("rows have 5 features, but training rows have 6"));
}

TEST_F(FitTest, TrainingRowsInMemoryAreNoPublicOnes) {
  const FittedRows copy{90, 1};
  for (const char* method : {"public", "mean"}) {
    FitOptions options = options_of(method);
    if (options.method.name == "mean") options.rows.center = Centering::kPublic;
    RowsInMemory rows = rows_.all();
    for (const ArrayView& same : {rows_.features(), rows_.part(50, 60).train_x, copy.features()}) {
      rows.public_x = same;
      EXPECT_THAT(refusal<BadInput>(options, rows), HasSubstr("training rows are private, but public rows are used"));
    }
    rows.public_x = other_rows_.features();
    EXPECT_EQ(refusal<BadInput>(options, rows), "");
  }
  FitOptions options = options_of("ls");
  options.method.choose = true;
  RowsInMemory rows = rows_.all();
  rows.validation_x = other_rows_.features();
  rows.validation_y = rows_.part(0, 30).train_y;
  EXPECT_THAT(refusal<BadInput>(options, rows), HasSubstr("--validation-y validation labels in memory and --train-y"));
}

}  // namespace dpreduce::fit_test
