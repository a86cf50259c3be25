#include "tests/audit/readers/public_fields.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/data/safetensors.hpp"

namespace dpreduce {
namespace {

bool has_number(const PublicFields& fields, double value) {
  return std::any_of(fields.numbers().begin(), fields.numbers().end(),
                     [&](const auto& field) { return field.second == value; });
}

bool has_word(const PublicFields& fields, const std::string& word) {
  return std::any_of(fields.words().begin(), fields.words().end(),
                     [&](const auto& field) { return field.second == word; });
}

std::string written(const PrivateFolder& folder, const std::string& name, const std::string& content) {
  std::ofstream(folder / name, std::ios::binary) << content;
  return folder / name;
}

TEST(PublicFields, EveryValueOfAJsonFileIsThere) {
  const PrivateFolder folder;
  PublicFields fields;
  fields.add_file("r", written(folder, "r.json", R"({"a": {"b": [1.5, "x1", true]}, "note": "over 17 rows"})"));
  EXPECT_TRUE(has_number(fields, 1.5));
  EXPECT_TRUE(has_word(fields, "x1"));
  EXPECT_TRUE(has_word(fields, "true"));
  EXPECT_TRUE(has_number(fields, 17.0));  // of a sentence
}

TEST(PublicFields, EveryLineOfALedgerIsThere) {
  const PrivateFolder folder;
  PublicFields fields;
  fields.add_file("l",
                  written(folder, "l.jsonl", "{\"mu\":0.25}\n{\"digest\":\"12345678901234567890123456789012\"}\n"));
  EXPECT_TRUE(has_number(fields, 0.25));
  EXPECT_TRUE(has_word(fields, "12345678901234567890123456789012"));  // no number, although all decimal
  EXPECT_TRUE(has_number(fields, 2.0));                               // lines
}

TEST(PublicFields, TensorsAndMetadataOfAModelAreThere) {
  const PrivateFolder folder;
  SafetensorsFile file;
  file.metadata["privacy"] = R"({"epsilon": 3.25})";
  file.tensors.emplace("w", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  file.tensors.emplace("v", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  const std::vector<std::byte> bytes = serialize(file);
  PublicFields fields;
  fields.add_file("m", written(folder, "m.safetensors", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  EXPECT_TRUE(has_number(fields, 3.25));
  EXPECT_TRUE(has_number(fields, -2.0));
  ASSERT_EQ(fields.words().size(), 3U);  // the metadata as it stands, and each tensor
  EXPECT_EQ(fields.words()[1].second, fields.words()[2].second);
}

TEST(PublicFields, WordsAndNumbersOfPrintedLinesAreThere) {
  PublicFields fields;
  fields.add_text("out", "privacy    epsilon 1 at delta 1e-05 (mu 0.27)\n");
  EXPECT_TRUE(has_number(fields, 1e-5));
  EXPECT_TRUE(has_number(fields, 0.27));
  EXPECT_TRUE(has_word(fields, "privacy"));
}

// An exact size of a file once stood where seconds did, and nobody looked.
TEST(PublicFields, NoFieldIsLeftOutForItsName) {
  PublicFields fields;
  fields.add_json("report", {{"timings", {{"rows", 4736.0}}},
                             {"rank_timings", {{{"solve", 4737.0}}}},
                             {"seconds", 4738.0},
                             {"time", "2026-01-31T23:59:00Z"}});
  for (const double value : {4736.0, 4737.0, 4738.0}) EXPECT_TRUE(has_number(fields, value)) << value;
  EXPECT_TRUE(has_word(fields, "2026-01-31T00:00:00Z"));  // the hour and the minute are a number
  EXPECT_TRUE(has_number(fields, 2359.0));
  fields.add_text("f", "seconds rows 4739");
  EXPECT_TRUE(has_number(fields, 4739.0));
}

TEST(PublicFields, PrintedSecondsAreLeftOutWhereTheyCanBeSeconds) {
  for (const auto& [line, is_read] : {std::pair{"seconds    open 0.25, solve 0.5", false},
                                      {"seconds    open 0.25, solve 1.5", true},
                                      {"seconds    open 0.25, solve -0.5", true},
                                      {"secondsopen 0.25, solve 0.5", true},
                                      {"rows 0.25", true}}) {
    PublicFields fields;
    fields.add_output("output", line, 1.0);
    EXPECT_EQ(has_number(fields, 0.25), is_read) << line;
    EXPECT_TRUE(has_word(fields, "open") || has_word(fields, "secondsopen") || has_word(fields, "rows")) << line;
  }
}

TEST(PublicFields, EachDigitOfWhatLooksDrawnIsANumber) {
  PublicFields fields;
  fields.add_json("id", "00000000000000000000000000000f0d");
  EXPECT_TRUE(has_number(fields, 15.0));
  EXPECT_TRUE(has_number(fields, 13.0));
  EXPECT_EQ(fields.numbers().size(), 32U);
}

TEST(PublicFields, KnownLinesOfAPageAreKnownByTheirPlace) {
  PublicFields fields;
  fields.add_text("page", "<p>rows 17</p>\n<p>rows 18</p>", {"<p>rows 17</p>"});
  EXPECT_FALSE(has_number(fields, 17.0));
  EXPECT_TRUE(has_number(fields, 18.0));
  EXPECT_EQ(fields.numbers().front().first, "page, line 2, word 3");
  EXPECT_TRUE(has_number(fields, 2.0));  // lines
}

TEST(PublicFields, RefusesWhatIsNotWhatItsNameSays) {
  const PrivateFolder folder;
  PublicFields fields;
  EXPECT_THROW(fields.add_file("r", written(folder, "r.json", "{")), BadInput);
  EXPECT_THROW(fields.add_file("r", written(folder, "r.jsonl", "{}\n{")), BadInput);
  EXPECT_THROW(fields.add_file("r", written(folder, "r.safetensors", "short")), BadInput);
  EXPECT_THROW(fields.add_file("r", folder / "absent.json"), BadInput);
}

}  // namespace
}  // namespace dpreduce
