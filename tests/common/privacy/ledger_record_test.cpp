#include "dpreduce/privacy/ledger_record.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sample_entry.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

LedgerRecord sample_record() {
  return {.entry = sample_entry("run-1"), .utc_time = "2026-01-31T23:59:59Z", .previous_sha256 = std::string(64, '0')};
}

std::string three_lines() {
  std::string text;
  for (int release = 0; release < 3; ++release) {
    text += print_record({.entry = sample_entry("run-" + std::to_string(release)),
                          .utc_time = "2026-01-31T23:59:5" + std::to_string(release) + "Z",
                          .previous_sha256 = next_previous_sha256(text)}) +
            "\n";
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start) + 1;
    lines.push_back(text.substr(start, end - start));
    start = end;
  }
  return lines;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + from);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

void expect_corrupt(const std::string& text, const std::string& message) {
  try {
    parse_ledger(text, "ledger.jsonl");
    FAIL() << "accepted";
  } catch (const LedgerCorrupt& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
    EXPECT_EQ(error.code(), ExitCode::kLedgerCorrupt);
  }
}

TEST(LedgerRecord, ALineIsWhatTheLegendSays) {
  EXPECT_EQ(print_record(sample_record()),
            R"({"schema":1,"release":"run-1","time":"2026-01-31T23:59:59Z","previous":")" + std::string(64, '0') +
                R"(","method":"mean","adjacency":"add-remove","accountant":"gdp","private":true,"rounds":1,)"
                R"("blocks":[{"name":"sum","elements":7680,"sensitivity":32767.0,"sigma":122241.5},)"
                R"({"name":"count","elements":10,"sensitivity":1.0,"sigma":20.25}],)"
                R"("mu":0.25,"rho":0.03125,"epsilon":1.0,"delta":1e-05,"config_digest":")" +
                std::string(64, 'a') + R"(","data_digest":")" + std::string(64, '7') + R"(","version":"0.1.0"})");
}

LedgerRecord selection_record() {
  LedgerRecord record = sample_record();
  record.entry = sample_selection("run-1", SelectionMechanism::kExponential, 0.5);
  return record;
}

TEST(LedgerRecord, ALineOfASelectionHasNoBlocksAndNoMu) {
  EXPECT_EQ(print_record(selection_record()),
            R"({"schema":1,"release":"run-1","time":"2026-01-31T23:59:59Z","previous":")" + std::string(64, '0') +
                R"(","method":"mean","adjacency":"add-remove","accountant":"gdp","private":true,"rounds":1,)"
                R"("blocks":[],"selection":{"mechanism":"exponential","epsilon":0.5,"sensitivity":3,)"
                R"("candidates":1000,"groups":10,"chosen":2},"mu":null,"rho":0.03125,"epsilon":1.0,"delta":1e-05,)"
                R"("config_digest":")" +
                std::string(64, 'a') + R"(","data_digest":")" + std::string(64, '7') + R"(","version":"0.1.0"})");
}

TEST(LedgerRecord, RoundTripKeepsEveryFieldOfASelection) {
  LedgerRecord record = selection_record();
  for (const SelectionMechanism mechanism : {SelectionMechanism::kExponential, SelectionMechanism::kPermuteAndFlip}) {
    record.entry.selection = {mechanism, 0.1 + 0.2, std::numeric_limits<std::uint64_t>::max(), 1, 1ULL << 40, 1};
    EXPECT_EQ(parse_record(print_record(record), "here"), record);
  }
}

TEST(LedgerRecord, PermuteAndFlipHasTheRhoOfPureDp) {
  LedgerRecord record = selection_record();
  record.entry.selection->chosen = 1;
  record.entry.selection->mechanism = SelectionMechanism::kPermuteAndFlip;
  EXPECT_THAT(print_record(record), HasSubstr(R"("rho":0.125,)"));
}

