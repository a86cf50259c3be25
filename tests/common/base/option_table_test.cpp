#include "common/base/option_table.hpp"

#include "common/base/error.hpp"
#include "common/lattice/row_transform.hpp"
#include "tests/testing.hpp"

namespace dpreduce::option_table_test {

TEST(OptionTable, NumbersAreReadWholeAndChoicesByTheirSpellings) {
  EXPECT_EQ(read_number("--clip", "2.5"), 2.5);
  EXPECT_EQ(read_number("--clip", "-1e-3"), -1e-3);
  EXPECT_TRUE(std::isnan(read_number("--clip", "nan")));
  for (const char* text : {"", " 1", "1 ", "much", "1,5", "1.5x"}) {
    SCOPED_TRACE(text);
    expect_refusal<UsageError>([&] { read_number("--clip", text); }, {"must be a number"});
  }
  EXPECT_EQ(read_choice<Normalize>("--normalize", "none"), Normalize::kNone);
  expect_refusal<UsageError>([] { read_choice<Normalize>("--normalize", "l1"); },
                             {"--normalize l1: must be one of l2|none"});
}

TEST(OptionTable, CountsAreWholeNumbersFromZero) {
  EXPECT_EQ(read_count("--rows", "0", 10), 0U);
  EXPECT_EQ(read_count("--rows", "10", 10), 10U);
  EXPECT_EQ(read_count("--rows", "1e3", 1000), 1000U);
  EXPECT_EQ(read_count("--rows", "1.5e1", 1000), 15U);
  EXPECT_EQ(read_count("--rows", "18446744073709551615", ~std::uint64_t{0}), ~std::uint64_t{0});
  expect_refusals<UsageError>({
      {[] { read_count("--rows", "1e20", ~std::uint64_t{0}); }, "must be at most"},
      {[] { read_count("--rows", "-3", 10); }, "--rows -3: must not be negative"},
      {[] { read_count("--rows", "11", 10); }, "--rows 11: must be at most 10"},
      {[] { read_count("--rows", "99999999999999999999", 10); }, "must be at most"},
  });
  for (const char* text : {"", "1.5", "1e-3", "soon", "+1", " 1", "0x10", "nan", "inf", "1e3 "}) {
    SCOPED_TRACE(text);
    expect_refusal<UsageError>([&] { read_count("--rows", text, 10); }, {"must be a whole number"});
  }
}

TEST(OptionTable, HelpTellsTheValueThatIsThere) {
  double clip = 1.5;
  std::optional<double> share{};
  std::size_t pool = 3;
  std::string out = "model";
  Normalize normalize = Normalize::kNone;
  OptionTable table;
  EXPECT_EQ(table.number("--clip", clip, "").usual, "1.5");
  EXPECT_EQ(table.number("--share", share, "").usual, "");
  EXPECT_EQ(table.count("--pool", pool, "").usual, "3");
  EXPECT_EQ(table.text("--out", out, "").usual, "model");
  EXPECT_EQ(table.choice("--normalize", normalize, "").usual, "none");
  EXPECT_EQ(table.choice("--normalize2", normalize, "").type, "l2|none");
}

TEST(OptionTable, ReadersWriteWhereTheyWereTold) {
  std::optional<double> alpha = 1.0;
  std::optional<std::uint64_t> seed;
  std::vector<double> epsilons{1.0};
  std::vector<std::string> files{};
  bool flag = false;
  OptionTable table;
  table.number_or_auto("--alpha", alpha, "");
  table.count("--seed", seed, "");
  table.numbers("--epsilons", epsilons, "");
  table.files("--x,--test-x", files, "");
  table.flag("--flag", flag, "");
  table.find("alpha")->read({"auto"});
  EXPECT_FALSE(alpha.has_value());
  table.find("--alpha")->read({"2"});
  EXPECT_EQ(alpha, 2.0);
  expect_refusal<UsageError>([&] { table.find("--alpha")->read({"much"}); }, {"must be a number or auto"});
  table.find("--seed")->read({"7"});
  EXPECT_EQ(seed, 7U);
  table.find("--epsilons")->read({"2", "3"});
  EXPECT_THAT(epsilons, ElementsAre(2.0, 3.0));
  table.find("--test-x")->read({"a", "b"});
  EXPECT_THAT(files, ElementsAre("a", "b"));
  table.find("--flag")->read({});
  EXPECT_TRUE(flag);
}

TEST(OptionTable, OptionsAreFoundByAnyOfTheirNames) {
  std::string report;
  OptionTable table;
  table.text("--report,report", report, "");
  EXPECT_EQ(table.find("--report"), table.find("report"));
  EXPECT_EQ(table.find("--rep"), nullptr);
  EXPECT_EQ(table.find("--report")->long_name(), "report");
  EXPECT_FALSE(table.find("--report")->is_given());
}

// What a table says of its options, for tests of its rules.
struct Said {
  std::optional<double> share{};
  double clip = 1.0;
  std::size_t rounds = 1;
  std::string ledger{};
  std::vector<std::string> files{};
  Normalize normalize = Normalize::kL2;
  bool is_private = false;
};

struct SaidTable : OptionTable {
  explicit SaidTable(Said& said) {
    number("--share", said.share, "part").share();
    number("--clip", said.clip, "norm").positive();
    count("--rounds", said.rounds, "steps").from(1, 10, "the number of steps ");
    file("--ledger", said.ledger, "ledger");
    files("--x,--test-x", said.files, "rows");
    choice("--normalize", said.normalize, "scale");
    flag("--private", said.is_private, "noise");
  }
};

class OptionRules : public testing::Test {
 protected:
  std::string refusal() {
    return dpreduce::refusal<UsageError>([&] { table.settle(); });
  }

