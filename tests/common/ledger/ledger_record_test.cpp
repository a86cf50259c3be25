#include "common/ledger/ledger_record.hpp"

#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/common/special_values.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

TEST(LedgerRecord, ARunIsNamedBeforeTheFirstSlash) {
  EXPECT_EQ(run_of("run-1/gradient/3"), "run-1");
  EXPECT_EQ(run_of("run-1"), "run-1");
  EXPECT_EQ(run_of("/means"), "");
}

TEST(LedgerRecord, FaultsOfEndsAndStartsNameTheField) {
  EXPECT_EQ(fault_of(RunEnd{"run-1", RunOutcome::kStopped}), "");
  EXPECT_THAT(fault_of(RunEnd{"run/1", RunOutcome::kStopped}), HasSubstr("run must"));
  EXPECT_THAT(fault_of(RunEnd{"..", RunOutcome::kStopped}), HasSubstr("run must"));
  EXPECT_EQ(fault_of(LedgerStart{std::string(64, 'a'), "1.0"}), "");
  EXPECT_THAT(fault_of(LedgerStart{std::string(63, 'a'), "1.0"}), HasSubstr("public key must"));
  EXPECT_THAT(fault_of(LedgerStart{std::string(64, 'a'), ""}), HasSubstr("version must"));
}

struct BadEntry {
  const char* name;
  std::function<void(LedgerEntry&)> spoil;
  const char* message;
};

class LedgerEntryFault : public testing::TestWithParam<BadEntry> {};

TEST_P(LedgerEntryFault, NamesTheField) {
  LedgerEntry entry = sample_entry("run-1/means");
  ASSERT_EQ(fault_of(entry), "");
  GetParam().spoil(entry);
  EXPECT_THAT(fault_of(entry), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, LedgerEntryFault,
    testing::Values(
        BadEntry{"NoReleaseId", [](LedgerEntry& entry) { entry.release_id = ""; }, "release id must"},
        BadEntry{"LongReleaseId", [](LedgerEntry& entry) { entry.release_id.assign(129, 'x'); }, "release id must"},
        BadEntry{"NewlineInMethod", [](LedgerEntry& entry) { entry.terms.method = "a\nb"; }, "method must"},
        BadEntry{"QuoteInVersion", [](LedgerEntry& entry) { entry.terms.version = "\""; }, "version must"},
        BadEntry{"InvalidUtf8", [](LedgerEntry& entry) { entry.terms.method = "\xff"; }, "method must"},
        BadEntry{"NoBlocks", [](LedgerEntry& entry) { entry.blocks.clear(); }, "blocks must not be empty"},
        BadEntry{"BlockName", [](LedgerEntry& entry) { entry.blocks[1].name = "<"; }, "a block's name"},
        BadEntry{"NoElements", [](LedgerEntry& entry) { entry.blocks[1].elements = 0; }, "block count: has no"},
        BadEntry{"NoSigma", [](LedgerEntry& entry) { entry.blocks[1].sigma = 0; }, "block count: sigma = 0"},
        BadEntry{"NanSigma", [](LedgerEntry& entry) { entry.blocks[0].sigma = kNan; }, "block sum: sigma = nan"},
        BadEntry{"InfiniteSensitivity", [](LedgerEntry& entry) { entry.blocks[0].sensitivity = kInfinity; },
                 "block sum: sensitivity = inf"},
        BadEntry{"NegativeMu", [](LedgerEntry& entry) { entry.mu = -1; }, "mu = -1"},
        BadEntry{"MuWhoseSquareOverflows", [](LedgerEntry& entry) { entry.mu = 1e200; }, "rho = mu^2 / 2 = inf"},
        BadEntry{"EpsilonWithoutDelta", [](LedgerEntry& entry) { entry.terms.delta.reset(); }, "together"},
        BadEntry{"DeltaWithoutEpsilon", [](LedgerEntry& entry) { entry.terms.epsilon.reset(); }, "together"},
        BadEntry{"NanEpsilon", [](LedgerEntry& entry) { entry.terms.epsilon = kNan; }, "epsilon = nan"},
        BadEntry{"UnitDelta", [](LedgerEntry& entry) { entry.terms.delta = 1; }, "delta = 1"},
        BadEntry{"ShortDigest", [](LedgerEntry& entry) { entry.terms.config_digest = "abc"; }, "config digest must"},
        BadEntry{"UpperCaseDigest", [](LedgerEntry& entry) { entry.terms.config_digest.assign(64, 'A'); },
                 "config digest must"},
        BadEntry{"SampledExchange",
                 [](LedgerEntry& entry) {
                   entry.sampling_rate = 0.5;
                   entry.terms.adjacency = Adjacency::kReplaceOne;
                 },
                 "under add-remove"},
        BadEntry{"NoRate", [](LedgerEntry& entry) { entry.sampling_rate = 0; }, "sampling rate = 0"},
        BadEntry{"SilosThatCannotBe",
                 [](LedgerEntry& entry) {
                   entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 3, 4, 1};
                 },
                 "silos: 3 left, threshold 4, 1 colluding cannot be"},
        BadEntry{"SiloThatCountsOthers",
                 [](LedgerEntry& entry) {
                   entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1, 2};
                 },
                 "silos: silo 2, 5 left, threshold 4, 1 colluding cannot be"}),
    [](const auto& test) { return test.param.name; });

class LedgerSelectionFault : public testing::TestWithParam<BadEntry> {};

TEST_P(LedgerSelectionFault, NamesTheField) {
  LedgerEntry entry = sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5);
  ASSERT_EQ(fault_of(entry), "");
  GetParam().spoil(entry);
  EXPECT_THAT(fault_of(entry), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, LedgerSelectionFault,
    testing::Values(
        BadEntry{"Blocks",
                 [](LedgerEntry& entry) {
                   entry.blocks = {{"sum", 1, 1, 1}};
                 },
                 "has no blocks"},
        BadEntry{"Sampled", [](LedgerEntry& entry) { entry.sampling_rate = 0.5; }, "sampling rate = 0.5"},
        BadEntry{"Mu", [](LedgerEntry& entry) { entry.mu = 0.1; }, "mu = 0.1"},
        BadEntry{"NoEpsilon", [](LedgerEntry& entry) { entry.selection->epsilon = 0; }, "selection: epsilon = 0"},
        BadEntry{"NanEpsilon", [](LedgerEntry& entry) { entry.selection->epsilon = kNan; }, "epsilon = nan"},
        BadEntry{"LargeEpsilon", [](LedgerEntry& entry) { entry.selection->epsilon = 201; }, "epsilon = 201"},
        BadEntry{"NoSensitivity", [](LedgerEntry& entry) { entry.selection->sensitivity = 0; }, "sensitivity = 0"},
        BadEntry{"NoCandidates", [](LedgerEntry& entry) { entry.selection->candidates = 0; }, "candidates = 0"},
        BadEntry{"NoGroups", [](LedgerEntry& entry) { entry.selection->groups = 0; }, "groups = 0"},
        BadEntry{"TooMany", [](LedgerEntry& entry) { entry.selection->groups = 1ULL << 62; }, "at most 2^40"},
        BadEntry{"NoneChosen", [](LedgerEntry& entry) { entry.selection->chosen = 0; }, "chosen = 0"},
        BadEntry{"AllAndMoreChosen", [](LedgerEntry& entry) { entry.selection->chosen = 1001; }, "chosen = 1001"},
        BadEntry{"SetsByPermuteAndFlip",
                 [](LedgerEntry& entry) { entry.selection->mechanism = SelectionMechanism::kPermuteAndFlip; },
                 "permute-and-flip chooses one"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace dpreduce
