#include "common/ledger/ledger_line.hpp"

#include "common/base/error.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/testing.hpp"

namespace dpreduce::ledger_line_test {

const std::string kBegin = R"("time":"2026-01-31T23:59:59Z","previous":")" + std::string(64, '0') + "\"";
const std::string kTerms =
    R"("method":"mean","adjacency":"add-remove","accountant":"gdp","private":true,"unit":"record",)"
    R"("epsilon":1.0,"delta":1e-05,"config_digest":")" +
    std::string(64, 'a') + R"(","version":"0.1.0")";

LedgerRecord record_of(LineContent content) {
  return SampleText::record_of(std::move(content), {});
}

// With a signature of the right form; whether it is of this line is LedgerState's to check.
std::string line_of(LineContent content) {
  return with_signature(print_unsigned(record_of(std::move(content))), std::string(128, '5'));
}

void expect_corrupt(const std::string& line, const std::string& message) {
  expect_refusal<LedgerCorrupt>([&] { parse_line(line, "ledger.jsonl:1"); }, {"ledger.jsonl:1: ", message});
}

// With each of these in the place of that value of a field.
void expect_corrupt_values(const std::string& line, const std::string& field, const std::string& value,
                           const std::vector<std::string>& others) {
  const std::string name = "\"" + field + "\":";
  for (const std::string& other : others) {
    SCOPED_TRACE(name + other);
    expect_corrupt(replaced(line, name + value, name + other), "");
  }
}

TEST(LedgerLine, IsWhatTheLegendSaysAndHoldsNoDigestOfData) {
  EXPECT_EQ(print_unsigned(record_of(LedgerStart{std::string(64, 'b'), "0.1.0"})),
            R"({"schema":2,"kind":"ledger",)" + kBegin + R"(,"public_key":")" + std::string(64, 'b') +
                R"(","version":"0.1.0"})");
  EXPECT_EQ(print_unsigned(record_of(RunEnd{"run-1", RunOutcome::kReleased})),
            R"({"schema":2,"kind":"end",)" + kBegin + R"(,"run":"run-1","outcome":"released"})");
  EXPECT_EQ(print_unsigned(record_of(sample_entry("run-1/means"))),
            R"({"schema":2,"kind":"charge",)" + kBegin + R"(,"release":"run-1/means",)" + kTerms +
                R"(,"blocks":[{"name":"sum","elements":7680,"sensitivity":32767.0,"sigma":122241.5},)"
                R"({"name":"count","elements":10,"sensitivity":1.0,"sigma":20.25}],"mu":0.25,"rho":0.03125})");
  EXPECT_EQ(print_unsigned(record_of(sample_reservation("run-1", 3))),
            R"({"schema":2,"kind":"reservation",)" + kBegin + R"(,"run":"run-1",)" + kTerms +
                R"(,"releases":[{"name":"means","rounds":3,"mu":0.25}],"selections":[]})");
  for (const std::string& line :
       {line_of(sample_entry("run-1/means")), line_of(sample_reservation("run-1")), line_of(RunEnd{"run-1", {}})}) {
    EXPECT_EQ(line.find("data"), std::string::npos) << line;
  }
}

// Earlier versions let a run name a data set.
TEST(LedgerLine, AnEarlierLineWithANameIsReadAndPrintedAgain) {
  Reservation reservation = sample_reservation("run-1", 3);
  reservation.terms.data_set = "ward 7";
  EXPECT_THAT(line_of(reservation), HasSubstr(R"("unit":"record","data_set":"ward 7","epsilon":1.0)"));
  EXPECT_EQ(parse_line(line_of(reservation), "ledger.jsonl:1").record, record_of(reservation));
  EXPECT_THAT(uncovered(reservation, sample_entry("run-1/means")), "");
  reservation.terms.data_set = "a\nb";
  EXPECT_THAT(fault_of(reservation), HasSubstr("data set"));
}

TEST(LedgerLine, AChargeOfASelectionHasNoBlocksAndNoMu) {
  const LedgerEntry exponential = sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5);
  EXPECT_THAT(line_of(exponential),
              HasSubstr(R"("blocks":[],"selection":{"mechanism":"exponential","epsilon":0.5,"sensitivity":3,)"
                        R"("candidates":1000,"groups":10,"chosen":2},"mu":null,"rho":0.03125,)"));
  EXPECT_THAT(line_of(sample_selection("run-1/choice", SelectionMechanism::kPermuteAndFlip, 0.5)),
              HasSubstr(R"("rho":0.125,)"));
}

