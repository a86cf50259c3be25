// Options of a fit, part by part: what is refused, in which words.

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::options_test {

template <typename Part>
using Refused = std::vector<std::pair<Part, std::string>>;

template <typename Part>
void expect_refused(const Refused<Part>& parts, const std::string& method = "mean") {
  for (const auto& [part, message] : parts) EXPECT_THAT(refusal_of(part, method), HasSubstr(message));
}

TEST(Options, DefaultsAreAccepted) {
  EXPECT_THAT(refusal_of(MachineOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(MethodOptions(), "auto"), IsEmpty());
  EXPECT_THAT(refusal_of(OutputOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PreparationOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(PrivacyOptions()), IsEmpty());
  EXPECT_THAT(refusal_of(SiloOptions()), IsEmpty());
}

TEST(DataOptions, GoodOnesAreAccepted) {
  DataOptions data = good_fit().data;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 1U);
  data.max_labels = 10;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 10U);
}

TEST(DataOptions, ClassesAreFromTwo) {
  DataOptions data = good_fit().data;
  for (const std::size_t classes : {std::size_t{0}, std::size_t{1}, std::size_t{99'999'999'999}}) {
    data.classes = classes;
    EXPECT_THAT(refusal_of(data), HasSubstr(fmt::format("--classes {}", classes)));
  }
}

TEST(DataOptions, FeaturesAndLabelsGoTogether) {
  DataOptions data = good_fit().data;
  data.test.x = {"t.npy"};
  EXPECT_THAT(refusal_of(data), HasSubstr("--test-y is missing"));
  data = good_fit().data;
  data.validation.y = {"v.npy"};
  EXPECT_THAT(refusal_of(data), HasSubstr("--validation-x is missing"));
}

TEST(DataOptions, ARowHasAtMostAllClasses) {
  DataOptions data = good_fit().data;
  for (const std::size_t most : {0, 11}) {
    data.max_labels = most;
    EXPECT_THAT(refusal_of(data), HasSubstr("must be from 1 to 10, the number of classes")) << most;
  }
}

TEST(DataOptions, AnImbalanceIsARatioFromOne) {
  DataOptions data = good_fit().data;
  for (const double ratio : {0.5, -1.0, 2e6, std::nan("")}) {
    data.imbalance_ratio = ratio;
    EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-ratio")) << ratio;
  }
  data.imbalance_ratio = 1.0;
  data.imbalance_seed = 2;
  EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-seed goes with --imbalance-ratio"));
  data = good_fit().data;
  data.imbalance_ratio = 10.0;
  data.max_labels = 2;
  EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-ratio with --max-labels"));
}

TEST(MachineOptions, ThreadsAndMemoryHaveLimits) {
  expect_refused<MachineOptions>({{{.threads = 100'000}, "--threads 100000"},
                                  {{.memory_mib = 0}, "--memory 0"},
                                  {{.memory_mib = std::size_t{1} << 30}, "--memory"}});
}

TEST(OutputOptions, AModelIsWritten) {
  expect_refused<OutputOptions>({{{.out = ""}, "--out"}});
}

TEST(PreparationOptions, TheClipNormIsPositiveAndFinite) {
  for (const double clip : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(refusal_of(PreparationOptions{.clip_norm = clip}), HasSubstr(fmt::format("--clip {}", clip)));
  }
}

TEST(PreparationOptions, SharesLieBetweenZeroAndOne) {
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    SCOPED_TRACE(share);
    expect_refused<PreparationOptions>({{{.center_share = share}, "--center-share"},
                                        {{.pca = 2, .pca_share = share}, "--pca-share"},
                                        {{.select = 2, .select_share = share}, "--select-share"}});
  }
}

TEST(PreparationOptions, WhatSaysHowGoesWithWhatSaysThat) {
  expect_refused<PreparationOptions>({{{.pca_share = 0.1}, "--pca-share goes with --pca"}});
  expect_refused<PreparationOptions>({{{.select_by = SelectBy::kT}, "--select-by goes with --select"}}, "fisher");
  expect_refused<PreparationOptions>({{{.select_share = 0.1}, "--select-share goes with --select"}}, "ls");
}

TEST(PreparationOptions, PoolsHoldFeatures) {
  expect_refused<PreparationOptions>({{{.pool = 0}, "--pool 0"}});
}

TEST(PrivacyOptions, ALedgerIsKept) {
  expect_refused<PrivacyOptions>({{{.ledger = ""}, "--ledger"}});
}

TEST(PrivacyOptions, WithoutNoiseThereIsNoBudget) {
  const std::pair<const char*, GivenBudget> stated[] = {
      {"--epsilon", {.epsilon = 1.0}}, {"--delta", {.delta = 1e-6}}, {"--rho", {.rho = 1.0}}, {"--mu", {.mu = 1.0}}};
  for (const auto& [option, budget] : stated) {
    FitOptions fit = good_fit("mean");
    fit.privacy.budget = {budget};
    fit.privacy.budget.non_private = true;
    EXPECT_THAT(refusal(fit), HasSubstr("--non-private with " + std::string(option)));
  }
}

TEST(PrivacyOptions, TheBudgetOfADataSetIsAWholeOne) {
  expect_refused<PrivacyOptions>(
      {{{.limit_epsilon = 0.5}, "--budget-epsilon and --budget-delta go together: --budget-delta is missing"},
       {{.limit_delta = 0.5}, "--budget-epsilon is missing"}});
}

TEST(SiloOptions, NothingOfSilosGoesWithoutThem) {
  const std::pair<const char*, SiloOptions> given[] = {{"--threshold", {.threshold = 3}},
                                                       {"--colluding", {.colluding = 1}},
                                                       {"--noise", {.noise = NoiseSource::kDistributed}},
                                                       {"--roster", {.roster = "r.toml"}},
                                                       {"--identity", {.identity = "i.key"}},
                                                       {"--silo-config", {.own_options = "s.toml"}},
                                                       {"--log", {.log = "a.log"}},
                                                       {"--silo-timeout", {.timeout_seconds = 5}},
                                                       {"--round-trip", {.round_trip_ms = 40}},
                                                       {"--bandwidth", {.bandwidth_mbit = 100}},
                                                       {"--packet-loss", {.packet_loss_percent = 0}}};
  for (const auto& [option, silos] : given) {
    EXPECT_THAT(refusal_of(silos), HasSubstr(std::string(option) + " goes with --secure-aggregation"));
  }
}

TEST(SiloOptions, ARosterNeedsAnIdentity) {
  expect_refused<SiloOptions>({{{.secure_aggregation = true, .roster = "r.toml"}, "--identity is missing"}});
}

TEST(SiloOptions, TimesAndLinesAreWithinTheirRange) {
  expect_refused<SiloOptions>({{{.secure_aggregation = true, .timeout_seconds = 0}, "--silo-timeout 0"},
                               {{.secure_aggregation = true, .round_trip_ms = -1}, "--round-trip -1: must be from 0"},
                               {{.secure_aggregation = true, .round_trip_ms = std::nan("")}, "--round-trip nan"},
                               {{.secure_aggregation = true, .bandwidth_mbit = 0}, "--bandwidth 0: must be from 0.001"},
                               {{.secure_aggregation = true, .round_trip_ms = 40, .packet_loss_percent = 100},
                                "--packet-loss 100: must be from 0 to 99"},
                               {{.secure_aggregation = true, .packet_loss_percent = 1},
                                "--packet-loss above 0 goes with --round-trip above 0"}});
}

TEST(MethodOptions, RoundsAndStepsAreFromOne) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{100'001}}) {
    EXPECT_THAT(refusal_of(MethodOptions{.rounds = count}, "gd"), HasSubstr(fmt::format("--rounds {}", count)));
    EXPECT_THAT(refusal_of(MethodOptions{.local_steps = count}), HasSubstr("--local-steps")) << count;
  }
}

TEST(MethodOptions, ABatchIsAProbability) {
  for (const double rate : {0.0, -0.5, 1.5, 256.0, 1e-10, std::nan("")}) {
    EXPECT_THAT(refusal_of(MethodOptions{.batch = rate}), HasSubstr("the probability of a row")) << rate;
  }
  EXPECT_THAT(refusal_of(MethodOptions{.batch = 1.0}, "gd"), IsEmpty());
}

TEST(MethodOptions, StepsAndBoundsArePositive) {
  for (const double value : {0.0, -1.0, std::nan("")}) {
    SCOPED_TRACE(value);
    expect_refused<MethodOptions>({{{.lambda = value}, "--lambda"},
                                   {{.learning_rate = value}, "--learning-rate"},
                                   {{.radius = value}, "--radius"}});
  }
}

TEST(MethodOptions, AlphaIsNothingOrCounts) {
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = 0.0}, "ls"), IsEmpty());
  expect_refused<MethodOptions>({{{.alpha = -1.0}, "--alpha -1"},
                                 {{.alpha = HUGE_VAL}, "use --shared-gram"},
                                 {{.alpha = 1e-9}, "must be 0 or at least"}},
                                "ls");
}

