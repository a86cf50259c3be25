#include "common/ledger/ledger_record.hpp"

#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ledger_record_test {

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

void expect_faults(const LedgerEntry& good, const Spoils<LedgerEntry>& spoils) {
  ASSERT_EQ(fault_of(good), "");
  for (const auto& [spoil, message] : spoils) {
    LedgerEntry entry = good;
    spoil(entry);
    EXPECT_THAT(fault_of(entry), HasSubstr(message));
  }
}

TEST(LedgerRecord, FaultsOfEntriesNameTheField) {
  expect_faults(sample_entry("run-1/means"),
                {{[](auto& entry) { entry.release_id = ""; }, "release id must"},
                 {[](auto& entry) { entry.release_id.assign(129, 'x'); }, "release id must"},
                 {[](auto& entry) { entry.terms.method = "a\nb"; }, "method must"},
                 {[](auto& entry) { entry.terms.version = "\""; }, "version must"},
                 {[](auto& entry) { entry.terms.method = "\xff"; }, "method must"},
                 {[](auto& entry) { entry.blocks.clear(); }, "blocks must not be empty"},
                 {[](auto& entry) { entry.blocks[1].name = "<"; }, "a block's name"},
                 {[](auto& entry) { entry.blocks[1].elements = 0; }, "block count: has no"},
                 {[](auto& entry) { entry.blocks[1].sigma = 0; }, "block count: sigma = 0"},
                 {[](auto& entry) { entry.blocks[0].sigma = kNan; }, "block sum: sigma = nan"},
                 {[](auto& entry) { entry.blocks[0].sensitivity = kInfinity; }, "block sum: sensitivity = inf"},
                 {[](auto& entry) { entry.mu = -1; }, "mu = -1"},
                 {[](auto& entry) { entry.mu = 1e200; }, "rho = mu^2 / 2 = inf"},
                 {[](auto& entry) { entry.terms.delta.reset(); }, "together"},
                 {[](auto& entry) { entry.terms.epsilon.reset(); }, "together"},
                 {[](auto& entry) { entry.terms.epsilon = kNan; }, "epsilon = nan"},
                 {[](auto& entry) { entry.terms.delta = 1; }, "delta = 1"},
                 {[](auto& entry) { entry.terms.config_digest = "abc"; }, "config digest must"},
                 {[](auto& entry) { entry.terms.config_digest.assign(64, 'A'); }, "config digest must"},
                 {[](auto& entry) { entry.sampling_rate = 0; }, "sampling rate = 0"},
                 {[](auto& entry) {
                    entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 3, 4, 1};
                  },
                  "silos: 3 left, threshold 4, 1 colluding cannot be"},
                 {[](auto& entry) {
                    entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1, 2};
                  },
                  "silos: silo 2, 5 left, threshold 4, 1 colluding cannot be"}});
}

TEST(LedgerRecord, FaultsOfSelectionsNameTheField) {
  expect_faults(sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5),
                {{[](auto& entry) {
                    entry.blocks = {{"sum", 1, 1, 1}};
                  },
                  "has no blocks"},
                 {[](auto& entry) { entry.sampling_rate = 0.5; }, "sampling rate = 0.5"},
                 {[](auto& entry) { entry.mu = 0.1; }, "mu = 0.1"},
                 {[](auto& entry) { entry.selection->epsilon = 0; }, "selection: epsilon = 0"},
                 {[](auto& entry) { entry.selection->epsilon = kNan; }, "epsilon = nan"},
                 {[](auto& entry) { entry.selection->epsilon = 201; }, "epsilon = 201"},
                 {[](auto& entry) { entry.selection->sensitivity = 0; }, "sensitivity = 0"},
                 {[](auto& entry) { entry.selection->candidates = 0; }, "candidates = 0"},
                 {[](auto& entry) { entry.selection->groups = 0; }, "groups = 0"},
                 {[](auto& entry) { entry.selection->groups = 1ULL << 62; }, "at most 2^40"},
                 {[](auto& entry) { entry.selection->chosen = 0; }, "chosen = 0"},
                 {[](auto& entry) { entry.selection->chosen = 1001; }, "chosen = 1001"},
                 {[](auto& entry) { entry.selection->mechanism = SelectionMechanism::kPermuteAndFlip; },
                  "permute-and-flip chooses one"}});
}

}  // namespace dpreduce::ledger_record_test
