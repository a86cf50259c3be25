// Options of a fit, part by part: what is refused, in which words.

#include "tests/methods/good_fit.hpp"

namespace dpreduce::options_test {

// A part of otherwise good options that is wrong by this method, and what is said of it.
template <typename Part>
struct Wrong {
  Part part;
  std::string message;
  std::string method = "mean";
};

template <typename Part>
void expect_refused(const std::vector<Wrong<Part>>& parts) {
  for (const auto& [part, message, method] : parts) EXPECT_THAT(refusal_of(part, method), HasSubstr(message));
}

TEST(DataOptions, GoodOnesAreAccepted) {
  DataOptions data = good_fit().data;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 1U);
  data.max_labels = 10;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 10U);
}

TEST(DataOptions, ClassesLabelsAndImbalancesAreThoseOfRows) {
  Spoils<DataOptions> spoils{
      {[](auto& data) { data.test.x.assign(1, "t.npy"); }, "--test-y is missing"},
      {[](auto& data) { data.validation.y.assign(1, "v.npy"); }, "--validation-x is missing"},
      {[](auto& data) { data.imbalance_ratio = 1.0, data.imbalance_seed = 2; },
       "--imbalance-seed goes with --imbalance-ratio"},
      {[](auto& data) { data.imbalance_ratio = 10.0, data.max_labels = 2; }, "--imbalance-ratio with --max-labels"}};
  for (const std::size_t classes : {std::size_t{0}, std::size_t{1}, std::size_t{99'999'999'999}})
    spoils.emplace_back([=](auto& data) { data.classes = classes; }, fmt::format("--classes {}", classes));
  for (const std::size_t most : {0, 11}) {
    spoils.emplace_back([=](auto& data) { data.max_labels = most; },
                        fmt::format("--max-labels {}: must be from 1 to 10, the number of classes", most));
  }
  for (const double ratio : {0.5, -1.0, 2e6, std::nan("")})
    spoils.emplace_back([=](auto& data) { data.imbalance_ratio = ratio; }, fmt::format("--imbalance-ratio {}", ratio));
  for (const auto& [spoil, message] : spoils) {
    DataOptions data = good_fit().data;
    spoil(data);
    EXPECT_THAT(refusal_of(data), HasSubstr(message));
  }
}

TEST(MachineOptions, ThreadsAndMemoryHaveLimits) {
  expect_refused<MachineOptions>({{{.threads = 100'000}, "--threads 100000"},
                                  {{.memory_mib = 0}, "--memory 0"},
                                  {{.memory_mib = std::size_t{1} << 30}, "--memory"}});
}

TEST(OutputOptions, AModelIsWritten) {
  expect_refused<OutputOptions>({{{.out = ""}, "--out"}});
}

TEST(PreparationOptions, AreWithinTheirRanges) {
  for (const double clip : {0.0, -1.0, std::nan(""), HUGE_VAL})
    expect_refused<PreparationOptions>({{{.clip_norm = clip}, fmt::format("--clip {}", clip)}});
  for (const double share : {0.0, 1.0, -0.1, std::nan("")}) {
    expect_refused<PreparationOptions>(
        {{{.center_share = share}, fmt::format("--center-share {}", share)},
         {{.pca = 2, .pca_share = share}, fmt::format("--pca-share {}", share)},
         {{.select = 2, .select_share = share}, fmt::format("--select-share {}", share)}});
  }
  expect_refused<PreparationOptions>({{{.pool = 0}, "--pool 0"}});
}

TEST(PreparationOptions, WhatSaysHowGoesWithWhatSaysThat) {
  expect_refused<PreparationOptions>({{{.pca_share = 0.1}, "--pca-share goes with --pca"},
                                      {{.select_by = SelectBy::kT}, "--select-by goes with --select", "fisher"},
                                      {{.select_share = 0.1}, "--select-share goes with --select", "ls"}});
}

TEST(PrivacyOptions, ALedgerIsKeptAndTheBudgetOfADataSetIsAWholeOne) {
  expect_refused<PrivacyOptions>(
      {{{.ledger = ""}, "--ledger"},
       {{.limit_epsilon = 0.5}, "--budget-epsilon and --budget-delta go together: --budget-delta is missing"},
       {{.limit_delta = 0.5}, "--budget-epsilon is missing"}});
}

TEST(PrivacyOptions, WithoutNoiseThereIsNoBudget) {
  const std::pair<const char*, GivenBudget> stated[] = {
      {"--epsilon", {.epsilon = 1.0}}, {"--delta", {.delta = 1e-6}}, {"--rho", {.rho = 1.0}}, {"--mu", {.mu = 1.0}}};
  for (const auto& [option, budget] : stated) {
    FitOptions fit = good_fit("mean");
    fit.privacy.budget = {budget, Accountant::kGdp, true};
    EXPECT_THAT(refusal(fit), HasSubstr("--non-private with " + std::string(option)));
  }
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

TEST(SiloOptions, ARosterNeedsAnIdentityAndTimesAndLinesAreWithinTheirRange) {
  expect_refused<SiloOptions>({{{.secure_aggregation = true, .roster = "r.toml"}, "--identity is missing"},
                               {{.secure_aggregation = true, .timeout_seconds = 0}, "--silo-timeout 0"},
                               {{.secure_aggregation = true, .round_trip_ms = -1}, "--round-trip -1: must be from 0"},
                               {{.secure_aggregation = true, .round_trip_ms = std::nan("")}, "--round-trip nan"},
                               {{.secure_aggregation = true, .bandwidth_mbit = 0}, "--bandwidth 0: must be from 0.001"},
                               {{.secure_aggregation = true, .round_trip_ms = 40, .packet_loss_percent = 100},
                                "--packet-loss 100: must be from 0 to 99"},
                               {{.secure_aggregation = true, .packet_loss_percent = 1},
                                "--packet-loss above 0 goes with --round-trip above 0"}});
}

TEST(MethodOptions, AreWithinTheirRanges) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{100'001}}) {
    expect_refused<MethodOptions>({{{.rounds = count}, fmt::format("--rounds {}", count), "gd"},
                                   {{.local_steps = count}, fmt::format("--local-steps {}", count)}});
  }
  for (const double rate : {0.0, -0.5, 1.5, 256.0, 1e-10, std::nan("")})
    EXPECT_THAT(refusal_of(MethodOptions{.batch = rate}), HasSubstr("the probability of a row")) << rate;
  for (const double value : {0.0, -1.0, std::nan("")}) {
    expect_refused<MethodOptions>({{{.lambda = value}, fmt::format("--lambda {}", value)},
                                   {{.learning_rate = value}, fmt::format("--learning-rate {}", value)},
                                   {{.radius = value}, fmt::format("--radius {}", value)}});
  }
  for (const double share : {0.0, 1.0}) {
    expect_refused<MethodOptions>(
        {{{.gram_share = share}, fmt::format("--gram-share {}", share)},
         {{.warm_start = true, .warm_start_share = share}, fmt::format("--warm-start-share {}", share)},
         {{.choose = true, .choose_share = share}, fmt::format("--choose-share {}", share)}});
  }
  expect_refused<MethodOptions>({{{.top_k = 0}, "--top-k 0"},
                                 {{.d_min = -1.0}, "--d-min -1: must be from 0 to 2"},
                                 {{.d_max = 2.5}, "--d-max 2.5: must be from 0 to 2"},
                                 {{.expected_rows = 0.0}, "--expected-rows 0: must be from 1"},
                                 {{.alpha = -1.0}, "--alpha -1", "ls"},
                                 {{.alpha = HUGE_VAL}, "use --shared-gram", "ls"},
                                 {{.alpha = 1e-9}, "must be 0 or at least", "ls"}});
}

TEST(MethodOptions, AtTheEndsOfTheirRangesAreAccepted) {
  EXPECT_THAT(refusal_of(MethodOptions{.batch = 1.0}, "gd"), IsEmpty());
  EXPECT_THAT(refusal_of(MethodOptions{.alpha = 0.0}, "ls"), IsEmpty());
  EXPECT_THAT(refusal_of(MethodOptions{.objective = Objective::kBalanced, .smallest_share = 0.01}, "auto"), IsEmpty());
}

// A warm start is of probabilities, a balanced objective adjusts those of one head, and what is chosen is not given.
// Single options that a method refuses, as its entry says: method_terms_test.cpp.
TEST(MethodOptions, ThatContradictEachOtherAreRefused) {
  constexpr Objective kBalanced = Objective::kBalanced;
  expect_refused<MethodOptions>(
      {{{.loss = Loss::kSquare, .warm_start = true}, "--warm-start with --loss square", "gd"},
       {{.warm_start_share = 0.1}, "goes with --warm-start", "gd"},
       {{.objective = kBalanced, .loss = Loss::kSigmoid}, "--objective balanced with --loss sigmoid", "auto"},
       {{.objective = kBalanced, .warm_start = true}, "--objective balanced with --warm-start", "auto"},
       {{.objective = kBalanced, .choose = true}, "--objective balanced with --choose", "auto"},
       {{.smallest_share = 0.01}, "--smallest-share with --method auto goes with --objective balanced", "auto"},
       {{.loss = Loss::kSquare}, "--method newton with --loss square", "newton"},
       {{.d_min = 1.5, .d_max = 1.5}, "the lower bound must be below the upper", "public"},
       {{.shared_gram = true, .alpha = 2.0}, "--alpha with --shared-gram", "ls"},
       {{.shared_gram = true, .lambda = 1.0}, "--lambda with --shared-gram", "ls"},
       {{.iterate = Iterate::kAverage, .choose = true}, "--iterate with --choose", "gd"},
       {{.lambda = 3.0, .choose = true}, "--lambda with --choose", "ls"},
       {{.choose_share = 0.1}, "--choose-share goes with --choose", "ls"}});
}

}  // namespace dpreduce::options_test