TEST(MethodOptions, SharesLieBetweenZeroAndOne) {
  for (const double share : {0.0, 1.0}) {
    SCOPED_TRACE(share);
    expect_refused<MethodOptions>({{{.gram_share = share}, "--gram-share"},
                                   {{.warm_start = true, .warm_start_share = share}, "--warm-start-share"},
                                   {{.choose = true, .choose_share = share}, "--choose-share"}});
  }
}

TEST(MethodOptions, CosinesAreClippedWithinTheirRange) {
  expect_refused<MethodOptions>({{{.top_k = 0}, "--top-k 0"},
                                 {{.d_min = -1.0}, "--d-min -1: must be from 0 to 2"},
                                 {{.d_max = 2.5}, "--d-max 2.5: must be from 0 to 2"},
                                 {{.expected_rows = 0.0}, "--expected-rows 0: must be from 1"}});
}

TEST(MethodOptions, AWarmStartIsOfProbabilities) {
  expect_refused<MethodOptions>({{{.loss = Loss::kSquare, .warm_start = true}, "--warm-start with --loss square"},
                                 {{.warm_start_share = 0.1}, "goes with --warm-start"}},
                                "gd");
}

TEST(MethodOptions, ABalancedObjectiveAdjustsProbabilitiesOfOneHead) {
  constexpr Objective kBalanced = Objective::kBalanced;
  expect_refused<MethodOptions>(
      {{{.objective = kBalanced, .loss = Loss::kSigmoid}, "--objective balanced with --loss sigmoid"},
       {{.objective = kBalanced, .warm_start = true}, "--objective balanced with --warm-start"},
       {{.objective = kBalanced, .choose = true}, "--objective balanced with --choose"}},
      "auto");
}

