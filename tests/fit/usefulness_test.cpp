// Every option away from its default, alone and with every other: a fit stays useful, or is refused.
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::usefulness_test {

constexpr std::size_t kTrainingRows = 2400;
constexpr std::size_t kTestRows = 1000;

// Rows of K classes, the last of which are test rows.
struct LabeledSet {
  std::string name;
  std::size_t dim = 0;
  std::size_t classes = 0;
  bool has_common_mean = false;  // longer than what tells classes apart
  std::vector<float> x{};
  std::vector<std::int64_t> y{};
  std::vector<std::uint8_t> label_sets{};  // the same labels, n x K
  std::vector<std::int64_t> persons{};     // with two rows each
  double median_norm = 0.0;

  void add(std::size_t label, std::span<const double> row) {
    y.push_back(static_cast<std::int64_t>(label));
    x.insert(x.end(), row.begin(), row.end());
  }

  void finish() {
    std::vector<double> norms;
    for (std::size_t row = 0; row < y.size(); ++row) {
      double sum = 0.0;
      for (std::size_t a = 0; a < dim; ++a) sum += std::pow(x[row * dim + a], 2);
      norms.push_back(std::sqrt(sum));
      persons.push_back(static_cast<std::int64_t>(row / 2));
      for (std::size_t c = 0; c < classes; ++c) label_sets.push_back(c == static_cast<std::size_t>(y[row]) ? 1 : 0);
    }
    std::nth_element(norms.begin(), norms.begin() + norms.size() / 2, norms.end());
    median_norm = norms[norms.size() / 2];
  }

  std::span<const float> test_x() const { return std::span(x).subspan(kTrainingRows * dim); }
  std::span<const std::int64_t> test_y() const { return std::span(y).subspan(kTrainingRows); }
};

// Makes a set of rows C_label + noise, as `shaped` changes them.
template <typename Shape>
LabeledSet made_set(LabeledSet set, double distance, Shape&& shape) {
  const std::size_t dim = set.dim;
  const std::size_t classes = set.classes;
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  std::vector<double> centers(classes * dim);
  for (double& entry : centers) entry = distance * normal(engine);
  std::vector<double> row(dim);
  for (std::size_t i = 0; i < kTrainingRows + kTestRows; ++i) {
    const std::size_t label = engine() % classes;
    for (std::size_t a = 0; a < dim; ++a) row[a] = centers[label * dim + a] + normal(engine);
    shape(std::span(row), engine);
    set.add(label, row);
  }
  set.finish();
  return set;
}

const std::vector<LabeledSet>& sets() {
  static const std::vector<LabeledSet> all{
      made_set({.name = "clusters", .dim = 16, .classes = 4}, 0.8, [](std::span<double>, std::mt19937_64&) {}),
      // As features of a network: positive, about a large mean, of very different spread.
      made_set({.name = "positive", .dim = 16, .classes = 4, .has_common_mean = true}, 0.9,
               [](std::span<double> row, std::mt19937_64&) {
                 for (std::size_t a = 0; a < row.size(); ++a) {
                   row[a] = std::max(0.0, 6.0 + 2.0 * row[a] / std::sqrt(1.0 + static_cast<double>(a)));
                 }
               }),
      // A row's length says nothing.
      made_set({.name = "lengths", .dim = 8, .classes = 3}, 1.2, [](std::span<double> row, std::mt19937_64& engine) {
        const double length = std::exp(0.5 * std::normal_distribution<double>()(engine));
        for (double& entry : row) entry *= length;
      })};
  return all;
}

struct AskedFit : FitOptions {
  RowsInMemory given;
};

// An option away from its default.
struct Setting {
  std::string name;
  void (*apply)(AskedFit& fit, const LabeledSet& set);
  double loss = 0.0;                 // of accuracy, that lies in what was asked for; constants say why
  double loss_by_common_mean = 0.0;  // and where rows have a large mean in common

  double loss_on(const LabeledSet& set) const { return loss + (set.has_common_mean ? loss_by_common_mean : 0.0); }
};

void take_persons(AskedFit& fit, const LabeledSet& set, std::uint64_t rows) {
  fit.given.train_person = array_view(std::span(set.persons).first(kTrainingRows));
  fit.data.rows_per_person = rows;
}

void take_label_sets(AskedFit& fit, const LabeledSet& set, std::size_t most) {
  fit.given.train_y = array_view(std::span(set.label_sets).first(kTrainingRows * set.classes), set.classes);
  fit.data.max_labels = most;
}

void take_public_rows(AskedFit& fit, const LabeledSet& set) {
  fit.given.public_x = array_view(set.test_x(), set.dim);
}

// Half of the features of sets in which each has its share, or neighbors as different as any.
constexpr double kHalfTheFeatures = 0.15;
// One feature for three classes or four.
constexpr double kOneFeature = 0.7;
// Rows that have a large mean in common are nearly the same, and a fit with noise may not tell them apart.
constexpr double kCommonMean = 0.25;
// And descent at one pace along all directions is slowest there: over sixteen seeds `gd` came to 0.40 to 0.75, and
// `global-adapt` to 0.47 to 0.75, 0.6 in the mean. So it is the mean of some seeds that is compared.
constexpr double kCommonMeanAtOnePace = 0.15;
constexpr std::uint64_t kSeedsAtOnePace = 12;
// Centered rows are a quarter as long as C, to which l2 would scale them: noise is four times as large.
constexpr double kShortRows = 0.05;
// Less of a ridge than the noise asks for.
constexpr double kSmallRidge = 0.05;
// Descent has not arrived.
constexpr double kOneRound = 0.15;

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"--normalize none --clip MEDIAN",
       [](auto& fit, auto& set) { fit.rows.normalize = Normalize::kNone, fit.rows.clip_norm *= set.median_norm; }},
      {"--clip 0.25", [](auto& fit, auto&) { fit.rows.clip_norm *= 0.25; }},
      {"--center none", [](auto& fit, auto&) { fit.rows.center = Centering::kNone; }, 0.0, kCommonMean},
      {"--center moments", [](auto& fit, auto&) { fit.rows.center = Centering::kMoments; }, 0.0, kShortRows},
      {"--center public --public-x X",
       [](auto& fit, auto& set) { fit.rows.center = Centering::kPublic, take_public_rows(fit, set); }},
      {"--center-share 0.1", [](auto& fit, auto&) { fit.rows.center_share = 0.1; }},
      {"--pool 2", [](auto& fit, auto&) { fit.rows.pool = 2; }, kHalfTheFeatures},
      {"--pool d", [](auto& fit, auto& set) { fit.rows.pool = set.dim; }, kOneFeature},
      {"--pca d/2", [](auto& fit, auto& set) { fit.rows.pca = set.dim / 2; }, kHalfTheFeatures},
      {"--pca 1", [](auto& fit, auto&) { fit.rows.pca = 1; }, kOneFeature},
      {"--select d/2", [](auto& fit, auto& set) { fit.rows.select = set.dim / 2; }, kHalfTheFeatures},
      {"--select 1", [](auto& fit, auto&) { fit.rows.select = 1; }, kOneFeature},
      {"--select d/2 --select-by t",
       [](auto& fit, auto& set) { fit.rows.select = set.dim / 2, fit.rows.select_by = SelectBy::kT; },
       kHalfTheFeatures},
      {"--gram-share 0.3", [](auto& fit, auto&) { fit.method.gram_share = 0.3; }},
      {"--loss sigmoid", [](auto& fit, auto&) { fit.method.loss = Loss::kSigmoid; }},
      {"--loss square", [](auto& fit, auto&) { fit.method.loss = Loss::kSquare; }},
      {"--iterate average", [](auto& fit, auto&) { fit.method.iterate = Iterate::kAverage; }},
      {"--rounds 1", [](auto& fit, auto&) { fit.method.rounds = 1; }, kOneRound},
      {"--rounds 40", [](auto& fit, auto&) { fit.method.rounds = 40; }},
      {"--batch 0.1",
       [](auto& fit, auto&) { fit.method.batch = 0.1, fit.privacy.budget.accountant = Accountant::kRdp; }},
      {"--warm-start", [](auto& fit, auto&) { fit.method.warm_start = true; }},
      {"--choose", [](auto& fit, auto&) { fit.method.choose = true; }},
      {"--choose --validation-x X",
       [](auto& fit, auto& set) {
         fit.method.choose = true;
         fit.given.validation_x = array_view(set.test_x(), set.dim), fit.given.validation_y = array_view(set.test_y());
       }},
      {"--objective balanced", [](auto& fit, auto&) { fit.method.objective = Objective::kBalanced; }},
      {"--objective balanced --public-x X",
       [](auto& fit, auto& set) { fit.method.objective = Objective::kBalanced, take_public_rows(fit, set); }},
      {"--metric euclidean", [](auto& fit, auto&) { fit.method.metric = Metric::kEuclidean; }},
      {"--top-k 5", [](auto& fit, auto&) { fit.method.top_k = 5; }},
      {"--d-min 1", [](auto& fit, auto&) { fit.method.d_min = 1.0; }},
      {"--auto --expected-rows N",
       [](auto& fit, auto&) { fit.method.adaptive = true, fit.method.expected_rows = kTrainingRows; }},
      {"--shared-gram", [](auto& fit, auto&) { fit.method.shared_gram = true; }},
      {"--alpha 0.1", [](auto& fit, auto&) { fit.method.alpha = 0.1; }},
      {"--lambda C^2", [](auto& fit, auto&) { fit.method.lambda = std::pow(fit.rows.clip_norm, 2); }, 0.0, kSmallRidge},
      {"--radius 100", [](auto& fit, auto&) { fit.method.radius = 100.0; }},
      {"--local-steps 2", [](auto& fit, auto&) { fit.method.local_steps = 2; }},
      {"--rows-per-person 1", [](auto& fit, auto& set) { take_persons(fit, set, 1); }},
      {"--rows-per-person 2", [](auto& fit, auto& set) { take_persons(fit, set, 2); }},
      {"--max-labels 1", [](auto& fit, auto& set) { take_label_sets(fit, set, 1); }},
      {"--max-labels 2", [](auto& fit, auto& set) { take_label_sets(fit, set, 2); }},
      {"--non-private", [](auto& fit, auto&) { fit.privacy.budget = kWithoutNoise, fit.privacy.seed.reset(); }},
      {"--adjacency replace-one", [](auto& fit, auto&) { fit.privacy.adjacency = Adjacency::kReplaceOne; }},
  };
  return all;
}