LedgerRecord sampled_record() {
  LedgerRecord record = sample_record();
  record.entry.sampling_rate = 0.125;
  return record;
}

TEST(LedgerRecord, ALineOfASampledRoundTellsItsRate) {
  EXPECT_EQ(print_record(sampled_record()),
            replaced(print_record(sample_record()), R"(}],"mu":0.25)", R"(}],"sampling_rate":0.125,"mu":0.25)"));
  EXPECT_EQ(parse_record(print_record(sampled_record()), "here"), sampled_record());
}

TEST(LedgerRecord, SampledLinesOfAnotherFormAreRefused) {
  const std::string line = print_record(sampled_record());
  for (const std::string rate : {"1.0", "1.5", "0.0", "-0.125", "null", "\"0.125\"", "0.1250"}) {
    expect_corrupt(replaced(line, "\"sampling_rate\":0.125", "\"sampling_rate\":" + rate) + "\n", "ledger.jsonl:1");
  }
  expect_corrupt(replaced(line, "add-remove", "replace-one") + "\n", "under add-remove");
  LedgerEntry selection = sample_selection("run-1", SelectionMechanism::kExponential, 0.5);
  selection.sampling_rate = 0.5;
  EXPECT_THAT(fault_of(selection), HasSubstr("sampling rate = 0.5"));
}

TEST(LedgerRecord, SelectionLinesOfAnotherFormAreRefused) {
  const std::string line = print_record(selection_record());
  const std::vector<std::string> others{
      replaced(line, "\"mu\":null", "\"mu\":0.25"),
      replaced(line, "\"mu\":null", "\"mu\":0.0"),
      replaced(line, "\"mu\":null,", ""),
      replaced(line, "\"rho\":0.03125", "\"rho\":0.125"),
      replaced(line, "exponential", "noisy-max"),
      replaced(line, "exponential", "permute-and-flip"),
      replaced(line, "\"selection\":{", "\"selection\":{\"extra\":1,"),
      replaced(line, "\"candidates\":1000", "\"candidates\":0"),
      replaced(line, "\"candidates\":1000", "\"candidates\":1e3"),
      replaced(line, "\"candidates\":1000,", ""),
      replaced(line, "\"epsilon\":0.5", "\"epsilon\":500.0"),
      replaced(line, "\"epsilon\":0.5", "\"epsilon\":null"),
      replaced(line, "\"chosen\":2", "\"chosen\":1001"),
      replaced(line, "\"rounds\":1", "\"rounds\":2"),
      replaced(line, "\"blocks\":[]",
               "\"blocks\":[{\"name\":\"sum\",\"elements\":1,\"sensitivity\":1.0,\"sigma\":1.0}]"),
      replaced(replaced(line, "\"mu\":null", "\"mu\":0.25"), "\"selection\"", "\"choice\""),
      replaced(print_record(sample_record()), "\"mu\":", "\"selection\":null,\"mu\":")};
  for (const std::string& other : others) {
    EXPECT_THROW(parse_record(other, "here"), LedgerCorrupt) << other;
  }
}

TEST(LedgerRecord, ALineOfARunAmongSilosTellsWhoMadeTheNoise) {
  LedgerRecord record = sample_record();
  record.entry.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1};
  const std::string line = print_record(record);
  EXPECT_THAT(line,
              HasSubstr(R"("private":true,"silos":{"noise":"distributed","left":5,"threshold":4,"colluding":1},)"));
  EXPECT_EQ(parse_record(line, "ledger"), record);
  expect_corrupt(replaced(line, R"("left":5)", R"("left":3)") + "\n", "silos: 3 left, threshold 4, 1 colluding");
  expect_corrupt(replaced(line, R"("colluding":1)", R"("colluding":4)") + "\n", "4 colluding cannot be");
  expect_corrupt(replaced(line, R"("distributed")", R"("nobody")") + "\n", "not a choice");
  expect_corrupt(replaced(line, R"("left":5,)", "") + "\n", "a field is missing");
}