TEST(MethodOptions, WhatAMethodHasNoUseForIsRefused) {
  expect_refused<MethodOptions>({{{.loss = Loss::kSquare}, "--method newton with --loss square"}}, "newton");
  expect_refused<MethodOptions>({{{.d_min = 1.5, .d_max = 1.5}, "the lower bound must be below the upper"}}, "public");
  expect_refused<MethodOptions>({{{.shared_gram = true, .alpha = 2.0}, "--alpha with --shared-gram"},
                                 {{.shared_gram = true, .lambda = 1.0}, "--lambda with --shared-gram"}},
                                "ls");
  expect_refused<MethodOptions>(
      {{{.smallest_share = 0.01}, "--smallest-share with --method auto goes with --objective balanced"}}, "auto");
  EXPECT_THAT(refusal_of(MethodOptions{.objective = Objective::kBalanced, .smallest_share = 0.01}, "auto"), IsEmpty());
}

TEST(MethodOptions, WhatIsChosenIsNotGiven) {
  expect_refused<MethodOptions>({{{.iterate = Iterate::kAverage, .choose = true}, "--iterate with --choose"}}, "gd");
  expect_refused<MethodOptions>({{{.lambda = 3.0, .choose = true}, "--lambda with --choose"},
                                 {{.choose_share = 0.1}, "--choose-share goes with --choose"}},
                                "ls");
}

}  // namespace dpreduce::options_test
