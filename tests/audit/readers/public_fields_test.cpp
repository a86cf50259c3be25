#include "tests/audit/readers/public_fields.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/data/safetensors.hpp"
#include "tests/testing.hpp"

namespace dpreduce::public_fields_test {

class PublicFieldsTest : public testing::Test {
 protected:
  bool has_number(double value) const {
    return std::ranges::any_of(fields_.numbers(), [&](const auto& field) { return field.second == value; });
  }
  bool has_word(const std::string& word) const {
    return std::ranges::any_of(fields_.words(), [&](const auto& field) { return field.second == word; });
  }
  void add_file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    fields_.add_file("f", folder_ / name);
  }

  const PrivateFolder folder_;
  PublicFields fields_;
};

TEST_F(PublicFieldsTest, EveryValueOfAJsonFileIsThere) {
  add_file("r.json", R"({"a": {"b": [1.5, "x1", true]}, "note": "over 17 rows"})");
  EXPECT_TRUE(has_number(1.5));
  EXPECT_TRUE(has_word("x1"));
  EXPECT_TRUE(has_word("true"));
  EXPECT_TRUE(has_number(17.0));  // of a sentence
}

TEST_F(PublicFieldsTest, EveryLineOfALedgerIsThere) {
  add_file("l.jsonl", "{\"mu\":0.25}\n{\"digest\":\"12345678901234567890123456789012\"}\n");
  EXPECT_TRUE(has_number(0.25));
  EXPECT_TRUE(has_word("12345678901234567890123456789012"));  // no number, although all decimal
  EXPECT_TRUE(has_number(2.0));                               // lines
}

TEST_F(PublicFieldsTest, TensorsAndMetadataOfAModelAreThere) {
  SafetensorsFile file;
  file.metadata["privacy"] = R"({"epsilon": 3.25})";
  file.tensors.emplace("w", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  file.tensors.emplace("v", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  const std::vector<std::byte> bytes = serialize(file);
  add_file("m.safetensors", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  EXPECT_TRUE(has_number(3.25));
  EXPECT_TRUE(has_number(-2.0));
  ASSERT_EQ(fields_.words().size(), 3U);  // the metadata as it stands, and each tensor
  EXPECT_EQ(fields_.words()[1].second, fields_.words()[2].second);
}

TEST_F(PublicFieldsTest, WordsAndNumbersOfPrintedLinesAreThere) {
  fields_.add_text("out", "privacy    epsilon 1 at delta 1e-05 (mu 0.27)\n");
  EXPECT_TRUE(has_number(1e-5));
  EXPECT_TRUE(has_number(0.27));
  EXPECT_TRUE(has_word("privacy"));
}

// An exact size of a file once stood where seconds did, and nobody looked.
TEST_F(PublicFieldsTest, NoFieldIsLeftOutForItsName) {
  fields_.add_json("report", {{"timings", {{"rows", 4736.0}}},
                              {"rank_timings", {{{"solve", 4737.0}}}},
                              {"seconds", 4738.0},
                              {"time", "2026-01-31T23:59:00Z"}});
  for (const double value : {4736.0, 4737.0, 4738.0}) EXPECT_TRUE(has_number(value)) << value;
  EXPECT_TRUE(has_word("2026-01-31T00:00:00Z"));  // the hour and the minute are a number
  EXPECT_TRUE(has_number(2359.0));
  fields_.add_text("f", "seconds rows 4739");
  EXPECT_TRUE(has_number(4739.0));
}

TEST_F(PublicFieldsTest, PrintedSecondsAreLeftOutWhereTheyCanBeSeconds) {
  for (const auto& [line, is_read] : {std::pair{"seconds    open 0.25, solve 0.5", false},
                                      {"seconds    open 0.25, solve 1.5", true},
                                      {"seconds    open 0.25, solve -0.5", true},
                                      {"secondsopen 0.25, solve 0.5", true},
                                      {"rows 0.25", true}}) {
    fields_ = PublicFields();
    fields_.add_output("output", line, 1.0);
    EXPECT_EQ(has_number(0.25), is_read) << line;
    EXPECT_TRUE(has_word("open") || has_word("secondsopen") || has_word("rows")) << line;
  }
}

TEST_F(PublicFieldsTest, EachDigitOfWhatLooksDrawnIsANumber) {
  fields_.add_json("id", "00000000000000000000000000000f0d");
  EXPECT_TRUE(has_number(15.0));
  EXPECT_TRUE(has_number(13.0));
  EXPECT_EQ(fields_.numbers().size(), 32U);
}

TEST_F(PublicFieldsTest, KnownLinesOfAPageAreKnownByTheirPlace) {
  fields_.add_text("page", "<p>rows 17</p>\n<p>rows 18</p>", {"<p>rows 17</p>"});
  EXPECT_FALSE(has_number(17.0));
  EXPECT_TRUE(has_number(18.0));
  EXPECT_EQ(fields_.numbers().front().first, "page, line 2, word 3");
  EXPECT_TRUE(has_number(2.0));  // lines
}

TEST_F(PublicFieldsTest, RefusesWhatIsNotWhatItsNameSays) {
  EXPECT_THROW(add_file("r.json", "{"), BadInput);
  EXPECT_THROW(add_file("r.jsonl", "{}\n{"), BadInput);
  EXPECT_THROW(add_file("r.safetensors", "short"), BadInput);
  EXPECT_THROW(fields_.add_file("r", folder_ / "absent.json"), BadInput);
}

}  // namespace dpreduce::public_fields_test