TEST(LedgerRecord, RoundTripKeepsEveryBitOfEveryField) {
  LedgerRecord record = sample_record();
  record.entry.adjacency = Adjacency::kReplaceOne;
  record.entry.accountant = Accountant::kZcdp;
  record.entry.is_private = false;
  record.entry.rounds = 1000;
  record.entry.epsilon.reset();
  record.entry.delta.reset();
  record.entry.mu = 0.1 + 0.2;
  record.entry.blocks = {{"gram", std::numeric_limits<std::uint64_t>::max(), 1.0 / 3, 5e-324},
                         {"b", 1, 1e300, std::numeric_limits<double>::max()}};
  EXPECT_EQ(parse_record(print_record(record), "here"), record);
}

// FIPS 180-2, example B.1.
TEST(LedgerRecord, HashIsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(LedgerRecord, AnEmptyTextIsAnEmptyLedger) {
  EXPECT_TRUE(parse_ledger("", "ledger.jsonl").empty());
}

TEST(LedgerRecord, AnIntactChainIsReadInOrder) {
  const std::vector<LedgerRecord> records = parse_ledger(three_lines(), "ledger.jsonl");
  ASSERT_EQ(records.size(), 3u);
  for (int release = 0; release < 3; ++release) {
    EXPECT_EQ(records[static_cast<std::size_t>(release)].entry, sample_entry("run-" + std::to_string(release)));
  }
  EXPECT_EQ(records[0].previous_sha256, std::string(64, '0'));
}

TEST(LedgerRecord, EveryChangedByteBeforeTheLastLineIsFound) {
  const std::string intact = three_lines();
  const std::size_t last_line = intact.rfind('\n', intact.size() - 2) + 1;
  for (std::size_t byte = 0; byte < last_line; ++byte) {
    for (const char flip : {'\x01', '\x20'}) {
      std::string edited = intact;
      edited[byte] = static_cast<char>(edited[byte] ^ flip);
      EXPECT_THROW(parse_ledger(edited, "ledger.jsonl"), LedgerCorrupt) << "byte " << byte;
    }
  }
}

TEST(LedgerRecord, ASmallerMuInTheMiddleIsFound) {
  const std::string intact = three_lines();
  const std::string edited = replaced(replaced(intact, "0.25,", "0.125,"), "0.03125", "0.0078125");
  expect_corrupt(edited, "ledger.jsonl:2: the chain is broken");
}

TEST(LedgerRecord, AMissingLineIsFound) {
  const std::vector<std::string> lines = lines_of(three_lines());
  expect_corrupt(lines[1] + lines[2], "ledger.jsonl:1: the chain is broken");
  expect_corrupt(lines[0] + lines[2], "ledger.jsonl:2: the chain is broken");
}

TEST(LedgerRecord, AnotherOrderIsFound) {
  const std::vector<std::string> lines = lines_of(three_lines());
  expect_corrupt(lines[1] + lines[0] + lines[2], "ledger.jsonl:1: the chain is broken");
  expect_corrupt(lines[0] + lines[2] + lines[1], "ledger.jsonl:2: the chain is broken");
}

TEST(LedgerRecord, ARepeatedLineIsFound) {
  const std::vector<std::string> lines = lines_of(three_lines());
  expect_corrupt(lines[0] + lines[1] + lines[1] + lines[2], "ledger.jsonl:3: the chain is broken");
}

// The documented limit: whole lines cut off at the tail leave a shorter, intact chain.
TEST(LedgerRecord, ACutOfWholeLinesAtTheTailLeavesAnIntactLedger) {
  const std::vector<std::string> lines = lines_of(three_lines());
  EXPECT_EQ(parse_ledger(lines[0] + lines[1], "ledger.jsonl").size(), 2u);
}

TEST(LedgerRecord, ATornLastLineIsFoundWhereverItIsTorn) {
  const std::string intact = three_lines();
  const std::size_t last_line = intact.rfind('\n', intact.size() - 2) + 1;
  for (std::size_t length = last_line + 1; length < intact.size(); ++length) {
    expect_corrupt(intact.substr(0, length), "ledger.jsonl:3: the last line is torn");
  }
}

TEST(LedgerRecord, LinesThatAreNotCanonicalAreRefused) {
  const std::string line = print_record(sample_record());
  const std::vector<std::string> others{
      " " + line,
      line + " ",
      replaced(line, "\"rounds\":1,", "\"rounds\": 1,"),
      replaced(line, "\"rounds\":1,", "\"rounds\":2,\"rounds\":1,"),
      replaced(line, "\"rounds\":1,", "\"rounds\":1,\"count\":1234,"),
      replaced(line, "0.25,", "2.5e-1,"),
      replaced(line, "32767.0", "32767"),
      replaced(line, "\"mean\"", "\"m\\u0065an\""),
      replaced(line, "\"rho\":0.03125", "\"rho\":0.01"),
      replaced(line, "\"schema\":1,\"release\":\"run-1\"", "\"release\":\"run-1\",\"schema\":1")};
  for (const std::string& other : others) {
    EXPECT_THROW(parse_record(other, "here"), LedgerCorrupt) << other;
  }
}

TEST(LedgerRecord, LinesOfAnotherFormAreRefused) {
  const std::string line = print_record(sample_record());
  const std::vector<std::string> others{
      "",
      "null",
      "[]",
      "{}",
      "7",
      "{",
      std::string(100000, '['),
      "\xff\xfe",
      std::string(3, '\0'),
      replaced(line, "\"schema\":1", "\"schema\":2"),
      replaced(line, "\"schema\":1", "\"schema\":-1"),
      replaced(line, "\"schema\":1", "\"schema\":\"1\""),
      replaced(line, "add-remove", "add_remove"),
      replaced(line, "\"gdp\"", "\"GDP\""),
      replaced(line, "\"private\":true", "\"private\":1"),
      replaced(line, "\"rounds\":1", "\"rounds\":0"),
      replaced(line, "\"rounds\":1", "\"rounds\":1.0"),
      replaced(line, "\"elements\":10", "\"elements\":-10"),
      replaced(line, "\"elements\":10", "\"elements\":1e300"),
      replaced(line, "\"mu\":0.25", "\"mu\":null"),
      replaced(line, "\"mu\":0.25", "\"mu\":1e999"),
      replaced(line, "\"mu\":0.25", "\"mu\":-0.25"),
      replaced(line, "\"epsilon\":1.0", "\"epsilon\":null"),
      replaced(line, "\"epsilon\":1.0", "\"epsilon\":true"),
      replaced(replaced(line, "\"blocks\":[{", "\"blocks\":{\"a\":[{"), "}],\"mu\"", "}]},\"mu\""),
      replaced(line, "2026-01-31T", "2026-01-31 "),
      replaced(line, std::string(64, '0'), std::string(63, '0')),
      replaced(line, std::string(64, '0'), std::string(63, '0') + "A"),
      replaced(line, std::string(64, 'a'), "xyz")};
  for (const std::string& other : others) {
    EXPECT_THROW(parse_record(other, "here"), LedgerCorrupt) << other;
  }
}

TEST(LedgerRecord, OverlongLinesAreRefused) {
  try {
    parse_record(std::string(kLongestLedgerLine + 1, ' '), "ledger.jsonl:1");
    FAIL() << "accepted";
  } catch (const LedgerCorrupt& error) {
    EXPECT_THAT(error.what(), HasSubstr("longer than 1048576 bytes"));
  }
}

struct BadEntry {
  const char* name;
  std::function<void(LedgerEntry&)> spoil;
  const char* message;
};

class LedgerEntryFault : public testing::TestWithParam<BadEntry> {};

TEST_P(LedgerEntryFault, NamesTheField) {
  LedgerEntry entry = sample_entry("run-1");
  ASSERT_EQ(fault_of(entry), "");
  GetParam().spoil(entry);
  EXPECT_THAT(fault_of(entry), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, LedgerEntryFault,
    testing::Values(
        BadEntry{"NoReleaseId", [](LedgerEntry& entry) { entry.release_id = ""; }, "release id must"},
        BadEntry{"LongReleaseId", [](LedgerEntry& entry) { entry.release_id.assign(129, 'x'); }, "release id must"},
        BadEntry{"NewlineInMethod", [](LedgerEntry& entry) { entry.method = "a\nb"; }, "method must"},
        BadEntry{"QuoteInVersion", [](LedgerEntry& entry) { entry.version = "\""; }, "version must"},
        BadEntry{"InvalidUtf8", [](LedgerEntry& entry) { entry.method = "\xff"; }, "method must"},
        BadEntry{"NoRounds", [](LedgerEntry& entry) { entry.rounds = 0; }, "rounds = 0"},
        BadEntry{"NoBlocks", [](LedgerEntry& entry) { entry.blocks.clear(); }, "blocks must not be empty"},
        BadEntry{"BlockName", [](LedgerEntry& entry) { entry.blocks[1].name = "<"; }, "a block's name"},
        BadEntry{"NoElements", [](LedgerEntry& entry) { entry.blocks[1].elements = 0; }, "block count: has no"},
        BadEntry{"NoSigma", [](LedgerEntry& entry) { entry.blocks[1].sigma = 0; }, "block count: sigma = 0"},
        BadEntry{"NanSigma", [](LedgerEntry& entry) { entry.blocks[0].sigma = kNan; }, "block sum: sigma = nan"},
        BadEntry{"InfiniteSensitivity", [](LedgerEntry& entry) { entry.blocks[0].sensitivity = kInfinity; },
                 "block sum: sensitivity = inf"},
        BadEntry{"NegativeMu", [](LedgerEntry& entry) { entry.mu = -1; }, "mu = -1"},
        BadEntry{"MuWhoseSquareOverflows", [](LedgerEntry& entry) { entry.mu = 1e200; }, "rho = mu^2 / 2 = inf"},
        BadEntry{"EpsilonWithoutDelta", [](LedgerEntry& entry) { entry.delta.reset(); }, "together"},
        BadEntry{"DeltaWithoutEpsilon", [](LedgerEntry& entry) { entry.epsilon.reset(); }, "together"},
        BadEntry{"NanEpsilon", [](LedgerEntry& entry) { entry.epsilon = kNan; }, "epsilon = nan"},
        BadEntry{"UnitDelta", [](LedgerEntry& entry) { entry.delta = 1; }, "delta = 1"},
        BadEntry{"ShortDigest", [](LedgerEntry& entry) { entry.config_digest = "abc"; }, "config digest must"},
        BadEntry{"UpperCaseDigest", [](LedgerEntry& entry) { entry.data_digest.assign(64, 'A'); }, "data digest must"}),
    [](const auto& test) { return test.param.name; });

class LedgerSelectionFault : public testing::TestWithParam<BadEntry> {};

TEST_P(LedgerSelectionFault, NamesTheField) {
  LedgerEntry entry = sample_selection("run-1", SelectionMechanism::kExponential, 0.5);
  ASSERT_EQ(fault_of(entry), "");
  GetParam().spoil(entry);
  EXPECT_THAT(fault_of(entry), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, LedgerSelectionFault,
    testing::Values(
        BadEntry{"TwoRounds", [](LedgerEntry& entry) { entry.rounds = 2; }, "rounds = 2"},
        BadEntry{"Blocks",
                 [](LedgerEntry& entry) {
                   entry.blocks = {{"sum", 1, 1, 1}};
                 },
                 "has no blocks"},
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
