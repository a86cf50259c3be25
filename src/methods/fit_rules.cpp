#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "methods/fit_table.hpp"
#include "methods/method_terms.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

void add_rules_of_rows(OptionTable& table, const std::string& persons) {
  table.together("--test-x", "--test-y").but_not_where("--targets");
  table.together("--test-x", kTestTargets).only_where("--targets");
  table.together("--validation-x", "--validation-y");
  table.needs("--imbalance-seed", "--imbalance-ratio");
  table.excludes("--imbalance-ratio", "--max-labels", "shares are of rows of one class; leave one out");
  table.needs("--rows-per-person", persons, "it says whose each row is");
  table.needs(
      "--train-weight", "--weight-bound",
      "say how much a row weighs at most; noise is made for a row of weight W. W is public, and each weight may "
      "depend on its own row alone; --objective balanced weighs classes");
  table.needs("--weight-bound", "--train-weight", "it says what each row weighs");
  table.excludes("--train-weight", persons,
                 "a person's rows weigh by their number, and by nothing else; leave one out");
  table.excludes("--feature-range", "--pool", "columns have one range each; leave one out");
  table.needs("--pca-share", "--pca");
  table.excludes("--pca-share", "--public-x", "components of public rows cost nothing; leave it out");
  table.needs("--select-share", "--select");
  table.needs("--select-by", "--select");
  table.needs("--center public", "--public-x", "it names the public rows");
}

// Options about classes do not apply to numbers.
void add_rules_of_targets(OptionTable& table) {
  for (const char* own : {"--class-names", "--classes"}) {
    table.excludes("--targets", own, "numbers have no classes; leave it out");
  }
  for (const char* own : {"--max-labels", "--imbalance-ratio", "--validation-x"}) {
    table.excludes("--targets", own, "it is about classes, and targets are numbers; leave it out");
  }
  table.excludes("--targets", "--select", "features are told apart by classes; leave it out, or use --pca");
  constexpr const char* kOneGram = "numbers have one Gram matrix, of rows and targets, and a square loss; leave it out";
  for (const char* own :
       {"--shared-gram", "--alpha", "--lambda", "--choose", "--isotropy-share", "--expected-rows", "--smallest-share",
        "--iterate", "--warm-start", "--objective balanced", "--loss softmax|sigmoid", "--center moments"}) {
    table.excludes("--targets", own, kOneGram);
  }
  table.excludes("--targets", "--gram-share", kOneGram).only_where("--method ls");
  table.needs("--target-range", "--targets");
}

void add_rules_of_methods(OptionTable& table) {
  const auto choosing = names_where([](const MethodEntry& method) { return method.chooses_public_rows; });
  table.needs(fmt::format("--method {}", fmt::join(choosing, "|")), "--public-x",
              "prototypes are chosen among public rows");
  table.excludes("--warm-start", "--loss sigmoid|square", "the residual loss is one of probabilities; use softmax");
  table.excludes("--warm-start", "--max-labels above 1",
                 "its loss is of the probability of one class a row; leave it out");
  table.needs("--warm-start-share", "--warm-start");
  table.excludes("--loss softmax", "--max-labels above 1", "softmax chooses one class a row; use sigmoid or square");
  table.excludes("--objective balanced", "--loss sigmoid|square", "scores must be log probabilities; use softmax");
  for (const char* own : {"--warm-start", "--choose"}) {
    table.excludes("--objective balanced", own, "scores of one head and one candidate are adjusted; leave it out");
  }
  table.excludes("--objective balanced", "--max-labels above 1",
                 "scores are adjusted for one class a row; leave it out");
  table.needs("--smallest-share", "--objective balanced").only_where("--method auto");
  table.excludes("--smallest-share", "--imbalance-ratio",
                 "the ratio says how small the smallest class is; leave one out");
  for (const char* own :
       {"--max-labels above 1", "--loss sigmoid|square", "--choose", "--warm-start", "--iterate average"}) {
    table.excludes("--isotropy-share", own, "class means could not take the place of such rounds; leave one out");
  }
  table.excludes("--alpha", "--shared-gram",
                 "alpha weighs the Gram matrix of all rows against those of classes, of which there are none; this is "
                 "the limit of large alpha");
  table.excludes("--lambda", "--shared-gram", "its ridge is tied to the noise");
}

