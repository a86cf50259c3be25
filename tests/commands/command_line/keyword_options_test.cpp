#include "commands/command_line/keyword_options.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "tests/commands/parsed_command.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

TomlItem keyword(const std::string& name, const std::vector<std::string>& values) {
  return {.section = {}, .key = name, .values = values};
}

std::string refusal(const std::vector<TomlItem>& keywords) {
  try {
    fit_options_of(keywords);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KeywordOptions, AreThoseOfTheCommandLine) {
  const std::vector<TomlItem> keywords{keyword("classes", {"4"}),        keyword("epsilon", {"0.5"}),
                                       keyword("delta", {"1e-6"}),       keyword("gram_share", {"0.25"}),
                                       keyword("center", {"dp"}),        keyword("shared-gram", {"true"}),
                                       keyword("warm_start", {"false"}), keyword("method", {"ls"})};
  FitOptions by_words =
      parsed_fit({"fit", "--train-x", "x.npy", "--train-y", "y.npy", "--classes", "4", "--epsilon", "0.5", "--delta",
                  "1e-6", "--gram-share", "0.25", "--center", "dp", "--shared-gram", "--method", "ls"});
  by_words.data.train = {};
  by_words.silos.agreed.clear();
  EXPECT_EQ(fit_options_of(keywords), by_words);
}

TEST(KeywordOptions, SayHowManySilosHaveRowsOfOnePerson) {
  EXPECT_EQ(fit_options_of(std::vector{keyword("silos_per_person", {"2"})}).silos.silos_per_person, 2U);
}

TEST(KeywordOptions, ChooseTheAccountantOfSamples) {
  EXPECT_EQ(fit_options_of(std::vector{keyword("batch", {"0.1"})}).privacy.budget.accountant, Accountant::kPld);
  EXPECT_EQ(fit_options_of(std::vector<TomlItem>{}).privacy.budget.accountant, Accountant::kGdp);
}

TEST(KeywordOptions, AreRefusedAsOnTheCommandLine) {
  EXPECT_EQ(refusal({keyword("epsilo", {"1"})}), "fit(): 'epsilo' is not an option of fit; did you mean epsilon?");
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
  const auto is_told = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const KeywordHelp& each) { return each.name == name; });
  };
  EXPECT_TRUE(is_told("gram_share") && is_told("epsilon") && is_told("threads"));
  EXPECT_FALSE(is_told("train_x") || is_told("out") || is_told("threshold") || is_told("config"));
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

}  // namespace
}  // namespace dpreduce
