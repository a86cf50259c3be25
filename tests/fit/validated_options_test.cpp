#include "methods/fit_table.hpp"
#include "tests/methods/good_fit.hpp"

namespace dpreduce::validated_options_test {

void among_silos(FitOptions& fit) {
  fit.silos.secure_aggregation = true;
  fit.data.train = {.x = {"x{rank}.npy"}, .y = {"y{rank}.npy"}};
}
void with_limit(FitOptions& fit) {
  fit.privacy.limit_epsilon = 2.0, fit.privacy.limit_delta = 1e-6;
}

// What is wrong only together: the method, the changes that are made of a good fit by it, what is said of them.
struct Contradiction {
  const char* method;
  std::function<void(FitOptions&)> change;
  const char* message;
};

void expect_refused(const std::vector<Contradiction>& contradictions, bool are_among_silos) {
  for (const auto& [method, change, message] : contradictions) {
    FitOptions fit = good_fit(method);
    if (are_among_silos) among_silos(fit);
    change(fit);
    EXPECT_THAT(refusal(fit), HasSubstr(message));
  }
}

TEST(FitOptions, ContradictionsAreRefused) {
  const RowFiles validation{.x = {"v.npy"}, .y = {"w.npy"}};
  expect_refused(
      {{"mean", [](auto& fit) { fit.rows.center = Centering::kPublic; }, "--center public goes with --public-x"},
       {"mean", [](auto& fit) { fit.data.public_x = {"p.npy"}; },
        "--public-x goes with --center public or --pca or --objective balanced or --method auto or public or fc or"},
       {"fc", [](auto& fit) { fit.data.public_x = {"p.npy"}, fit.data.train.has_targets = true, fit.data.classes = 0; },
        "--public-x with --targets goes with --center public or --pca"},
       {"mean", [](auto& fit) { fit.data.public_x = {"p.npy"}, fit.rows.pca = 2, fit.rows.pca_share = 0.1; },
        "--pca-share with --public-x"},
       {"fc", [&](auto& fit) { fit.data.validation = validation; }, "--validation-x goes with --choose"},
       {"fc",
        [&](auto& fit) { fit.data.validation = validation, fit.method.choose = true, fit.method.choose_share = .1; },
        "public rows cost nothing"},
       {"gd",
        [](auto& fit) {
          fit.method.batch = 0.1, fit.method.choose = true, fit.privacy.budget.accountant = Accountant::kPld;
        },
        "rounds on samples have no mu"},
       {"gd",
        [](auto& fit) {
          fit.method.batch = 0.1, fit.privacy.adjacency = Adjacency::kReplaceOne;
          fit.privacy.budget.accountant = Accountant::kRdp;
        },
        "--batch and --adjacency replace-one with --accountant rdp: it has no useful bound for a replaced record"},
       {"fc", [](auto& fit) { fit.method.isotropy_share = 0.03, fit.rows.center = Centering::kNone; },
        "--isotropy-share goes with --center dp or public or --method auto: class means are compared about the mean"},
       {"auto", [](auto& fit) { fit.method.isotropy_share = 0.03, fit.rows.center = Centering::kNone; },
        "--isotropy-share with --center none: class means are compared about the mean of all rows"},
       {"adam", [](auto& fit) { fit.method.batch = 0.1, fit.privacy.budget = {{.mu = 1.0}}; }, "samples have no mu"},
       {"gd", [](auto& fit) { fit.method.batch = 0.1; }, "--accountant gdp: it does not cover sampling"},
       {"gd", [](auto& fit) { fit.data.max_labels = 2, fit.method.warm_start = true; },
        "--warm-start with --max-labels above 1"},
       {"gd", [](auto& fit) { fit.data.max_labels = 2, fit.method.loss = Loss::kSoftmax; },
        "--loss softmax with --max-labels above 1"},
       {"auto", [](auto& fit) { fit.data.max_labels = 2, fit.method.objective = Objective::kBalanced; },
        "--objective balanced with --max-labels above 1"},
       {"prototypes", [](auto& fit) { fit.method.smallest_share = 0.6; },
        "--smallest-share 0.6: must be greater than 0, and at most 1 / 10"},
       {"prototypes", [](auto& fit) { fit.method.smallest_share = 0.01, fit.data.imbalance_ratio = 10.0; },
        "--smallest-share with --imbalance-ratio"},
       {"mean", [](auto& fit) { fit.silos.secure_aggregation = true; }, "write {rank} in --train-x"}},
      false);
}

TEST(FitOptions, ContradictionsAmongSilosAreRefused) {
  expect_refused(
      {{"mean", [](auto& fit) { fit.data.train.person = {"p{rank}.npy"}; },
        "--train-person with --secure-aggregation goes with --rows-per-person: all parties must set it"},
       {"mean", [](auto& fit) { fit.data.test.x = {"t{rank}.npy"}, fit.data.test.y = {"u.npy"}; },
        "--test-x {rank} with --secure-aggregation: the coordinator alone reads these rows"},
       {"gd", [](auto& fit) { fit.method.batch = 0.5, fit.privacy.budget.accountant = Accountant::kPld; },
        "--batch with --secure-aggregation"},
       {"mean", [](auto& fit) { fit.privacy.resume = true; }, "--resume with --secure-aggregation"},
       {"mean", [](auto& fit) { fit.privacy.seed = 1, with_limit(fit); },
        "--seed and --budget-epsilon with --secure-aggregation"},
       {"mean", [](auto& fit) { fit.privacy.limit_epsilon = 2.0; }, "--budget-delta is missing"},
       {"mean", [](auto& fit) { fit.silos.consent.emplace(); }, "[consent] in --silo-config: goes with --roster"},
       {"ls", [](auto& fit) { fit.silos.noise = NoiseSource::kDistributed, fit.method.choose = true; },
        "--choose and --noise distributed with --secure-aggregation"},
       {"public", [](auto& fit) { fit.silos.noise = NoiseSource::kDistributed; },
        "--noise distributed and --public-x with --method public: the coordinator would see the utilities"},
       {"mean", [](auto& fit) { fit.privacy.budget = kWithoutNoise, with_limit(fit); },
        "--non-private and --budget-epsilon with --secure-aggregation"}},
      true);
}

// A side that no option has is a mistake of ours, and throws.
TEST(FitOptions, RulesAreOfOptionsThatThereAre) {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  add_fit_rules(table, fit);
  EXPECT_GT(table.rules().size(), 80U);
  for (const OptionRule& rule : table.rules()) {
    for (const std::string& side : {rule.first, rule.second, rule.where, rule.unless}) {
      if (side.empty()) continue;
      EXPECT_NO_THROW(table.holds(side)) << side;
    }
    EXPECT_NE(rule.first, rule.second);
  }
}

TEST(FitOptions, ABatchOfAllRowsIsNone) {
  FitOptions fit = good_fit("gd");
  fit.method.batch = 1.0;
  EXPECT_FALSE(validated(fit).method.batch.has_value());
}

TEST(FitOptions, TestRowsAreReadAsTrainingRowsAre) {
  FitOptions fit = good_fit("mean");
  fit.data.train.bad_rows = BadRows::kZero;
  EXPECT_EQ(validated(fit).data.test.bad_rows, BadRows::kZero);
}

}  // namespace dpreduce::validated_options_test