AskedFit default_fit(const LabeledSet& set, const MethodEntry& method) {
  AskedFit fit;
  fit.data.classes = set.classes;
  fit.method.name = method.name;
  fit.privacy = {.budget = {{.epsilon = 8.0, .delta = 1e-5}}, .seed = 7};
  fit.machine.threads = 1;
  fit.given = first_rows(kTrainingRows, set.x, set.dim, set.y);
  if (method.name == "auto") return fit;
  // As `auto` does: rows that have a large mean in common are nearly the same to who does not center.
  fit.rows.center = method.chooses_public_rows ? Centering::kPublic : Centering::kDp;
  if (method.chooses_public_rows) take_public_rows(fit, set);
  constexpr std::uint64_t kRounds = 30;  // of hundreds, as this is to take seconds
  if (method.takes_option("--learning-rate") || method.name == "global-adapt") fit.method.rounds = kRounds;
  return fit;
}

double accuracy(const AskedFit& asked, const LabeledSet& set, std::string* setting = nullptr) {
  const FittedRun run = fitted_run(asked, asked.given);
  if (setting != nullptr) *setting = run.chosen_setting;
  return accuracy_of(run.classifier, set.test_x(), set.test_y());
}

// Fits a method on one set with its default, which is to be useful, and with settings.
class Fits {
 public:
  Fits(const LabeledSet& set, const MethodEntry& method)
      : set_(set), method_(method), usual_(accuracy(default_fit(set, method), set)) {
    EXPECT_GT(usual_, kUseful) << set.name << ", --method " << method.name;
  }

