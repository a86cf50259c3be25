// What a fit will charge, and what its plan is bound to.

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/mechanism.hpp"
#include "tests/methods/good_fit.hpp"

namespace dpreduce::plan_fit_test {

constexpr std::size_t kDimOfPlan = 7;
constexpr std::uint64_t kPublicOfPlan = 50;

FitOptions options_of(const std::string& method) {
  FitOptions options;
  options.data.classes = 3;
  options.method.name = method;
  options.privacy.budget.mu = 1.0;
  return options;
}

FitOptions of_persons(FitOptions options, std::uint64_t rows_per_person) {
  options.data.train.person = {"p.npy"};
  options.data.rows_per_person = rows_per_person;
  return options;
}

FitPlan planned(const FitOptions& options) {
  const std::uint64_t public_rows = method_entry(options.method).chooses_public_rows ? kPublicOfPlan : 0;
  return make_fit_plan(resolved(options, kDimOfPlan, public_rows), kDimOfPlan, public_rows);
}

std::string plan_refusal(const FitOptions& options) {
  return dpreduce::refusal<UsageError>([&] { planned(options); });
}

// A person of B rows changes a utility, a count of rows, by B times as much as a row.
TEST(PlanFit, ASelectionIsAsSensitiveAsAPersonsRowsTogether) {
  FitOptions choice = options_of("ls");
  choice.method.shared_gram = true;
  choice.method.choose = true;
  FitOptions prototypes = options_of("public");
  for (const FitOptions& of_rows : {choice, prototypes}) {
    const PlannedSelection row = planned(of_rows).noise->selections.at(0);
    for (const std::uint64_t rows : {1ULL, 2ULL, 7ULL}) {
      SCOPED_TRACE(of_rows.method.name + " " + std::to_string(rows));
      const FitPlan plan = planned(of_persons(of_rows, rows));
      const PlannedSelection person = plan.noise->selections.at(0);
      EXPECT_EQ(person.terms.sensitivity, row.terms.sensitivity * rows);
      EXPECT_EQ((plan.choice ? plan.choice : plan.public_selection)->terms, person.terms);
      EXPECT_EQ(person.terms.epsilon, row.terms.epsilon) << "what is charged is what was asked for";
    }
  }
}

TEST(PlanFit, EveryReleaseIsOfSoManyRowsAPerson) {
  for (const std::string method : {"mean", "ls", "gd", "fc"}) {
    const FitPlan plan = planned(of_persons(options_of(method), 5));
    const FitPlan of_rows = planned(options_of(method));
    ASSERT_EQ(plan.requests.size(), of_rows.requests.size());
    for (std::size_t r = 0; r < plan.requests.size(); ++r) {
      EXPECT_EQ(plan.requests[r].rows_per_unit, 5U) << plan.requests[r].name;
      EXPECT_EQ(of_rows.requests[r].rows_per_unit, 1U) << plan.requests[r].name;
    }
  }
}

TEST(PlanFit, AChoiceAndTheReleasesBesideItTakeTheBudgetTogether) {
  FitOptions options = options_of("ls");
  options.method.shared_gram = true;
  options.method.choose = true;
  for (const double share : {0.02, 0.3, 0.9}) {
    options.method.choose_share = share;
    const FitPlan plan = planned(options);
    const double mu_of_choice = selection_mu(plan.choice->terms.epsilon);
    EXPECT_LE(mu_of_choice * mu_of_choice, share);
    EXPECT_NEAR(mu_of_choice * mu_of_choice, share, 1e-9);
    EXPECT_NEAR(plan.noise->mu * plan.noise->mu, 1.0 - share, 1e-9);
    EXPECT_LE(gdp_compose(std::array{mu_of_choice, plan.noise->mu}), 1.0);
    EXPECT_LE(plan.guarantee->mu, 1.0);
    EXPECT_EQ(plan.choice->terms.chosen, 1U);
  }
}

TEST(PlanFit, RowsOfOneFeatureMayNotBecomeSigns) {
  const std::vector<PreparationOptions> with_one{{.pool = kDimOfPlan}, {.pca = 1}, {.select = 1}};
  for (PreparationOptions rows : with_one) {
    FitOptions options = options_of("auto");
    options.rows = rows;
    EXPECT_THAT(plan_refusal(options), HasSubstr("--normalize l2 with rows of 1 feature(s)"));
    options.rows.normalize = Normalize::kNone;
    EXPECT_EQ(plan_refusal(options), "");
    options.method.name = "mean";
    EXPECT_THAT(plan_refusal(options), HasSubstr("--method mean with rows of 1 feature(s)"));
    options.method.metric = Metric::kEuclidean;
    EXPECT_EQ(plan_refusal(options), "");
  }
}

TEST(PlanFit, ASeedOrNoNoiseForfeitsPrivacy) {
  FitOptions options = options_of("mean");
  EXPECT_TRUE(planned(options).is_private);
  options.privacy.seed = 1;
  EXPECT_FALSE(planned(options).is_private);
  options.privacy = {.budget = kWithoutNoise};
  const FitPlan plan = planned(options);
  EXPECT_FALSE(plan.is_private);
  EXPECT_FALSE(plan.noise.has_value());
  EXPECT_FALSE(plan.guarantee.has_value());
}

TEST(PlanFit, TheBudgetOfADataSetIsPositive) {
  for (const auto& [epsilon, delta, message] : {std::tuple{0.0, 1e-6, "--budget-epsilon 0: must be greater than 0"},
                                                {-1.0, 1e-6, "--budget-epsilon -1: must be greater than 0"},
                                                {1.0, 0.0, "--budget-delta 0: must lie between 0 and 1"},
                                                {1.0, 1.0, "--budget-delta 1: must lie between 0 and 1"}}) {
    FitOptions options = options_of("mean");
    options.privacy.limit_epsilon = epsilon, options.privacy.limit_delta = delta;
    EXPECT_THAT(plan_refusal(options), HasSubstr(message));
  }
}

// Of the releases of a method those that are clipped; what counts rows is weighed.
TEST(PlanFit, EveryMethodTakesPersonsAndClipsTheSumsThatItCan) {
  const std::map<std::string_view, std::set<std::string>> clipped{{"mean", {"class_means"}},
                                                                  {"ls", {"class_least_squares"}},
                                                                  {"fc", {"gram", "gradient"}},
                                                                  {"fc-one-step", {"gram", "gradient"}},
                                                                  {"gd", {"gradient"}},
                                                                  {"adam", {"gradient"}},
                                                                  {"prototypes", {"class_means"}},
                                                                  {"fedavg", {"gradient"}}};
  for (const MethodEntry* const method : all_methods()) {
    SCOPED_TRACE(method->name);
    if (method->name == "auto") continue;  // it stands for others
    const FitOptions of_rows = options_of(std::string(method->name));
    std::set<std::string> names;
    for (const ReleaseRequest& request : planned(of_persons(of_rows, 2)).requests) {
      if (request.clips_units) names.insert(request.name);
    }
    EXPECT_EQ(names, clipped.contains(method->name) ? clipped.at(method->name) : std::set<std::string>{});
    EXPECT_FALSE(planned(of_rows).clips_units());
  }
  FitOptions prepared = options_of("newton");
  prepared.rows.center = Centering::kDp;
  prepared.rows.pca = 3;
  EXPECT_FALSE(planned(of_persons(prepared, 2)).request("center").clips_units);
  EXPECT_TRUE(planned(of_persons(prepared, 2)).request("pca").clips_units);
  FitOptions nearest = options_of("mean");
  nearest.method.metric = Metric::kEuclidean;
  EXPECT_FALSE(planned(of_persons(nearest, 2)).clips_units()) << "means are of sums and of counts";
  FitOptions weighted = options_of("gd");
  weighted.data.train.weight = {"w.npy"};
  weighted.data.weight_bound = 2.0;
  EXPECT_FALSE(planned(weighted).clips_units()) << "each row is a unit";
}

// Refits divide sums by sizes.
TEST(PlanFit, KeptSumsAreWeighedWhereTheirSizesAreKept) {
  FitOptions kept = of_persons(options_of("release"), 1);
  kept.statistics = {StatisticKind::kGram, StatisticKind::kClassSums};
  EXPECT_TRUE(planned(kept).clips_units());
  kept.statistics.push_back(StatisticKind::kClassSizes);
  EXPECT_FALSE(planned(kept).clips_units());
}

// Beside --memory: four copies of the largest release, of a Gram matrix six, and the projection as doubles, on the
// lattice and packed.
TEST(PlanFit, MemoryIsThatOfTheLargestReleaseAndOfTheProjection) {
  constexpr std::size_t kDim = 300;
  constexpr std::size_t kTriangle = kDim * (kDim + 1) / 2;
  FitOptions pca = options_of("mean");
  pca.rows.pca = 5;
  FitOptions public_pca = pca;  // of a sum that is not released
  public_pca.data.public_x = {"u.npy"};
  for (const auto& [options, words, projection] : {std::tuple{options_of("mean"), 4 * 3 * kDim, std::size_t{0}},
                                                   {options_of("gd"), 4 * 3 * (kDim + 1), 0},
                                                   {pca, 7 * kTriangle, 5 * kDim},
                                                   {public_pca, 7 * kTriangle, 5 * kDim},
                                                   {options_of("fc"), 7 * kTriangle, kDim * kDim}}) {
    SCOPED_TRACE(options.method.name);
    const FitOptions with_defaults = resolved(options, kDim);
    const FitPlan plan = make_fit_plan(with_defaults, kDim, 0);
    EXPECT_EQ(plan.memory_bytes - (with_defaults.machine.memory_mib.value() << 20), 8 * words + 12 * projection);
  }
}

// Resuming, traveling plans and silos go by this digest.
TEST(PlanFit, WhateverChangesTheModelChangesTheDigestOfItsConfiguration) {
  using Change = std::function<void(FitOptions&)>;
  const Change changes[] = {
      [](FitOptions&) {},
      [](FitOptions& options) { options.data.classes = 4; },
      [](FitOptions& options) { options.data.max_labels = 2; },
      [](FitOptions& options) { options.rows.clip_norm = 2.0; },
      [](FitOptions& options) { options.rows.normalize = Normalize::kNone; },
      [](FitOptions& options) { options.rows.center = Centering::kDp; },
      [](FitOptions& options) { options.rows.pca = 3; },
      [](FitOptions& options) { options.rows.select = 3; },
      [](FitOptions& options) { options.privacy.adjacency = Adjacency::kReplaceOne; },
      [](FitOptions& options) { options.data.train.bad_rows = BadRows::kZero; },
      [](FitOptions& options) { options.data.imbalance_ratio = 10.0; },
      [](FitOptions& options) { options.data.imbalance_ratio = 10.0, options.data.imbalance_seed = 99; },
      [](FitOptions& options) { options = of_persons(options, 1); },
      [](FitOptions& options) { options = of_persons(options, 2); },
      [](FitOptions& options) { options.method.objective = Objective::kBalanced; },
      [](FitOptions& options) { options.silos.silos_per_person = 2; },
      [](FitOptions& options) { options.method.name = "ls"; }};
  std::set<std::string> digests;
  for (const Change& change : changes) {
    FitOptions options = options_of("mean");
    change(options);
    EXPECT_TRUE(digests.insert(planned(options).config_digest).second) << "change " << digests.size();
  }
}

}  // namespace dpreduce::plan_fit_test
