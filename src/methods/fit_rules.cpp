#include <algorithm>

#include <fmt/format.h>

#include "methods/fit_table.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

using std::string_literals::operator""s;

constexpr const char* kMaskedSums = "--secure-aggregation";

// Excludes each of `others`.
void exclude_all(OptionTable& table, const char* option, std::initializer_list<const char*> others,
                 const char* reason) {
  for (const char* other : others) table.excludes(option, other, reason);
}

void add_rules_of_rows(OptionTable& table, const std::string& persons) {
  constexpr const char* kAsTraining = "test rows have classes or numbers, as training rows have";
  table.excludes("--targets", "--test-y", fmt::format("{}; give {}", kAsTraining, kTestTargets));
  table.needs(kTestTargets, "--targets", kAsTraining);
  table.together("--test-x", "--test-y").but_not_where("--targets");
  table.together("--test-x", kTestTargets).only_where("--targets");
  table.together("--validation-x", "--validation-y");
  table.needs("--imbalance-seed", "--imbalance-ratio");
  table.excludes("--imbalance-ratio", "--max-labels", "shares are of rows of one class; leave one out");
  table.needs("--rows-per-person", persons, "it identifies the person of each row");
  table.needs("--train-weight", "--weight-bound",
              "give the largest weight W of a row; the noise is sized for a row of weight W. W is public, and each "
              "weight may depend on its own row alone. For equal weights of classes use --objective balanced");
  table.needs("--weight-bound", "--train-weight", "it holds the weights of rows");
  table.excludes("--train-weight", persons, "a person's rows are weighted by their number alone; leave one out");
  table.excludes("--feature-range", "--pool",
                 "pooling mixes columns, which then have no range of their own; leave one out");
  table.needs("--pca-share", "--pca");
  table.excludes("--pca-share", "--public-x", "components of public rows cost nothing; leave it out");
  table.needs("--select-share", "--select");
  table.needs("--select-by", "--select");
  table.needs("--center public", "--public-x", "the center is the mean of these rows");
  constexpr const char* kShareOfDp = "only the mean of --center dp takes a share of the budget";
  table.excludes("--center-share", "--center none|public|moments", kShareOfDp);
  const auto needs_dp = [&]() -> OptionRule& { return table.needs("--center-share", "--center dp", kShareOfDp); };
  needs_dp().but_not_where("--method auto");
  needs_dp().only_where("--targets");
  needs_dp().only_where("--public-x").but_not_where("--objective accuracy");
}

// Options about classes do not apply to numbers.
void add_rules_of_targets(OptionTable& table) {
  exclude_all(table, "--targets", {"--class-names", "--classes"}, "numbers have no classes; leave it out");
  exclude_all(table, "--targets", {"--max-labels", "--imbalance-ratio", "--validation-x"},
              "it is about classes, and targets are numbers; leave it out");
  table.excludes("--targets", "--select",
                 "features are selected by classes, and targets are numbers; leave it out, or use --pca");
  constexpr const char* kOneGram =
      "regression uses one Gram matrix, of rows and targets, and the square loss; leave it out";
  exclude_all(
      table, "--targets",
      {"--shared-gram", "--alpha", "--lambda", "--choose", "--isotropy-share", "--expected-rows", "--smallest-share",
       "--iterate", "--warm-start", "--objective balanced", "--loss softmax|sigmoid", "--center moments"},
      kOneGram);
  table.excludes("--targets", "--gram-share", kOneGram).only_where("--method ls");
  table.needs("--target-range", "--targets");
}