TEST(LedgerLine, AReservationTellsSelectionsRatesAndWhatItReplaces) {
  Reservation reservation = sample_reservation("run-1", 3);
  reservation.releases[0].sampling_rate = 0.125;
  reservation.selections = {{"choice", *sample_selection("", SelectionMechanism::kExponential, 0.5).selection}};
  reservation.instead_of = "run-0";
  EXPECT_THAT(line_of(reservation),
              HasSubstr(R"("releases":[{"name":"means","rounds":3,"sampling_rate":0.125,"mu":0.25}],"selections":)"
                        R"([{"name":"choice","mechanism":"exponential","epsilon":0.5,"sensitivity":3,)"
                        R"("candidates":1000,"groups":10,"chosen":2}],"instead_of":"run-0",)"));
}

// The method that was asked for where another was chosen, and what is public by the user's word.
TEST(LedgerLine, TellsWhatOnlySomeRunsHave) {
  LedgerEntry asked = sample_entry("run-1/means");
  EXPECT_THAT(line_of(asked), AllOf(Not(HasSubstr("asked")), Not(HasSubstr("public_by_word"))));
  LedgerEntry by_word = asked;
  asked.terms.asked = "auto";
  EXPECT_THAT(line_of(asked), HasSubstr(R"("method":"mean","asked":"auto","adjacency")"));
  by_word.terms.public_by_word = {PublicByWord::kPublicX, PublicByWord::kModel};
  EXPECT_THAT(line_of(by_word), HasSubstr(R"("private":true,"public_by_word":["public_x","model"],"unit")"));
  for (const LedgerEntry& entry : {asked, by_word}) {
    EXPECT_EQ(std::get<LedgerEntry>(parse_line(line_of(entry), "ledger.jsonl:1").record.content), entry);
  }
}

TEST(LedgerLine, RoundTripKeepsEveryFieldOfEveryKind) {
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.adjacency = Adjacency::kReplaceOne;
  entry.terms.accountant = Accountant::kZcdp;
  entry.terms.is_private = false;
  entry.terms.epsilon.reset();
  entry.terms.delta.reset();
  entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1};
  entry.mu = 0.1 + 0.2;
  entry.blocks = {{"gram", std::numeric_limits<std::uint64_t>::max(), 1.0 / 3, 5e-324},
                  {"b", 1, 1e300, std::numeric_limits<double>::max()}};
  LedgerEntry sampled = sample_entry("run-1/means");
  sampled.sampling_rate = 0.125;
  LedgerEntry selection = sample_selection("run-1/choice", SelectionMechanism::kPermuteAndFlip, 0.1 + 0.2);
  selection.selection->sensitivity = std::numeric_limits<std::uint64_t>::max();
  Reservation reservation = sample_reservation("run-1", std::numeric_limits<std::uint64_t>::max());
  reservation.releases.push_back({.name = "sampled", .rounds = 7, .mu = 1.0 / 3, .sampling_rate = 0.01});
  reservation.selections = {{"choice", *selection.selection}};
  reservation.terms.silos = LedgerSilos{NoiseSource::kCentral, 5, 4, 0};
  reservation.instead_of = "run-0";
  const std::vector<LineContent> contents{entry,
                                          sampled,
                                          selection,
                                          reservation,
                                          RunEnd{"run-1", RunOutcome::kFinished},
                                          RunEnd{"run-1", RunOutcome::kStopped},
                                          LedgerStart{std::string(64, 'b'), "0.1.0"}};
  for (const auto& content : contents) {
    const LedgerLine line = parse_line(line_of(content), "here");
    EXPECT_EQ(line.record, record_of(content));
    EXPECT_EQ(line.signature, std::string(128, '5'));
  }
}

