// The program that measures the parts of a run, and the table that launch/scaling makes of it.
#include "tests/cli/program_test.hpp"

namespace dpreduce::bench_test {

class BenchTest : public ProgramTest {};

TEST_F(BenchTest, ARoundTellsItsFiguresOnAnyNumberOfRanks) {
  for (const int ranks : {0, 1, 3}) {
    const json round = figures("round --rows 100 --dim 16 --classes 5 --threads 2", ranks);
    EXPECT_EQ(round["ranks"], std::max(ranks, 1));
    EXPECT_EQ(round["classes"], 5);
    const double seconds = round["seconds"];
    const double macs = 2.0 * 100 * 16 * 5;
    EXPECT_NEAR(round["gmac_per_second"].get<double>() * 1e9 * seconds, macs, 1e-6 * macs);
    EXPECT_EQ(round["bytes_read"], 100 * 16 * 2);
    for (const char* part :
         {"scores_seconds", "residuals_seconds", "outer_product_seconds", "read_seconds", "share_of_gram"}) {
      EXPECT_GT(round[part], 0.0) << part;
    }
    EXPECT_NEAR(round["times_read"].get<double>() * round["read_seconds"].get<double>(), seconds, 1e-6 * seconds);
  }
  EXPECT_THAT(run("round --rows 100 --dim 16 --classes 5").out, HasSubstr("gmac_per_second"));
  EXPECT_EQ(run("round --rows 100 --dim 16 --classes 1").exit_code, 2);
  EXPECT_EQ(run("round --rows 2 --dim 16 --classes 2", 3).exit_code, 0) << "a rank may have no row";
}

TEST_F(BenchTest, EachPartTellsItsFigures) {
  expect_members(figures("gram --rows 101 --dim 16", 3), {{"ranks", 3}, {"rows", 101}});
  const json gram = figures("gram --rows 64 --dim 32 --repeats 1");
  for (const char* key : {"kernel", "rows", "dim", "threads", "seconds", "gmac_per_second"}) {
    EXPECT_TRUE(gram.contains(key)) << key;
  }
  EXPECT_GT(figures("noise --sigma 1048576 --count 10000 --repeats 1")["samples_per_second"], 0.0);
  const json reduce = figures("reduce --elements 1000 --repeats 1", 3);
  EXPECT_EQ(reduce["ranks"], 3);
  EXPECT_GT(reduce["gigabytes_per_second"], 0.0);
  EXPECT_THAT(succeed("gram --rows 64 --dim 32 --repeats 1").out, HasSubstr("gmac_per_second"));
}

TEST_F(BenchTest, EveryHelpHasAnExampleAndWhatIsWrongIsRefused) {
  for (const std::string part : {"gram", "noise", "reduce", "round"}) {
    EXPECT_THAT(succeed(part + " --help").out, AllOf(HasSubstr("Examples:"), HasSubstr("dpreduce_bench " + part)));
  }
  for (const char* none : {"--rows 0", "--repeats 0"}) {
    expect_refused(fmt::format("gram {}", none), 2, "must be at least 1");
  }
  expect_refused("gram --rows 8 --dim 8 --kernel abacus", 2, "abacus");
  expect_refused("fit", 2, "fit");
}

TEST_F(BenchTest, ScalingWritesATableAndAPicture) {
  ASSERT_EQ(run_in_shell(DPREDUCE_SCRIPT_ENVIRONMENT " '" DPREDUCE_SOURCE "/launch/scaling' out 1 2").exit_code, 0);
  const auto rows = lines_of(bytes("out/scaling.csv"));
  ASSERT_EQ(rows.size(), 9u) << "a header; Gram and round, strong and weak, 1 and 2 ranks";
  EXPECT_THAT(rows[3], testing::MatchesRegex("gram,weak,1,1,64,8,,[0-9.e-]+,[0-9.e-]+,1.000"));
  EXPECT_THAT(rows[8], testing::MatchesRegex("round,weak,2,1,128,8,3,[0-9.e-]+,[0-9.e-]+,[0-9.]+"));
  EXPECT_THAT(bytes("out/scaling.svg"), AllOf(HasSubstr("<svg"), HasSubstr(">round</text>")));
}

}  // namespace dpreduce::bench_test