void add_rules_of_methods(OptionTable& table) {
  const auto choosing = names_where([](const MethodEntry& method) { return method.chooses_public_rows; });
  table.needs(fmt::format("--method {}", fmt::join(choosing, "|")), "--public-x",
              "prototypes are chosen among public rows");
  const auto using_public_rows = names_where(
      [](const MethodEntry& method) { return method.chooses_public_rows || method.whitens_by_public_rows; });
  table
      .needs("--public-x", "--center public or --pca",
             "otherwise a fit to numbers does not use public rows; add one of these, or leave the rows out")
      .only_where("--targets");
  table.needs(
      "--public-x",
      fmt::format("--center public or --pca or --objective balanced or --method {}", fmt::join(using_public_rows, "|")),
      "otherwise a fit does not use public rows; add one of these, or leave the rows out");
  for (const std::string& chooses : {fmt::format("--method {}", fmt::join(choosing, "|")), "--objective balanced"s}) {
    table
        .excludes("--noise distributed", chooses,
                  "the coordinator would see the utilities of all public rows; use central noise, or a method that "
                  "sums rows")
        .only_where("--public-x");
  }
  table.excludes("--warm-start", "--loss sigmoid|square", "the rounds fit residuals of probabilities; use softmax");
  table.excludes("--warm-start", "--max-labels above 1", "its loss needs exactly one class per row; leave it out");
  table.needs("--warm-start-share", "--warm-start");
  table.excludes("--loss softmax", "--max-labels above 1", "softmax chooses one class per row; use sigmoid or square");
  table.excludes("--objective balanced", "--loss sigmoid|square", "scores must be log probabilities; use softmax");
  exclude_all(table, "--objective balanced", {"--warm-start", "--choose"},
              "only the scores of a single model can be adjusted; leave it out");
  table.excludes("--objective balanced", "--max-labels above 1",
                 "scores are adjusted for one class per row; leave it out");
  table.needs("--smallest-share", "--objective balanced").only_where("--method auto");
  table.excludes("--smallest-share", "--imbalance-ratio",
                 "the ratio sets the share of the smallest class; leave one out");
  exclude_all(table, "--isotropy-share",
              {"--max-labels above 1", "--loss sigmoid|square", "--choose", "--warm-start", "--iterate average"},
              "class means could not replace such rounds; leave one out");
  constexpr const char* kAboutMean = "class means are compared about the mean of all rows";
  table.needs("--isotropy-share", "--center dp|public or --method auto", kAboutMean);
  table.excludes("--isotropy-share", "--center none", kAboutMean);
  table.excludes("--alpha", "--shared-gram",
                 "alpha weights the Gram matrix of all rows against those of classes, and a shared one is the limit of "
                 "large alpha; leave it out");
  table.excludes("--lambda", "--shared-gram", "its ridge is tied to the noise");
}

void add_rules_of_choices(OptionTable& table) {
  table.needs("--choose-share", "--choose");
  table.excludes("--choose-share", "--validation-x", "public rows cost nothing; leave it out");
  table.needs("--validation-x", "--choose");
  table.excludes("--iterate", "--choose", "the iterate is what is chosen; leave one out");
  table.excludes("--lambda", "--choose", "the ridge is what is chosen; leave one out");
  table.excludes("--choose", "--rounds 1", "one round makes one model, so there is nothing to choose; leave it out");
  table
      .excludes("--choose", "--batch",
                "rounds on samples have no mu of which a choice could take a share; choose by --validation-x")
      .but_not_where("--validation-x");
  table
      .excludes("--choose", "--secure-aggregation",
                "the coordinator would see how many rows each candidate gets right; choose by --validation-x")
      .only_where("--noise distributed")
      .but_not_where("--validation-x");
}

void add_rules_of_budgets(OptionTable& table) {
  exclude_all(table, "--non-private", {"--epsilon", "--delta", "--rho", "--mu"},
              "without noise there is no budget; leave one out");
  table.together("--budget-epsilon", "--budget-delta");
  table.excludes("--non-private", "--secure-aggregation", "a run without noise has no finite epsilon; leave one out")
      .only_where("--budget-epsilon");
  table
      .excludes("--seed", "--secure-aggregation",
                "anyone can compute seeded noise, so the run has no finite epsilon; leave one out")
      .only_where("--budget-epsilon");
  table.excludes("--metrics", "--non-private", "it reports norms of released sums, which without noise are exact");
  add_rules_of_samples(table, "--batch", "--non-private");
}

void add_rules_of_silos(OptionTable& table, const std::string& persons, bool under_engine) {
  for (const Option& own : table.options()) {
    const bool is_of_masked_sums = own.group == kSilosGroup && own.is_of_command_alone;
    if (is_of_masked_sums && own.names != kMaskedSums) table.needs(own.names, kMaskedSums);
  }
  for (const char* own : {"--test-x {rank}", "--validation-x {rank}", "--public-x {rank}"}) {
    table.excludes(own, kMaskedSums, "the coordinator alone reads these rows; name them without {rank}");
  }
  table.together("--roster", "--identity");
  table.needs("--packet-loss above 0", "--round-trip above 0", "a lost packet costs a round trip");
  table.excludes("--batch", "--secure-aggregation", "every party would have to know the secret coins of a sample");
  table.excludes("--resume", "--secure-aggregation",
                 "a run among silos cannot be resumed; start a new run, which is charged again");
  table.excludes("--weight-bound", "--secure-aggregation",
                 "silos have no weights of rows; leave it out, or train without silos");
  table.needs(persons, "--rows-per-person", "all parties must set it, e.g. to 1, to agree that the unit is a person")
      .only_where("--secure-aggregation");
  table.needs("--silos-per-person", persons, "it identifies the person of each row");
  if (under_engine) return;  // whose parties are silos, too
  const auto of_silos = names_where([](const MethodEntry& method) { return method.each_rank_is_a_silo; });
  table.needs("--silos-per-person", fmt::format("{} or --method {}", kMaskedSums, fmt::join(of_silos, "|")),
              "other ranks trust each other, and count a person's rows over all ranks");
}

