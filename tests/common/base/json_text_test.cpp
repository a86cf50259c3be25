#include "common/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include "tests/testing.hpp"

namespace dpreduce::json_text_test {

TEST(JsonText, KeepsTheOrderOfKeysWhereAFormatHasOne) {
  nlohmann::ordered_json line;
  line["schema"] = 2;
  line["kind"] = "end";
  EXPECT_EQ(json_text(line), R"({"schema":2,"kind":"end"})");
  EXPECT_EQ(json_text(nlohmann::json(line)), R"({"kind":"end","schema":2})");
}

TEST(JsonText, IndentsByLevel) {
  EXPECT_EQ(json_text({{"a", {1, 2}}}, 2), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST(JsonText, BytesThatAreNoTextAreRefusedOrReplaced) {
  const nlohmann::json broken = std::string("a\xff");
  EXPECT_THROW(json_text(broken), nlohmann::json::type_error);
  EXPECT_EQ(readable_json_text(broken), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(ascii_json_text(broken), R"("a\ufffd")");
  EXPECT_EQ(ascii_json_text("\xc3\xa9"), R"("\u00e9")");
}

TEST(JsonText, WhatIsNoJsonIsDiscarded) {
  EXPECT_TRUE(parse_json("{").is_discarded());
  EXPECT_EQ(parse_json("[1]"), nlohmann::json({1}));
}

TEST(JsonText, ValuesThatStandTooDeepAreNone) {
  EXPECT_EQ(parse_json_up_to(2, "[[1]]"), nlohmann::json::parse("[[1]]"));
  EXPECT_EQ(parse_json_up_to(1, "[[[1]]]"), std::nullopt);
  EXPECT_TRUE(parse_json_up_to(2, "[")->is_discarded());
}

}  // namespace dpreduce::json_text_test