void add_rules_of_choices(OptionTable& table) {
  table.needs("--choose-share", "--choose");
  table.excludes("--choose-share", "--validation-x", "public rows cost nothing; leave it out");
  table.needs("--validation-x", "--choose");
  table.excludes("--iterate", "--choose", "the iterate is what is chosen; leave one out");
  table.excludes("--lambda", "--choose", "the ridge is what is chosen; leave one out");
  table.excludes("--choose", "--batch", "rounds on samples leave no mu to share; choose by --validation-x")
      .but_not_where("--validation-x");
  table
      .excludes("--choose", "--secure-aggregation",
                "the coordinator would see how many rows each candidate gets right; choose by --validation-x")
      .only_where("--noise distributed")
      .but_not_where("--validation-x");
}

void add_rules_of_budgets(OptionTable& table) {
  for (const char* own : {"--epsilon", "--delta", "--rho", "--mu"}) {
    table.excludes("--non-private", own, "without noise there is no budget; leave one out");
  }
  table.together("--budget-epsilon", "--budget-delta");
  table.excludes("--non-private", "--secure-aggregation", "sums without noise are within no budget")
      .only_where("--budget-epsilon");
  table.excludes("--seed", "--secure-aggregation", "noise that anyone can compute is within no budget")
      .only_where("--budget-epsilon");
  table.excludes("--metrics", "--non-private", "it tells norms of what is released, which without noise are exact");
  add_rules_of_samples(table, "--batch", "--non-private");
}

void add_rules_of_silos(OptionTable& table, const std::string& persons) {
  for (const char* own : {"--threshold", "--roster", "--identity", "--silo-config", "--log", "--round-trip",
                          "--bandwidth", "--packet-loss", "--noise distributed", "--colluding", "--silo-timeout"}) {
    table.needs(own, "--secure-aggregation");
  }
  table.together("--roster", "--identity");
  table.needs("--packet-loss above 0", "--round-trip above 0", "what is lost costs round trips");
  table.excludes("--batch", "--secure-aggregation", "the coins of a sample would have to be known to every party");
  table.excludes("--resume", "--secure-aggregation", "a run that has ended is begun anew, and charged anew");
  table.excludes("--weight-bound", "--secure-aggregation",
                 "silos have no weights of rows; leave it out, or train without silos");
  table
      .needs(persons, "--rows-per-person", "all parties must say it, e.g. 1, so that they agree on persons as the unit")
      .only_where("--secure-aggregation");
  table.needs("--silos-per-person", persons, "it says whose each row is");
}

// Adds rules of metrics of test rows that share the budget: they need one release more, which is not made for every
// kind of fit.
void add_rules_of_shared_evaluations(OptionTable& table) {
  table.needs("--test-person", "--evaluate-share");
  table.needs("--test-person", "--train-person");
  table.needs("--train-person", "--test-person", "name whose test rows are").only_where("--evaluate-share");
  table.needs("--evaluate-share", "--test-x", "it names the rows that figures are about");
  table.excludes("--evaluate-share", "--non-private", "there is no budget to share; leave one out");
  for (const char* own : {"--batch", "--secure-aggregation", "--max-labels", "--targets", "--train-weight"}) {
    table.excludes("--evaluate-share", own, "evaluate the model afterwards, by dpreduce evaluate --private");
  }
}

}  // namespace

void add_rules_of_samples(OptionTable& table, const std::string& rate, const std::string& unless) {
  constexpr const char* kUsePld = "it has no useful bound of an exchange of two records on samples; use pld";
  constexpr const char* kNoGain =
      "it knows no gain from sampling, as the loss of a sampled Gaussian is not Gaussian; use pld or rdp";
  table.excludes(rate, "--accountant rdp", kUsePld).only_where("--adjacency replace-one").but_not_where(unless);
  for (const char* own : {"rho", "mu"}) {
    table
        .excludes(rate, fmt::format("--{}", own),
                  fmt::format("samples have no {}; state the budget as --epsilon and --delta", own))
        .but_not_where(unless);
  }
  table.excludes(rate, "--accountant gdp|zcdp", kNoGain).but_not_where(unless);
}

void add_fit_rules(OptionTable& table, const FitOptions& options) {
  const RowFiles& train = options.data.train;
  const std::string persons = train.option("person");
  add_rules_of_rows(table, persons);
  add_rules_of_targets(table);
  add_rules_of_methods(table);
  add_rules_of_choices(table);
  add_rules_of_budgets(table);
  add_rules_of_silos(table, persons);
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
  add_fit_rules(table, checked);
  checked = options;
  table.check_ranges();
  check_method(checked, table);
  table.check_rules();
}

}  // namespace dpreduce
