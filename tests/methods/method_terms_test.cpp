#include "methods/fit_table.hpp"
#include "tests/methods/good_fit.hpp"

namespace dpreduce::method_terms_test {

using Give = std::function<void(FitOptions&)>;

// How each option is given, in a way that methods which take it accept.
const std::map<std::string_view, Give>& given() {
  static const std::map<std::string_view, Give> all{
      {"--objective", [](auto& fit) { fit.method.objective = Objective::kBalanced; }},
      {"--metric", [](auto& fit) { fit.method.metric = Metric::kEuclidean; }},
      {"--auto", [](auto& fit) { fit.method.adaptive = true; }},
      {"--expected-rows", [](auto& fit) { fit.method.expected_rows = 1000; }},
      {"--smallest-share", [](auto& fit) { fit.method.smallest_share = 0.01; }},
      {"--top-k", [](auto& fit) { fit.method.top_k = 2; }},
      {"--d-min", [](auto& fit) { fit.method.d_min = 0.5; }},
      {"--d-max", [](auto& fit) { fit.method.d_max = 1.5; }},
      {"--shared-gram", [](auto& fit) { fit.method.shared_gram = true; }},
      {"--alpha", [](auto& fit) { fit.method.alpha = 2.0; }},
      {"--lambda", [](auto& fit) { fit.method.lambda = 0.1; }},
      {"--gram-share", [](auto& fit) { fit.method.gram_share = 0.3; }},
      {"--isotropy-share", [](auto& fit) { fit.method.isotropy_share = 0.1; }},
      {"--rounds", [](auto& fit) { fit.method.rounds = 4; }},
      {"--local-steps", [](auto& fit) { fit.method.local_steps = 2; }},
      {"--batch", [](auto& fit) { fit.method.batch = 0.1, fit.privacy.budget.accountant = Accountant::kPld; }},
      {"--loss", [](auto& fit) { fit.method.loss = Loss::kSigmoid; }},
      {"--iterate", [](auto& fit) { fit.method.iterate = Iterate::kAverage; }},
      {"--learning-rate", [](auto& fit) { fit.method.learning_rate = 0.1; }},
      {"--radius", [](auto& fit) { fit.method.radius = 2.0; }},
      {"--warm-start", [](auto& fit) { fit.method.warm_start = true; }},
      {"--warm-start-share", [](auto& fit) { fit.method.warm_start = true, fit.method.warm_start_share = 0.1; }},
      {"--choose", [](auto& fit) { fit.method.choose = true; }},
      {"--choose-share", [](auto& fit) { fit.method.choose = true, fit.method.choose_share = 0.1; }},
      {"--loss square", [](auto& fit) { fit.method.loss = Loss::kSquare; }},
      {"--max-labels above 1", [](auto& fit) { fit.data.max_labels = 2; }},
      {"--normalize none", [](auto& fit) { fit.rows.normalize = Normalize::kNone; }},
      {"--feature-range private", [](auto& fit) { fit.rows.finds_ranges = FindRanges::kAlways; }},
      {"--targets", [](auto& fit) { fit.data.train.has_targets = true, fit.data.classes = 0; }},
      {"--center dp", [](auto& fit) { fit.rows.center = Centering::kDp; }},
      {"--center moments", [](auto& fit) { fit.rows.center = Centering::kMoments; }},
      {"--select", [](auto& fit) { fit.rows.select = 3; }},
      {"--select-by t", [](auto& fit) { fit.rows.select = 3, fit.rows.select_by = SelectBy::kT; }},
      {"--select-share", [](auto& fit) { fit.rows.select = 3, fit.rows.select_share = 0.1; }},
      {"--resume", [](auto& fit) { fit.privacy.resume = true; }},
      {"--secure-aggregation", [](auto& fit) { fit.silos.secure_aggregation = true, fit.silos.rows_are_own = true; }},
  };
  return all;
}

FitOptions with_given(const MethodEntry& method, std::string_view option) {
  FitOptions fit = good_fit(std::string(method.name));
  given().at(option)(fit);
  const bool is_of_balance = option == "--expected-rows" || option == "--smallest-share";
  if (is_of_balance && method.takes_option("--objective")) fit.method.objective = Objective::kBalanced;
  if (option == "--isotropy-share" && method.takes_option(option)) fit.rows.center = Centering::kDp;
  return fit;
}

TEST(MethodTerms, EveryMethodWithoutMoreIsAccepted) {
  for (const MethodEntry* method : all_methods()) EXPECT_THAT(refusal(good_fit(std::string(method->name))), IsEmpty());
}

// All that a method's entry names in what it takes, or refuses.
std::set<std::string_view> named_by_methods(bool takes) {
  std::set<std::string_view> named;
  for (const MethodEntry* method : all_methods()) {
    for (const TakenOption& taken : method->takes) {
      if (takes) named.insert(taken.option);
    }
    for (const RefusedOption& refused : method->refuses) {
      if (!takes) named.insert(refused.option);
    }
  }
  return named;
}

TEST(MethodTerms, EveryOptionIsTriedHere) {
  for (const bool takes : {false, true}) {
    for (const std::string_view option : named_by_methods(takes)) EXPECT_TRUE(given().contains(option)) << option;
  }
}

// Every option of methods' own x every method.
TEST(MethodTerms, AnOptionThatAMethodDoesNotTakeIsRefusedWithThoseThatDo) {
  for (const std::string_view option : named_by_methods(true)) {
    for (const MethodEntry* method : all_methods()) {
      SCOPED_TRACE(std::string(option) + " with " + std::string(method->name));
      const std::string said = refusal(with_given(*method, option));
      const bool refuses_choice = option.starts_with("--choose") && method->refuses_option("--choose");
      const bool refuses_selection = option == "--select-by t" && method->refuses_option("--select");
      if (method->takes_option(option)) {
        EXPECT_THAT(said, IsEmpty());
      } else if (refuses_choice || refuses_selection) {
        EXPECT_THAT(said, HasSubstr(refuses_choice ? " with --choose: " : " with --select: "));
      } else {
        EXPECT_THAT(said, HasSubstr(" goes with --method "));
      }
    }
  }
}

TEST(MethodTerms, WhatAMethodRefusesItSaysWhy) {
  for (const MethodEntry* method : all_methods()) {
    for (const RefusedOption& refused : method->refuses) {
      SCOPED_TRACE(std::string(refused.option) + " with " + std::string(method->name));
      const std::string said = refusal(with_given(*method, refused.option));
      EXPECT_THAT(said, StartsWith(fmt::format("--method {} with {}", method->name, refused.option)));
      EXPECT_THAT(said, HasSubstr(std::string(refused.reason)));
    }
  }
}

TEST(MethodTerms, WhatNoMethodRefusesAllTake) {
  for (const std::string_view option : named_by_methods(false)) {
    for (const MethodEntry* method : all_methods()) {
      const bool selects = option == "--select-share" && method->refuses_option("--select");
      const bool is_of_others = named_by_methods(true).contains(option.substr(0, option.find(' ')));
      if (method->refuses_option(option) || selects || is_of_others) continue;
      SCOPED_TRACE(std::string(option) + " with " + std::string(method->name));
      EXPECT_THAT(refusal(with_given(*method, option)), IsEmpty());
    }
  }
}

TEST(MethodTerms, HelpNamesTheMethodsOfAnOptionWithTheirDefaults) {
  MethodOptions options;
  OptionTable table;
  declare_method(table, options);
  EXPECT_EQ(table.find("--choose"), nullptr);
  declare_choice(table, options);
  for (const Option& option : table.options()) {
    if (option.is_named("--method")) continue;
    EXPECT_THAT(option.help, HasSubstr("(" + takers_with_defaults(option.names) + ")"));
    EXPECT_THAT(takers_with_defaults(option.names), Not(IsEmpty())) << option.names;
  }
  EXPECT_THAT(takers_with_defaults("--gram-share"), StartsWith("auto, ls 0.5, fc 0.1"));
}

TEST(MethodTerms, TheMethodIsReadByItsName) {
  MethodOptions options;
  OptionTable table;
  declare_method(table, options);
  table.find("--method")->read({"ls"});
  EXPECT_EQ(options.name, "ls");
  expect_refusal<UsageError>([&] { table.find("--method")->read({"magic"}); },
                             {"--method magic: must be one of auto|mean|"});
}

}  // namespace dpreduce::method_terms_test