TEST(LedgerLine, OfASelectionOrOfSampledRoundsOfAnotherFormIsRefused) {
  const std::string line = line_of(sample_selection("run-1/choice", SelectionMechanism::kExponential, 0.5));
  expect_corrupt_values(line, "mu", "null", {"0.25", "0.0"});
  expect_corrupt_values(line, "rho", "0.03125", {"0.125"});
  expect_corrupt_values(line, "mechanism", R"("exponential")", {R"("noisy-max")", R"("permute-and-flip")"});
  expect_corrupt_values(line, "selection", "{", {R"({"extra":1,)"});
  expect_corrupt_values(line, "candidates", "1000", {"0", "1e3"});
  expect_corrupt_values(line, "epsilon", "0.5", {"500.0", "null"});
  expect_corrupt_values(line, "chosen", "2", {"1001"});
  expect_corrupt_values(line, "blocks", "[]", {R"([{"name":"sum","elements":1,"sensitivity":1.0,"sigma":1.0}])"});
  expect_corrupt(replaced(line, R"("mu":null,)", ""), "");
  expect_corrupt(replaced(line, R"("candidates":1000,)", ""), "");
  expect_corrupt(replaced(replaced(line, R"("mu":null)", R"("mu":0.25)"), R"("selection")", R"("choice")"), "");
  expect_corrupt(replaced(line_of(sample_entry("run-1/means")), R"("mu":)", R"("selection":null,"mu":)"), "");
  LedgerEntry entry = sample_entry("run-1/means");
  entry.sampling_rate = 0.125;
  expect_corrupt_values(line_of(entry), "sampling_rate", "0.125",
                        {"1.0", "1.5", "0.0", "-0.125", "null", "\"0.125\"", "0.1250"});
}

TEST(LedgerLine, OfARunAmongSilosTellsWhoMadeTheNoise) {
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, 5, 4, 1};
  const std::string line = line_of(entry);
  EXPECT_THAT(line,
              HasSubstr(R"("private":true,"silos":{"noise":"distributed","left":5,"threshold":4,"colluding":1},)"));
  expect_corrupt(replaced(line, R"("left":5)", R"("left":3)"), "silos: 3 left, threshold 4, 1 colluding");
  expect_corrupt(replaced(line, R"("colluding":1)", R"("colluding":4)"), "4 colluding cannot be");
  expect_corrupt(replaced(line, R"("distributed")", R"("nobody")"), "a choice that this version does not know");
  expect_corrupt(replaced(line, R"("left":5,)", ""), "a field is missing");
}

TEST(LedgerLine, OfASilosOwnLedgerSaysWhichSiloAndNotHowManyAreLeft) {
  LedgerEntry entry = sample_entry("run-1/means");
  entry.terms.silos = LedgerSilos{NoiseSource::kCentral, 0, 4, 1, 3};
  const std::string line = line_of(entry);
  EXPECT_THAT(line, HasSubstr(R"("silos":{"noise":"central","silo":3,"threshold":4,"colluding":1},)"));
  EXPECT_EQ(parse_line(line, "here").record, record_of(entry));
  expect_corrupt(replaced(line, R"("silo":3)", R"("silo":3,"left":5)"), "");
  expect_corrupt(replaced(line, R"("silo":3)", R"("silo":0)"), "a field is missing");
  expect_corrupt(replaced(line, R"("colluding":1)", R"("colluding":4)"), "silo 3, 0 left, threshold 4, 4 colluding");
}

// Without a roster nobody knows who the other silos are.
TEST(LedgerLine, OfSilosWithoutARosterSaysThatIdentitiesAreEphemeral) {
  LedgerEntry entry = sample_entry("run-1/means");
  for (const std::uint64_t silo : {0U, 3U}) {
    entry.terms.silos = LedgerSilos{NoiseSource::kDistributed, silo == 0 ? 5U : 0U, 4, 1, silo, true};
    const std::string line = line_of(entry);
    EXPECT_THAT(line, HasSubstr(R"("colluding":1,"identities":"ephemeral"},)"));
    EXPECT_EQ(parse_line(line, "here").record, record_of(entry));
    expect_corrupt(replaced(line, R"("ephemeral")", R"("roster")"), "");
  }
}