  // Expects it to be about as useful with these, or refused. `beside` is set first, at no loss. With several seeds, in
  // the mean over them.
  void expect_useful(const Setting& first, const Setting* second = nullptr, const Setting* beside = nullptr,
                     std::uint64_t seeds = 1) {
    AskedFit asked = default_fit(set_, method_);
    if (beside != nullptr) beside->apply(asked, set_);
    first.apply(asked, set_);
    if (second != nullptr) second->apply(asked, set_);
    const double loss = first.loss_on(set_) + (second == nullptr ? 0.0 : second->loss_on(set_));
    double found = 0.0;
    try {
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        if (seed > 0) asked.privacy.seed = seed;
        found += accuracy(asked, set_) / static_cast<double>(seeds);
      }
    } catch (const UsageError&) {
      return;
    }
    ++fitted_;
    EXPECT_GE(found, usual_ - kBand - loss)
        << set_.name << ", --method " << method_.name << " " << first.name << " "
        << (second == nullptr ? "" : second->name) << (beside == nullptr ? "" : " " + beside->name) << ": " << found
        << ", by default " << usual_;
  }

  std::size_t fitted() const { return fitted_; }

 private:
  static constexpr double kUseful = 0.8;
  static constexpr double kBand = 0.03;  // three standard errors of the test rows

  const LabeledSet& set_;
  const MethodEntry& method_;
  double usual_;
  std::size_t fitted_ = 0;
};

