#include "common/page/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;
using testing::HasSubstr;

template <typename Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KindOf, IsToldByContents) {
  EXPECT_EQ(kind_of(R"({"method":"ls","privacy":{}})", "f"), DocumentKind::kFit);
  EXPECT_EQ(kind_of("{\n\"runs\": [], \"methods\": [], \"epsilons\": []}", "f"), DocumentKind::kSweep);
  EXPECT_EQ(kind_of("{\"schema\":2,\"kind\":\"ledger\"}\n{\"schema\":2}", "f"), DocumentKind::kLedger);
  EXPECT_EQ(kind_of("{\"schema\":1,\"release\":\"a\"}", "f"), DocumentKind::kLedger);
}

TEST(KindOf, RefusesWhatIsNoneOfThemNamingTheFile) {
  for (const char* text : {"", "not JSON", "[1,2]", "{}", "{\"a\":1}\n{\"b\":2}", "\x93NUMPY"}) {
    EXPECT_THAT(refusal_of([&] { kind_of(text, "some.file"); }), HasSubstr("some.file: ")) << text;
  }
}

TEST(ParsedDocument, RefusesValuesTooDeepInOneAnother) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(refusal_of([&] { parsed_document(deep, "f"); }), HasSubstr("deep in one another"));
  EXPECT_NO_THROW(parsed_document("[[[[[[[[1]]]]]]]]", "f"));
}

TEST(DocumentFields, TellsNullAndAbsentAlike) {
  const json object{{"null", nullptr}};
  const DocumentFields fields(object, "r.json");
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

TEST(DocumentFields, RefusesAnotherTypeNamingFileAndPlace) {
  const json object{{"a", {{"b", json::array({json::object({{"c", true}})})}}}};
  const DocumentFields fields(object, "r.json");
  EXPECT_THAT(refusal_of([&] { fields.number("a"); }), HasSubstr("r.json: 'a' must be a number"));
  EXPECT_THAT(refusal_of([&] { fields.text("a"); }), HasSubstr("'a' must be a text"));
  EXPECT_THAT(refusal_of([&] { fields.flag("a"); }), HasSubstr("'a' must be true or false"));
  EXPECT_THAT(refusal_of([&] { fields.objects("a"); }), HasSubstr("'a' must be a list"));
  const std::vector<DocumentFields> inner = fields.object("a").objects("b");
  EXPECT_THAT(refusal_of([&] { inner.front().number("c"); }), HasSubstr("r.json: 'a.b[0].c' must be a number"));
  EXPECT_THAT(refusal_of([&] { fields.object("a").object("b"); }), HasSubstr("'a.b' must be an object"));
  EXPECT_THAT(refusal_of([&] { fields.object("a").numbers("b"); }), HasSubstr("'a.b' must hold numbers"));
  EXPECT_THAT(refusal_of([&] { fields.object("a").texts("b"); }), HasSubstr("'a.b' must hold texts"));
  const json list = json::array();
  EXPECT_THAT(refusal_of([&] { DocumentFields(list, "r.json"); }), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace dpreduce
