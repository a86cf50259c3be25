#include "tests/audit/readers/public_fields.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/data/safetensors.hpp"
#include "tests/testing.hpp"

namespace dpreduce::public_fields_test {

using testing::AnyOf;
using testing::Contains;
using testing::IsSupersetOf;
using testing::SizeIs;

class PublicFieldsTest : public testing::Test {
 protected:
  std::vector<double> numbers() const { return values_of(fields_.numbers()); }
  std::vector<std::string> words() const { return values_of(fields_.words()); }
  void add_file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    fields_.add_file("f", folder_ / name);
  }

  const PrivateFolder folder_;
  PublicFields fields_;

 private:
  template <typename Value>
  static std::vector<Value> values_of(const std::vector<std::pair<std::string, Value>>& fields) {
    std::vector<Value> values;
    for (const auto& [path, value] : fields) values.push_back(value);
    return values;
  }
};

TEST_F(PublicFieldsTest, EveryValueOfAJsonFileIsThere) {
  add_file("r.json", R"({"a": {"b": [1.5, "x1", true]}, "note": "over 17 rows"})");
  EXPECT_THAT(words(), IsSupersetOf({"x1", "true"}));
  EXPECT_THAT(numbers(), IsSupersetOf({1.5, 17.0}));  // 17 of a sentence
}

TEST_F(PublicFieldsTest, EveryLineOfALedgerIsThere) {
  add_file("l.jsonl", "{\"mu\":0.25}\n{\"digest\":\"12345678901234567890123456789012\"}\n");
  EXPECT_THAT(words(), Contains("12345678901234567890123456789012"));  // no number, although all decimal
  EXPECT_THAT(numbers(), IsSupersetOf({0.25, 2.0}));                   // 2 lines
}

TEST_F(PublicFieldsTest, TensorsAndMetadataOfAModelAreThere) {
  SafetensorsFile file;
  file.metadata["privacy"] = R"({"epsilon": 3.25})";
  file.tensors.emplace("w", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  file.tensors.emplace("v", make_tensor(std::vector<double>{7.5, -2.0}, {2}));
  const std::vector<std::byte> bytes = serialize(file);
  add_file("m.safetensors", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  EXPECT_THAT(numbers(), IsSupersetOf({3.25, -2.0}));
  ASSERT_EQ(words().size(), 3U);  // the metadata as it stands, and each tensor
  EXPECT_EQ(words()[1], words()[2]);
}

TEST_F(PublicFieldsTest, WordsAndNumbersOfPrintedLinesAreThere) {
  fields_.add_text("out", "privacy    epsilon 1 at delta 1e-05 (mu 0.27)\n");
  EXPECT_THAT(numbers(), IsSupersetOf({1e-5, 0.27}));
  EXPECT_THAT(words(), Contains("privacy"));
}

// An exact size of a file once stood where seconds did, and nobody looked.
TEST_F(PublicFieldsTest, NoFieldIsLeftOutForItsName) {
  fields_.add_json("report", {{"timings", {{"rows", 4736.0}}},
                              {"rank_timings", {{{"solve", 4737.0}}}},
                              {"seconds", 4738.0},
                              {"time", "2026-01-31T23:59:00Z"}});
  fields_.add_text("f", "seconds rows 4739");
  EXPECT_THAT(words(), Contains("2026-01-31T00:00:00Z"));  // the hour and the minute are a number
  EXPECT_THAT(numbers(), IsSupersetOf({4736.0, 4737.0, 4738.0, 2359.0, 4739.0}));
}

TEST_F(PublicFieldsTest, PrintedSecondsAreLeftOutWhereTheyCanBeSeconds) {
  for (const auto& [line, is_read] : {std::pair{"seconds    open 0.25, solve 0.5", false},
                                      {"seconds    open 0.25, solve 1.5", true},
                                      {"seconds    open 0.25, solve -0.5", true},
                                      {"secondsopen 0.25, solve 0.5", true},
                                      {"rows 0.25", true}}) {
    fields_ = PublicFields();
    fields_.add_output("output", line, 1.0);
    SCOPED_TRACE(line);
    EXPECT_EQ(std::ranges::count(numbers(), 0.25), is_read);
    EXPECT_THAT(words(), Contains(AnyOf("open", "secondsopen", "rows")));
  }
}

TEST_F(PublicFieldsTest, EachDigitOfWhatLooksDrawnIsANumber) {
  fields_.add_json("id", "00000000000000000000000000000f0d");
  EXPECT_THAT(numbers(), AllOf(IsSupersetOf({15.0, 13.0}), SizeIs(32)));
}

TEST_F(PublicFieldsTest, KnownLinesOfAPageAreKnownByTheirPlace) {
  fields_.add_text("page", "<p>rows 17</p>\n<p>rows 18</p>", {"<p>rows 17</p>"});
  EXPECT_THAT(numbers(), AllOf(Not(Contains(17.0)), IsSupersetOf({18.0, 2.0})));  // 2 lines
  EXPECT_EQ(fields_.numbers().front().first, "page, line 2, word 3");
}

TEST_F(PublicFieldsTest, RefusesWhatIsNotWhatItsNameSays) {
  EXPECT_THROW(add_file("r.json", "{"), BadInput);
  EXPECT_THROW(add_file("r.jsonl", "{}\n{"), BadInput);
  EXPECT_THROW(add_file("r.safetensors", "short"), BadInput);
  EXPECT_THROW(fields_.add_file("r", folder_ / "absent.json"), BadInput);
}

}  // namespace dpreduce::public_fields_test