  Said said;
  SaidTable table{said};
};

TEST_F(OptionRules, NumbersAreWithinTheirRangeWhoeverHasSetThem) {
  EXPECT_EQ(refusal(), "");
  EXPECT_THAT(table.find("--rounds")->help, HasSubstr("steps (from 1 to 10)"));
  said.rounds = 11;
  EXPECT_EQ(refusal(), "--rounds 11: the number of steps must be from 1 to 10");
  said.rounds = 10;
  for (const double clip : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    said.clip = clip;
    EXPECT_THAT(refusal(), HasSubstr(": must be a positive finite number")) << clip;
  }
  said.clip = 2.0;
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    said.share = share;
    EXPECT_THAT(refusal(), HasSubstr("must lie between 0 and 1")) << share;
  }
}

TEST(OptionTable, AnOptionIsSetWhereItIsNotWhatItWas) {
  Said said{.clip = 3.0};
  SaidTable table(said);
  const std::vector<std::string> all{"--share",  "--clip",      "--rounds", "--ledger",
                                     "--test-x", "--normalize", "--private"};
  for (const std::string& option : all) EXPECT_FALSE(table.holds(option)) << option;
  said = Said{0.5, 1.0, 2, "l", {"a"}, Normalize::kNone, true};
  for (const std::string& option : all) EXPECT_TRUE(table.holds(option)) << option;
  EXPECT_TRUE(table.holds("--x"));
  EXPECT_TRUE(table.holds("--normalize none") && table.holds("--normalize l2|none"));
  EXPECT_FALSE(table.holds("--normalize l2"));
  EXPECT_TRUE(table.holds("--rounds above 1"));
  EXPECT_FALSE(table.holds("--rounds above 2"));
  EXPECT_THROW(table.holds("--absent"), std::logic_error);
}

TEST_F(OptionRules, ARuleMayCountWhatIsGivenWithItsDefault) {
  table.find("--clip")->given = {"1"};
  table.excludes("--clip", "--private", "why");
  said.is_private = true;
  EXPECT_EQ(refusal(), "");
  table.needs("--clip", "--ledger").if_given();
  EXPECT_EQ(refusal(), "--clip goes with --ledger");
}

TEST_F(OptionRules, ASideMayBeAnyOfSeveralOrOfAList) {
  table.find("--clip")->finite();
  table.needs("--ledger", "--x {rank} or --private");
  said.ledger = "l";
  said.files = {"x.npy"};
  EXPECT_EQ(refusal(), "--ledger goes with --x {rank} or --private");
  said.files.emplace_back("y{rank}.npy");
  EXPECT_EQ(refusal(), "");
  said.files.clear();
  said.is_private = true;
  EXPECT_EQ(refusal(), "");
  said.clip = HUGE_VAL;
  EXPECT_EQ(refusal(), "--clip inf: must be a finite number");
  table.add({.names = "--list"}).given = {"a,b", "c"};
  EXPECT_TRUE(table.holds("--list") && table.holds("--list twice"));
  EXPECT_TRUE(table.holds("--list b") && table.holds("--list x|c"));
  EXPECT_FALSE(table.holds("--list d|ab"));
}

TEST_F(OptionRules, WhatARuleAsksIsRefusedWithBothSidesAndWhy) {
  table.needs("--ledger", "--private", "it is charged");
  table.excludes("--share", "--normalize none", "rows have one length");
  table.together("--x", "--rounds above 5");
  EXPECT_EQ(refusal(), "");
  said.ledger = "l";
  EXPECT_EQ(refusal(), "--ledger goes with --private: it is charged");
  said.is_private = true;
  EXPECT_EQ(refusal(), "");
  said.share = 0.5;
  said.normalize = Normalize::kNone;
  EXPECT_EQ(refusal(), "--share with --normalize none: rows have one length");
  said.share.reset();
  said.files = {"a"};
  EXPECT_EQ(refusal(), "--x and --rounds above 5 go together: --rounds above 5 is missing");
  said.rounds = 6;
  EXPECT_EQ(refusal(), "");
}

TEST_F(OptionRules, ARuleMayBeOfSomeCasesOnly) {
  said.share = 0.5;
  table.excludes("--ledger", "--x", "why").only_where("--private").but_not_where("--normalize none");
  table.needs("--rounds", "--normalize l2|none");
  said.ledger = "l";
  said.files = {"a"};
  EXPECT_EQ(refusal(), "");
  said.is_private = true;
  EXPECT_EQ(refusal(), "--ledger and --private with --x: why");
  said.normalize = Normalize::kNone;
  EXPECT_EQ(refusal(), "");
}

TEST_F(OptionRules, WhatFollowsFromOptionsIsSetBeforeTheyAreChecked) {
  table.when_read([&](const OptionTable& read) {
    if (read.holds("--private")) said.ledger = "ledger.jsonl";
  });
  table.needs("--private", "--ledger");
  said.is_private = true;
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(said.ledger, "ledger.jsonl");
}

}  // namespace dpreduce::option_table_test