class UsefulnessOfSet : public testing::TestWithParam<std::size_t> {
 protected:
  const LabeledSet& set() const { return sets()[GetParam()]; }
};

TEST_P(UsefulnessOfSet, AutoStaysUsefulWithAnyTwoOptions) {
  Fits fits(set(), *find_method("auto"));
  for (std::size_t first = 0; first < settings().size(); ++first) {
    fits.expect_useful(settings()[first]);
    for (std::size_t second = first + 1; second < settings().size(); ++second) {
      fits.expect_useful(settings()[first], &settings()[second]);
    }
  }
  EXPECT_GT(fits.fitted(), 300U);
}

// Noise shortens steps, and hides those that are too long.
TEST_P(UsefulnessOfSet, AutoStaysUsefulWithoutNoiseWhereRowsAreNotScaled) {
  Fits fits(set(), *find_method("auto"));
  const auto named = [](std::string_view name) {
    return &*std::find_if(settings().begin(), settings().end(), [&](const Setting& one) { return one.name == name; });
  };
  // Rows that are longer than C are clipped before they are centered: that takes of their direction about the mean.
  Setting without_noise = *named("--non-private");
  without_noise.loss_by_common_mean = 0.05;
  for (const Setting& setting : settings()) {
    fits.expect_useful(setting, &without_noise, named("--normalize none --clip MEDIAN"));
  }
  EXPECT_GT(fits.fitted(), 15U);
}

TEST_P(UsefulnessOfSet, EveryMethodStaysUsefulWithAnyOption) {
  for (const MethodEntry* method : all_methods()) {
    Fits fits(set(), *method);
    for (Setting setting : settings()) {
      const bool has_one_pace =
          (method->name == "gd" || method->name == "global-adapt") && setting.name == "--center none";
      if (has_one_pace) setting.loss_by_common_mean += kCommonMeanAtOnePace;
      fits.expect_useful(setting, nullptr, nullptr, has_one_pace ? kSeedsAtOnePace : 1);
    }
    EXPECT_GT(fits.fitted(), 8U) << method->name;
  }
}

// By a method at epsilon 1, under five seeds; sorted.
std::vector<double> accuracies_of_five(const LabeledSet& set, const char* method, std::string* setting = nullptr,
                                       std::span<const float> public_rows = {}) {
  AskedFit asked = default_fit(set, *find_method(method));
  asked.privacy.budget.epsilon = 1.0;
  if (!public_rows.empty()) asked.given.public_x = array_view(public_rows, set.dim);
  std::vector<double> accuracies;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    asked.privacy.seed = seed;
    accuracies.push_back(accuracy(asked, set, setting));
  }
  std::ranges::sort(accuracies);
  return accuracies;
}