// Adds rules of metrics of test rows that share the budget: they need one release more, which is not made for every
// kind of fit.
void add_rules_of_shared_evaluations(OptionTable& table) {
  table.needs("--test-person", "--evaluate-share");
  table.needs("--test-person", "--train-person");
  table.needs("--train-person", "--test-person", "give the person of each test row as well")
      .only_where("--evaluate-share");
  table.needs("--evaluate-share", "--test-x", "metrics are computed on these rows");
  table.excludes("--evaluate-share", "--non-private", "there is no budget to share; leave one out");
  exclude_all(table, "--evaluate-share",
              {"--batch", "--secure-aggregation", "--max-labels", "--targets", "--train-weight"},
              "evaluate the model afterwards with dpreduce evaluate --private");
}

}  // namespace

void add_rules_of_samples(OptionTable& table, const std::string& rate, const std::string& unless) {
  constexpr const char* kUsePld = "it has no useful bound for a replaced record on samples; use pld";
  constexpr const char* kNoGain =
      "it does not cover sampling, since the loss of a sampled Gaussian is not Gaussian; use pld or rdp";
  table.excludes(rate, "--accountant rdp", kUsePld).only_where("--adjacency replace-one").but_not_where(unless);
  for (const char* own : {"rho", "mu"}) {
    table
        .excludes(rate, fmt::format("--{}", own),
                  fmt::format("rounds on samples have no {}; give the budget as --epsilon and --delta", own))
        .but_not_where(unless);
  }
  table.excludes(rate, "--accountant gdp|zcdp", kNoGain).but_not_where(unless);
}

void add_evaluation_rules(OptionTable& table, const RowFiles& rows, const std::string& metrics,
                          const std::string& models, const std::string& when) {
  const auto metric = [&](const char* names) { return fmt::format("{} {}", metrics, names); };
  for (const char* own : {"--positive", "--expected-rows"}) table.needs(own, metric("auc|roc")).only_where(when);
  table.needs("--top-k", metric("topk")).only_where(when);
  table.needs("--class-groups", metric("confusion"));
  table.needs(metric("f1"), "--max-labels", "labels are n x K zeros and ones");
  for (const char* own : {"--max-predicted", "--score-threshold"}) table.needs(own, "--max-labels");
  std::string others = all_spellings<EvaluationMetric>();
  others.erase(others.find("f1|"), 3);
  for (const std::string& own : {metric(others.c_str()), "--groups"s, "--group-names"s, models + " twice"}) {
    table.excludes("--max-labels", own, "f1 of one model is the only metric of label sets").only_where(when);
  }
  table.needs("--group", "--groups or --group-names", "they list the groups");
  for (const char* own : {"--groups", "--group-names"}) {
    table.needs(own, "--group", "it has the group of each row").only_where(rows.option("x"));
  }
}

void add_fit_rules(OptionTable& table, const FitOptions& options) {
  const RowFiles& train = options.data.train;
  const std::string persons = train.option("person");
  add_rules_of_rows(table, persons);
  add_rules_of_targets(table);
  add_rules_of_methods(table);
  add_rules_of_choices(table);
  add_rules_of_budgets(table);
  add_rules_of_silos(table, persons, options.silos.under_engine);
  if (train.role == RowFiles().role) add_rules_of_shared_evaluations(table);
}

bool is_about_classes(const OptionTable& fit, const Option& option) {
  const auto is_excluded = [&](const std::string& own) {
    const auto takes_own = [&](const MethodEntry& method) { return method.takes_option(own); };
    const bool is_of_methods = !names_where(takes_own).empty();
    const bool is_of_others = names_where([&](const MethodEntry& method) {
                                return takes_own(method) && method.takes_option("--targets");
                              }).empty();
    const auto excludes = [&](const OptionRule& rule) {
      return rule.kind == OptionRule::Kind::kExcludes && rule.first == "--targets" && rule.where.empty() &&
             (rule.second == own || (is_of_methods && rule.second.starts_with(own + " ")));
    };
    return (is_of_methods && is_of_others) || std::ranges::any_of(fit.rules(), excludes);
  };
  return is_excluded(option.names) || std::ranges::any_of(fit.rules(), [&](const OptionRule& rule) {
           return rule.kind == OptionRule::Kind::kNeeds && rule.first == option.names && is_excluded(rule.second);
         });
}

void check_options(const FitOptions& options) {
  FitOptions checked;
  checked.data.train.role = options.data.train.role;
  OptionTable table;
  declare_fit(table, checked);
  add_fit_rules(table, options);
  checked = options;
  table.check_ranges();
  check_method(checked, table);
  table.check_rules();
}

}  // namespace dpreduce
