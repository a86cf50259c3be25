#include "methods/method_terms.hpp"

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::method_terms_test {

// Terms that a method takes only if it says so.
constexpr std::array<std::string_view, 3> kTermsOfFew{"--center moments", "--select-by t", "--targets"};

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
  return fit;
}

TEST(MethodTerms, EveryMethodWithoutMoreIsAccepted) {
  for (const MethodEntry* method : all_methods()) EXPECT_THAT(refusal(good_fit(std::string(method->name))), IsEmpty());
}

TEST(MethodTerms, EveryOptionIsTriedHere) {
  for (const MethodOption& option : method_options()) EXPECT_TRUE(given().contains(option.name)) << option.name;
  for (const FitTerm& term : fit_terms()) EXPECT_TRUE(given().contains(term.name)) << term.name;
}

// Every option of methods' own x every method.
TEST(MethodTerms, AnOptionThatAMethodDoesNotTakeIsRefusedWithThoseThatDo) {
  for (const MethodOption& option : method_options()) {
    for (const MethodEntry* method : all_methods()) {
      SCOPED_TRACE(std::string(option.name) + " with " + std::string(method->name));
      const std::string said = refusal(with_given(*method, option.name));
      const bool refuses_choice = option.name.starts_with("--choose") && method->refuses_option("--choose");
      if (method->takes_option(option.name)) {
        EXPECT_THAT(said, IsEmpty());
      } else if (refuses_choice) {
        EXPECT_THAT(said, HasSubstr(" with --choose: "));
      } else {
        EXPECT_THAT(said, HasSubstr(" goes with --method " + methods_that_take(option.name)));
      }
    }
  }
}

TEST(MethodTerms, AValueThatFewMethodsTakeIsRefusedWithThem) {
  for (const std::string_view term : kTermsOfFew) {
    for (const MethodEntry* method : all_methods()) {
      SCOPED_TRACE(std::string(term) + " with " + std::string(method->name));
      const std::string said = refusal(with_given(*method, term));
      if (method->takes_option(term)) {
        EXPECT_THAT(said, IsEmpty());
      } else if (method->refuses_option("--select") && term == "--select-by t") {
        EXPECT_THAT(said, HasSubstr("with --select:"));
      } else {
        EXPECT_THAT(said, HasSubstr(std::string(term) + " goes with --method " + methods_that_take(term)));
      }
    }
  }
}

TEST(MethodTerms, WhatAMethodRefusesItSaysWhy) {
  for (const MethodEntry* method : all_methods()) {
    for (const RefusedOption& refused : method->refuses) {
      SCOPED_TRACE(std::string(refused.option) + " with " + std::string(method->name));
      const std::string said = refusal(with_given(*method, refused.option));
      EXPECT_THAT(said, StartsWith("--method " + std::string(method->name) + " with "));
      EXPECT_THAT(said, HasSubstr(std::string(refused.reason)));
    }
  }
}

TEST(MethodTerms, WhatNoMethodRefusesAllTake) {
  for (const FitTerm& term : fit_terms()) {
    if (std::ranges::find(kTermsOfFew, term.name) != kTermsOfFew.end()) continue;
    for (const MethodEntry* method : all_methods()) {
      const bool selects = term.name == "--select-share" && method->refuses_option("--select");
      if (method->refuses_option(term.name) || selects) continue;
      SCOPED_TRACE(std::string(term.name) + " with " + std::string(method->name));
      EXPECT_THAT(refusal(with_given(*method, term.name)), IsEmpty());
    }
  }
}

TEST(MethodTerms, HelpNamesTheMethodsOfAnOptionWithTheirDefaults) {
  MethodOptions options;
  OptionTable table;
  declare_method(table, options);
  EXPECT_EQ(table.find("--choose"), nullptr);
  declare_choice(table, options);
  for (const MethodOption& option : method_options()) {
    ASSERT_NE(table.find(option.name), nullptr) << option.name;
    EXPECT_THAT(table.find(option.name)->help, HasSubstr("(" + takers_with_defaults(option.name) + ")"));
    EXPECT_THAT(takers_with_defaults(option.name), Not(IsEmpty())) << option.name;
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
