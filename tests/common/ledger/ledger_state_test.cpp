#include "common/ledger/ledger_state.hpp"

#include "common/base/error.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ledger_state_test {

void expect_corrupt_state(const std::string& text, const std::string& message) {
  expect_refusal<LedgerCorrupt>([&] { state_of(text, "ledger.jsonl"); }, {message});
}

// Of the sample, with these lines behind it.
LedgerState state_after(const std::vector<LineContent>& lines) {
  SampleText ledger = sample_text();
  for (const LineContent& line : lines) ledger.add(line);
  return state_of(ledger.text(), "ledger.jsonl");
}

TEST(LedgerState, OfNothingIsEmptyAndTellsItsHeadInWords) {
  const LedgerState state = state_of("", "ledger.jsonl");
  EXPECT_TRUE(state.charges().empty());
  EXPECT_TRUE(state.open_runs().empty());
  EXPECT_EQ(state.head(), (LedgerHead{"", 0, std::string(64, '0')}));
  EXPECT_EQ(text_of(LedgerState{}.head()), "no line yet");
  const std::string digest = "012345678901234567" + std::string(46, 'f');
  EXPECT_EQ(text_of({"", 1, digest}), "1 line, the last of SHA-256 0123456789012345...");
  EXPECT_EQ(text_of({"", 7, digest}), "7 lines, the last of SHA-256 0123456789012345...");
}

TEST(LedgerState, HasChargesOpenRunsAndOutcomes) {
  const SampleText ledger = sample_text();
  const LedgerState state = state_of(ledger.text(), "ledger.jsonl");
  ASSERT_EQ(state.charges().size(), 3U);
  EXPECT_EQ(state.charges()[1].entry, sample_entry("run-1/means/2"));
  EXPECT_EQ(state.charges()[1].utc_time, "2026-01-31T23:59:59Z");
  ASSERT_NE(state.charge("run-2/means/1"), nullptr);
  EXPECT_EQ(state.charge("run-2/means/1")->entry, sample_entry("run-2/means/1"));
  EXPECT_EQ(state.charge("run-2/means/2"), nullptr);
  EXPECT_EQ(state.open_run("run-1"), nullptr);
  EXPECT_EQ(state.outcome("run-1"), RunOutcome::kFinished);
  ASSERT_NE(state.open_run("run-2"), nullptr);
  EXPECT_EQ(state.open_run("run-2")->since, "2026-01-31T23:59:59Z");
  EXPECT_EQ(state.open_run("run-2")->remains, sample_reservation("run-2", 2));
  EXPECT_EQ(state.outcome("run-2"), std::nullopt);
  EXPECT_EQ(state.outcome("run-3"), std::nullopt);
  EXPECT_EQ(state.head(), (LedgerHead{to_hex(ledger.key().public_key()), 7, SampleText::last_sha256(ledger.text())}));
}

TEST(LedgerState, IsTheSameReadAtOnceAndLineByLineAndContainsEveryHeadThatItHad) {
  const std::string text = sample_text().text();
  const LedgerState whole = state_of(text, "ledger.jsonl");
  LedgerState grown;
  std::string read;
  for (const std::string& line : lines_of(text)) {
    read += line;
    grown.extend(read, "ledger.jsonl");
    EXPECT_EQ(grown.head(), state_of(read, "ledger.jsonl").head());
    require_contains(whole, grown.head(), "ledger.jsonl");
  }
  EXPECT_EQ(grown.charges().size(), 3U);
}

TEST(LedgerState, AReservationInsteadOfAnotherEndsThatOne) {
  Reservation anew = sample_reservation("run-3", 2);
  anew.instead_of = "run-2";
  const LedgerState state = state_after({anew});
  EXPECT_EQ(state.outcome("run-2"), RunOutcome::kStopped);
  EXPECT_EQ(state.open_run("run-2"), nullptr);
  EXPECT_NE(state.open_run("run-3"), nullptr);
}

TEST(LedgerState, AStoppedRunMayReserveAgainOrBeReleasedAndAFinishedOneNot) {
  const LedgerState later = state_after({sample_reservation("run-2", 7)});
  EXPECT_EQ(later.open_run("run-2")->remains.releases.at(0).rounds, 7U);
  EXPECT_EQ(later.open_runs().size(), 1U);
  const LedgerState again = state_after(
      {RunEnd{"run-2", RunOutcome::kStopped}, sample_reservation("run-2", 2), sample_entry("run-2/means/2")});
  EXPECT_EQ(again.outcome("run-2"), std::nullopt);
  EXPECT_EQ(again.open_run("run-2")->remains.releases.at(0).rounds, 1U);
  SampleText ledger = sample_text();
  ledger.add(RunEnd{"run-2", RunOutcome::kStopped}).add(RunEnd{"run-2", RunOutcome::kReleased});
  EXPECT_EQ(state_of(ledger.text(), "ledger.jsonl").outcome("run-2"), RunOutcome::kReleased);
  ledger.add(RunEnd{"run-1", RunOutcome::kReleased});
  expect_corrupt_state(ledger.text(), "ledger.jsonl:10: ends run run-1, which has no reservation");
}

