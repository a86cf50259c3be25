#include "common/base/json_fields.hpp"

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "tests/testing.hpp"

namespace dpreduce::json_fields_test {

using nlohmann::json;

TEST(JsonFields, TellsNullAndAbsentAlike) {
  const json object{{"null", nullptr}};
  const JsonFields fields(object, "r.json");
  for (const char* name : {"null", "absent"}) {
    EXPECT_FALSE(fields.has(name));
    EXPECT_TRUE(fields.number(name).is_null());
    EXPECT_EQ(fields.text(name), "");
    EXPECT_FALSE(fields.flag(name));
    EXPECT_TRUE(fields.object(name).json().empty());
    EXPECT_TRUE(fields.objects(name).empty());
    EXPECT_TRUE(fields.numbers(name).empty());
    EXPECT_TRUE(fields.texts(name).empty());
  }
}

TEST(JsonFields, ListsOfCountsHoldWholeNumbersAlone) {
  const json object = json::parse(R"({"counts": [0, 7], "mixed": [1, -1]})");
  const JsonFields fields(object, "r.json");
  EXPECT_EQ(fields.counts("counts"), (std::vector<std::uint64_t>{0, 7}));
  EXPECT_THAT(refusal<BadInput>([&] { fields.counts("mixed"); }), HasSubstr("'mixed' must hold whole numbers"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.counts("absent"); }), HasSubstr("'absent' is missing"));
}

TEST(JsonFields, RefusesAnotherTypeNamingFileAndPlace) {
  const json object{{"a", {{"b", json::array({json::object({{"c", true}})})}}}};
  const JsonFields fields(object, "r.json");
  EXPECT_THAT(refusal<BadInput>([&] { fields.number("a"); }), HasSubstr("r.json: 'a' must be a number"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.text("a"); }), HasSubstr("'a' must be a text"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.flag("a"); }), HasSubstr("'a' must be true or false"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.objects("a"); }), HasSubstr("'a' must be a list"));
  const std::vector<JsonFields> inner = fields.object("a").objects("b");
  EXPECT_THAT(refusal<BadInput>([&] { inner.front().number("c"); }), HasSubstr("r.json: 'a.b[0].c' must be a number"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.object("a").object("b"); }), HasSubstr("'a.b' must be an object"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.object("a").numbers("b"); }), HasSubstr("'a.b' must hold numbers"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.object("a").texts("b"); }), HasSubstr("'a.b' must hold texts"));
  const json list = json::array();
  EXPECT_THAT(refusal<BadInput>([&] { JsonFields(list, "r.json"); }), HasSubstr("must be an object"));
}

TEST(JsonFields, RefusesWhatIsMissingOrOutOfRange) {
  const json object{{"count", 0}, {"half", 1.5}, {"figure", 3.0}, {"choice", "swap"}, {"text", "a\"\x1b"}};
  const JsonFields fields(object, "r.json", "; give another");
  EXPECT_THAT(refusal<BadInput>([&] { fields.count("absent"); }),
              testing::StrEq("r.json: 'absent' is missing; give another"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.count("count"); }), HasSubstr("'count' must be a whole number above 0"));
  EXPECT_EQ(fields.count("count", 0), 0u);
  EXPECT_THAT(refusal<BadInput>([&] { fields.count("half", 0); }), HasSubstr("'half' must be a whole number"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.number_within("figure", 0, 2); }),
              HasSubstr("'figure' is 3, and must be from 0 to 2"));
  EXPECT_THAT(refusal<BadInput>([&] { fields.choice<Adjacency>("choice"); }),
              HasSubstr("'choice' is \"swap\", which is unknown"));
  EXPECT_EQ(fields.printable_text("text"), "a\\\"\\u001b");
}

}  // namespace dpreduce::json_fields_test
