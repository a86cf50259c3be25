#include "commands/keyword_options.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/testing.hpp"

namespace dpreduce::keyword_options_test {

TomlItem keyword(const std::string& name, const std::vector<std::string>& values) {
  return {.section = {}, .key = name, .values = values};
}

std::string refusal(const std::vector<TomlItem>& keywords) {
  return dpreduce::refusal<UsageError>([&] { fit_options_of(keywords); });
}

TEST(KeywordOptions, AreThoseOfTheCommandLine) {
  const std::vector<TomlItem> keywords{keyword("classes", {"4"}),        keyword("epsilon", {"0.5"}),
                                       keyword("delta", {"1e-6"}),       keyword("gram_share", {"0.25"}),
                                       keyword("center", {"dp"}),        keyword("shared-gram", {"true"}),
                                       keyword("warm_start", {"false"}), keyword("method", {"ls"})};
  FitOptions by_words = parsed_fit(
      words_in("fit --train-x x.npy --train-y y.npy --classes 4 --epsilon 0.5 --delta 1e-6 --gram-share 0.25 "
               "--center dp --shared-gram --method ls"));
  by_words.data.train = {};
  by_words.silos.agreed.clear();
  EXPECT_EQ(fit_options_of(keywords), by_words);
  EXPECT_EQ(fit_options_of(std::vector{keyword("silos_per_person", {"2"})}).silos.silos_per_person, 2U);
  EXPECT_EQ(fit_options_of(std::vector{keyword("batch", {"0.1"})}).privacy.budget.accountant, Accountant::kPld);
  EXPECT_EQ(fit_options_of(std::vector<TomlItem>{}).privacy.budget.accountant, Accountant::kGdp);
}

TEST(KeywordOptions, AreRefusedAsOnTheCommandLine) {
  EXPECT_EQ(refusal({keyword("epsilo", {"1"})}), "fit(): 'epsilo' is not an option of fit; did you mean epsilon?");
  EXPECT_THAT(refusal({keyword("lr", {"1"})}), HasSubstr("not an option of fit; use --learning-rate"));
  EXPECT_THAT(refusal({keyword("C", {"1"})}), HasSubstr("; use --lambda, the ridge"));
  EXPECT_THAT(refusal({keyword("epsilon", {"one"})}), HasSubstr("--epsilon one: must be a number"));
  EXPECT_THAT(refusal({keyword("epsilon", {"1", "2"})}), HasSubstr("'epsilon' takes one value, not a list"));
  EXPECT_THAT(refusal({keyword("shared_gram", {"3"})}), HasSubstr("must be true or false"));
  EXPECT_THAT(refusal({keyword("mu", {"1"}), keyword("mu", {"2"})}), HasSubstr("'mu' is given twice"));
  for (const char* of_command : {"train_x", "test-y", "out", "format", "class_names", "threshold", "silo_config"}) {
    EXPECT_THAT(refusal({keyword(of_command, {"1"})}), HasSubstr("option of the command alone")) << of_command;
  }
}

TEST(KeywordOptions, ToldAreThoseThatAreTaken) {
  const std::vector<KeywordHelp> all = fit_keywords();
  const auto is_told = [&](const std::string& name) { return std::ranges::count(all, name, &KeywordHelp::name) > 0; };
  EXPECT_TRUE(is_told("gram_share") && is_told("epsilon") && is_told("threads"));
  EXPECT_FALSE(is_told("train_x") || is_told("out") || is_told("threshold") || is_told("config"));
}

TEST(KeywordOptions, OfClassesAreThoseThatNumbersHaveNoUseFor) {
  std::vector<std::string> all;
  for (const KeywordHelp& keyword : fit_keywords()) {
    if (keyword.is_about_classes) all.push_back(keyword.name);
  }
  for (const char* own : {"classes", "max_labels", "imbalance_ratio", "imbalance_seed", "objective", "metric", "loss",
                          "batch", "choose", "choose_share", "select", "select_by", "radius", "lambda"}) {
    EXPECT_THAT(all, testing::Contains(own));
  }
  for (const char* other : {"epsilon", "clip", "center", "pca", "rounds", "gram_share", "target_range", "public_x"}) {
    EXPECT_THAT(all, Not(testing::Contains(other)));
  }
}

TEST(KeywordOptions, OfPrivacyAreThoseOfItsSubcommands) {
  const std::vector<TomlItem> run{keyword("gaussian", {"10:50", "4"}), keyword("delta", {"1e-6"})};
  const nlohmann::json compose = parse_json(result_of_call(compose_command(), run));
  EXPECT_EQ(compose["mechanisms"].size(), 2U);
  EXPECT_EQ(compose["delta"], 1e-6);
  EXPECT_THROW(result_of_call(compose_command(), std::vector{keyword("gaussian", {"10"})}), UsageError);
  EXPECT_THROW(result_of_call(convert_command(), std::vector{keyword("mu", {"1"}), keyword("format", {"json"})}),
               UsageError);
}

// The result of `command` on an option with that text, or its refusal.
nlohmann::json result_of(CommandEntry command, const std::string& option, const std::string& text) {
  const TomlItem beside = command.name == "split" ? keyword("mu", {"1"}) : keyword("delta", {"1e-6"});
  try {
    return parse_json(result_of_call(std::move(command), std::vector{keyword(option, {text}), beside}));
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(KeywordOptions, MechanismsHaveTheirParametersAndACountThatIsOneWhereLeftOut) {
  for (const auto& [option, text, described, count] :
       std::vector<std::tuple<const char*, const char*, const char*, int>>{
           {"gaussian", "1.5:10", "1.5", 10},
           {"gaussian", "4", "4", 1},
           {"subsampled", "1e1:1e-2:1000", "0.01", 1000},
           {"subsampled", "4:0.5", "0.5", 1},
           {"exponential", ".5:3", "0.5", 3},
           {"exponential", "0.25:1", "0.25", 1}}) {
    const nlohmann::json part = result_of(compose_command(), option, text)["mechanisms"][0];
    EXPECT_THAT(part["mechanism"].get<std::string>(), HasSubstr(described)) << option << " " << text;
    EXPECT_EQ(part["count"], count) << option << " " << text;
  }
}

TEST(KeywordOptions, WhatIsNoMechanismIsRefusedWithItsOptionAndForm) {
  for (const auto& [option, head, form] : {std::tuple<std::string, std::string, std::string>{"gaussian", "1", "Z[:K]"},
                                           {"subsampled", "1:0.5", "Z:Q[:K]"},
                                           {"exponential", "1", "E[:K]"}}) {
    std::vector<std::string> texts{"", ":", "a", "nan", "inf", "1e999", " 1", "1,5", "0x", ":" + head};
    for (const char* end : {":", ":0", ":-1", ":1.5", ":18446744073709551616", ":1:1", ":1 "})
      texts.push_back(head + end);
    for (const std::string& text : texts) {
      EXPECT_THAT(result_of(compose_command(), option, text).dump(),
                  HasSubstr(option + " " + text + ": must be " + form));
    }
  }
  EXPECT_THAT(result_of(compose_command(), "subsampled", "1").dump(), HasSubstr("must be Z:Q[:K]"));
  EXPECT_THAT(result_of(compose_command(), "subsampled", "1:nan").dump(), HasSubstr("must be Z:Q[:K]"));
}

TEST(KeywordOptions, BlocksHaveNameSensitivityAndWeight) {
  const nlohmann::json block = result_of(split_command(), "block", "class sums:1.5:768")["blocks"][0];
  EXPECT_EQ(block["name"], "class sums");
  EXPECT_EQ(block["sensitivity"], 1.5);
  EXPECT_EQ(block["loss_weight"], 768);
  EXPECT_EQ(result_of(split_command(), "block", "a:2")["blocks"][0]["loss_weight"], 1);
  for (const char* text : {"", "a", ":1", "a:", "a:b", "a:0", "a:-1", "a:nan", "a:inf", "a:1:", "a:1:0", "a:1:-1",
                           "a:1:inf", "a:1:1:1", "1:2:"}) {
    EXPECT_THAT(result_of(split_command(), "block", text).dump(), HasSubstr("must be NAME:D[:W]")) << text;
  }
}

}  // namespace dpreduce::keyword_options_test