TEST(LedgerState, LinesAfterWhichTheStateIsImpossibleAreRefused) {
  LedgerEntry dear = sample_entry("run-2/means/2");
  dear.mu = 10;
  Reservation anew = sample_reservation("run-3");
  anew.instead_of = "run-1";
  const std::vector<std::pair<LineContent, std::string>> refused{
      {sample_entry("run-3/means/1"), "charges release run-3/means/1, but its run"},
      {sample_entry("run-1/means/3"), "charges release run-1/means/3, but its run"},
      {sample_entry("run-2/means/1"), "charges release run-2/means/1, which is"},
      {sample_entry("run-2/gram"), "charges release run-2/gram: the run has"},
      {dear, "charges release run-2/means/2: the run has reserved no"},
      {RunEnd{"run-1", RunOutcome::kStopped}, "ends run run-1, which has no"},
      {RunEnd{"run-9", RunOutcome::kReleased}, "ends run run-9, which has no"},
      {anew, "ends run run-1, which has no"}};
  for (const auto& [line, message] : refused) {
    SampleText ledger = sample_text();
    expect_corrupt_state(ledger.add(line).text(), "ledger.jsonl:8: " + message);
  }
  SampleText begun_twice = sample_text();
  begun_twice.add(LedgerStart{to_hex(begun_twice.key().public_key()), "0.1.0"});
  expect_corrupt_state(begun_twice.text(), "ledger.jsonl:8: a second line");
  SampleText released = sample_text();
  released.add(RunEnd{"run-2", RunOutcome::kReleased}).add(sample_reservation("run-2"));
  expect_corrupt_state(released.text(), "ledger.jsonl:9: run run-2 reserves, but was released");
}

TEST(LedgerState, EveryChangedByteIsFoundOfTheLastLineToo) {
  const std::string intact = sample_text().text();
  for (std::size_t byte = 0; byte < intact.size(); ++byte) {
    for (const char flip : {'\x01', '\x20'}) {
      std::string edited = intact;
      edited[byte] = static_cast<char>(edited[byte] ^ flip);
      EXPECT_THROW(state_of(edited, "ledger.jsonl"), LedgerCorrupt) << "byte " << byte;
    }
  }
}

// As an editor would do it who knows the form: all numbers fit, and the chain is intact.
TEST(LedgerState, AConsistentEditOfTheLastLineIsFound) {
  const std::string intact = sample_text().text();
  const std::size_t last = intact.rfind('\n', intact.size() - 2) + 1;
  const std::string cheaper = replaced(replaced(intact.substr(last), "\"mu\":0.25", "\"mu\":0.025"), "\"rho\":0.03125",
                                       "\"rho\":0.00031250000000000006");
  expect_corrupt_state(intact.substr(0, last) + replaced(cheaper, "122241.5", "1222415.0"),
                       "ledger.jsonl:7: the signature does not match this line");
}

TEST(LedgerState, LinesOfAnotherKeyAreFoundAndOneBeforeTheKey) {
  SampleText other(sample_text().text());
  expect_corrupt_state(other.text(), "ledger.jsonl:8: a second line");
  const SampleText ledger = sample_text();
  const LedgerRecord record = SampleText::record_of(sample_entry("run-2/means/2"), ledger.text());
  const std::string forged = sign_line(print_unsigned(record), SigningKey::generate()) + "\n";
  expect_corrupt_state(ledger.text() + forged, "ledger.jsonl:8: the signature does not match this line");
  const SigningKey key = SigningKey::generate();
  const LedgerRecord first = SampleText::record_of(sample_reservation("run-1"), {});
  expect_corrupt_state(sign_line(print_unsigned(first), key) + "\n", "ledger.jsonl:1: a line precedes");
}

TEST(LedgerState, AMissingRepeatedOrMovedLineIsFoundAndATornOneWhereverItIsTorn) {
  const std::vector<std::string> lines = lines_of(sample_text().text());
  const auto without = [&](std::size_t gone) {
    std::string text;
    for (std::size_t line = 0; line < lines.size(); ++line) text += line == gone ? "" : lines[line];
    return text;
  };
  for (std::size_t gone = 0; gone + 1 < lines.size(); ++gone) {
    expect_corrupt_state(without(gone), "ledger.jsonl:" + std::to_string(gone + 1) + ": the chain is broken");
  }
  expect_corrupt_state(lines[0] + lines[1] + lines[1] + lines[2], "ledger.jsonl:3: the chain is broken");
  expect_corrupt_state(lines[0] + lines[2] + lines[1], "ledger.jsonl:2: the chain is broken");
  const std::string intact = sample_text().text();
  const std::size_t last = intact.rfind('\n', intact.size() - 2) + 1;
  for (std::size_t length = last + 1; length < intact.size(); ++length) {
    expect_corrupt_state(intact.substr(0, length), "ledger.jsonl:7: the last line is torn");
  }
}

TEST(LedgerState, ACutAnotherAndARewrittenLedgerAreToldByAHead) {
  const auto expect_missing = [](const LedgerState& state, const LedgerHead& head, const std::string& message) {
    expect_refusal<LedgerCorrupt>([&] { require_contains(state, head, "ledger.jsonl"); }, {"ledger.jsonl: ", message});
  };
  SampleText ledger = sample_text();
  const LedgerHead head = state_of(ledger.text(), "").head();
  const std::string cut = ledger.text().substr(0, ledger.text().size() - lines_of(ledger.text()).back().size());
  expect_missing(state_of(cut, ""), head, "has 6 lines, and had 7");
  expect_missing(state_of(sample_text().text(), ""), head, "another ledger");
  expect_missing(LedgerState{}, head, "is not signed");
  LedgerHead rewritten = head;
  rewritten.last_line_sha256.assign(64, 'e');
  expect_missing(state_of(ledger.text(), ""), rewritten, "line 7 has changed");
  rewritten.lines = 0;
  expect_missing(state_of(ledger.text(), ""), rewritten, "line 0 has changed");
}

}  // namespace dpreduce::ledger_state_test