TEST(LedgerLine, ThatIsNotCanonicalIsRefused) {
  const std::string line = line_of(sample_entry("run-1/means"));
  const std::string reservation = line_of(sample_reservation("run-1"));
  expect_corrupt_values(line, "private", "true", {" true", R"(false,"private":true)", R"(true,"count":1234)"});
  expect_corrupt_values(line, "mu", "0.25", {"2.5e-1"});
  expect_corrupt_values(line, "sensitivity", "32767.0", {"32767"});
  expect_corrupt_values(line, "method", R"("mean")", {R"("m\u0065an")"});
  expect_corrupt_values(line, "rho", "0.03125", {"0.01"});
  expect_corrupt_values(line, "unit", R"("record")", {R"("record","data_digest":")" + std::string(64, '7') + "\""});
  expect_corrupt_values(reservation, "selections", "[]", {R"([],"instead_of":"")"});
  expect_corrupt_values(reservation, "rounds", "1", {R"(1,"sampling_rate":1.0)"});
  expect_corrupt(" " + line, "");
  expect_corrupt(line + " ", "");
  expect_corrupt(replaced(line, R"("schema":2,"kind":"charge")", R"("kind":"charge","schema":2)"), "");
  expect_corrupt(replaced(line, R"("unit":"record")", R"("rounds":1,"unit":"record")"), "");
}

TEST(LedgerLine, OfAnotherFormIsRefused) {
  const std::string line = line_of(sample_entry("run-1/means"));
  expect_corrupt_values(line, "schema", "2", {"3", "-1", R"("2")"});
  expect_corrupt(replaced(line, "\"schema\":2", "\"schema\":1"),
                 "its schema is not 2, the one that this version reads; start a new ledger, and keep counting the "
                 "charges of this one");
  expect_corrupt_values(line, "kind", R"("charge")", {R"("refund")", R"("end")"});
  expect_corrupt_values(line, "adjacency", R"("add-remove")", {R"("add_remove")"});
  expect_corrupt_values(line, "accountant", R"("gdp")", {R"("GDP")"});
  expect_corrupt_values(line, "private", "true", {"1"});
  expect_corrupt_values(line, "unit", R"("record")", {R"("row")"});
  expect_corrupt_values(line, "elements", "10", {"-10", "1e300"});
  expect_corrupt_values(line, "mu", "0.25", {"null", "1e999", "-0.25"});
  expect_corrupt_values(line, "epsilon", "1.0", {"null", "true"});
  const std::string reservation = line_of(sample_reservation("run-1"));
  expect_corrupt_values(reservation, "run", R"("run-1")", {R"("run/1")"});
  expect_corrupt_values(reservation, "rounds", "1", {"0", "1.0"});
  expect_corrupt_values(reservation, "mu", "0.25", {"0.0"});
  expect_corrupt_values(reservation, "selections", "[]", {"{}"});
  expect_corrupt_values(reservation, "releases", R"([{"name":"means","rounds":1,"mu":0.25}])", {"[]"});
  const std::string end = line_of(RunEnd{"run-1", RunOutcome::kFinished});
  expect_corrupt_values(end, "outcome", R"("finished")", {R"("lost")"});
  expect_corrupt_values(end, "run", R"("run-1")", {R"("")"});
  const std::string start = line_of(LedgerStart{std::string(64, 'b'), "0.1.0"});
  for (const char* other : {"", "null", "[]", "{}", "7", "{", "\xff\xfe"}) expect_corrupt(other, "");
  const std::vector<std::string> others{
      std::string(100000, '['),
      std::string(3, '\0'),
      replaced(line, R"("kind":"charge",)", ""),
      replaced(line, R"("unit":"record",)", ""),
      replaced(replaced(line, R"("blocks":[{)", R"("blocks":{"a":[{)"), R"(}],"mu")", R"(}]},"mu")"),
      replaced(line, "2026-01-31T", "2026-01-31 "),
      replaced(line, std::string(64, '0'), std::string(63, '0')),
      replaced(line, std::string(64, '0'), std::string(63, '0') + "A"),
      replaced(line, std::string(64, 'a'), "xyz"),
      replaced(line, R"(,"signature":")" + std::string(128, '5') + "\"", ""),
      replaced(line, "\"" + std::string(128, '5') + "\"", "7"),
      replaced(line, std::string(128, '5'), "\\u0035" + std::string(127, '5')),
      replaced(start, std::string(64, 'b'), std::string(64, 'B')),
      replaced(start, std::string(64, 'b'), std::string(62, 'b'))};
  for (const std::string& other : others) expect_corrupt(other, "");
  expect_corrupt(std::string(kLongestLedgerLine + 1, ' '), "longer than 1048576 bytes");
}

}  // namespace dpreduce::ledger_line_test