// Clusters that spread evenly, where noise of rounds would cost much, and the same with three directions far longer.
TEST(UsefulnessTest, AutoTrainsByClassMeansWhereRowsSpreadEvenlyAndByRoundsWhereNot) {
  constexpr std::size_t kDim = 256;
  const LabeledSet even =
      made_set({.name = "even", .dim = kDim, .classes = 16}, 0.35, [](std::span<double>, std::mt19937_64&) {});
  const LabeledSet uneven = made_set({.name = "uneven", .dim = kDim, .classes = 16}, 0.35,
                                     [](std::span<double> row, std::mt19937_64& engine) {
                                       std::normal_distribution<double> normal(0.0, 30.0);
                                       for (std::size_t a = 0; a < 3; ++a) row[a] += normal(engine);
                                     });
  std::string setting;
  const double rounds = accuracies_of_five(even, "fc", &setting)[2];
  EXPECT_EQ(setting, "");
  // Means of ten seeds are 0.905 and 0.874; rounds whose residuals were clipped to 1 came to 0.816.
  EXPECT_GT(accuracies_of_five(even, "auto", &setting)[2], rounds + 0.012);
  EXPECT_EQ(setting, "class means");
  const double rounds_of_uneven = accuracies_of_five(uneven, "fc", &setting)[2];
  EXPECT_NEAR(accuracies_of_five(uneven, "auto", &setting)[2], rounds_of_uneven, 0.03);
  EXPECT_EQ(setting, "rounds");
}

// Rows that are far longer in ten directions than along what tells classes apart, whitened about public rows that are
// of their kind and about some that are long in one other direction.
TEST(UsefulnessTest, PublicRowsOfEitherKindKeepFcUseful) {
  const LabeledSet set =
      made_set({.name = "long", .dim = 128, .classes = 3}, 0.35, [](std::span<double> row, std::mt19937_64& engine) {
        std::normal_distribution<double> normal(0.0, 4.0);
        for (std::size_t a = 0; a < 10; ++a) row[a] += normal(engine);
      });
  std::vector<float> others(set.test_x().begin(), set.test_x().end());
  for (std::size_t row = 0; row < others.size() / set.dim; ++row) others[row * set.dim + 20] *= 10.0F;
  const auto mean_accuracy = [&](std::span<const float> public_rows) {
    const std::vector<double> all = accuracies_of_five(set, "fc", nullptr, public_rows);
    return std::accumulate(all.begin(), all.end(), 0.0) / 5.0;
  };
  const double without = mean_accuracy({});
  EXPECT_GT(without, 0.9);
  EXPECT_GT(mean_accuracy(set.test_x()), without - 0.03);
  EXPECT_GT(mean_accuracy(others), without - 0.03);
}

// What l2 is refused for (PlanFit.RowsOfOneFeatureMayNotBecomeSigns), the other way serves.
TEST(UsefulnessTest, OneFeatureTellsClassesApartByItsSize) {
  LabeledSet set{.name = "sizes", .dim = 1, .classes = 3};
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < kTrainingRows + kTestRows; ++i) {
    const std::size_t label = engine() % set.classes;
    const double size = 2.0 + 2.0 * static_cast<double>(label) + 0.4 * normal(engine);
    set.add(label, std::span(&size, 1));
  }
  set.finish();
  for (const MethodEntry* method : all_methods()) {
    // Public rows are chosen by cosines, and one step of squares leaves the middle class no size where it is largest.
    if (method->chooses_public_rows || method->name == "fc-one-step") continue;
    const bool has_only_signs = method->name == "ls" || method->name == "coinpress";
    AskedFit asked = default_fit(set, *method);
    asked.rows.normalize = Normalize::kNone;
    asked.rows.clip_norm = 6.0;
    if (method->takes_option("--metric")) asked.method.metric = Metric::kEuclidean;
    if (has_only_signs) {
      expect_refusal<UsageError>([&] { accuracy(asked, set); }, {"rows of 1 feature(s): its scores have no intercept"});
      continue;
    }
    EXPECT_GT(accuracy(asked, set), 0.9) << method->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, UsefulnessOfSet, testing::Values(0, 1, 2),
                         [](const auto& of) { return sets()[of.param].name; });

}  // namespace dpreduce::usefulness_test
