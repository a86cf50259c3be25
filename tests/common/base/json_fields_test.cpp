#include "common/base/json_fields.hpp"

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
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
    EXPECT_FALSE(fields.optional_number(name));
    EXPECT_TRUE(fields.choices<Forfeit>(name).empty());
  }
}

TEST(JsonFields, ListsOfCountsHoldWholeNumbersAloneAndListsOfChoicesKnownOnes) {
  const json object = json::parse(R"({"counts": [0, 7], "mixed": [1, -1],
                                      "known": ["model", "seed"], "unknown": ["seed", "dice"], "empty": []})");
  const JsonFields fields(object, "r.json");
  EXPECT_EQ(fields.counts("counts"), (std::vector<std::uint64_t>{0, 7}));
  EXPECT_EQ(fields.choices<Forfeit>("known"), (Forfeits{Forfeit::kModel, Forfeit::kSeed}));
  expect_refusals<BadInput>({{[&] { fields.counts("mixed"); }, "'mixed' must hold whole numbers"},
                             {[&] { fields.counts("absent"); }, "'absent' is missing"},
                             {[&] { fields.choices<Forfeit>("unknown"); }, "'unknown' has an entry that is unknown"},
                             {[&] { fields.choices<Forfeit>("empty"); }, "'empty' must not be empty"}});
}

TEST(JsonFields, RefusesAnotherTypeNamingFileAndPlace) {
  const json object{{"a", {{"b", json::array({json::object({{"c", true}})})}}}};
  const JsonFields fields(object, "r.json");
  const JsonFields inner = fields.object("a");
  const std::vector<JsonFields> innermost = inner.objects("b");
  const json list = json::array();
  expect_refusals<BadInput>({
      {[&] { fields.number("a"); }, "r.json: 'a' must be a number"},
      {[&] { fields.text("a"); }, "'a' must be a text"},
      {[&] { fields.flag("a"); }, "'a' must be true or false"},
      {[&] { fields.objects("a"); }, "'a' must be a list"},
      {[&] { innermost.front().number("c"); }, "r.json: 'a.b[0].c' must be a number"},
      {[&] { inner.object("b"); }, "'a.b' must be an object"},
      {[&] { inner.numbers("b"); }, "'a.b' must hold numbers"},
      {[&] { inner.texts("b"); }, "'a.b' must hold texts"},
      {[&] { JsonFields(list, "r.json"); }, "must be an object"},
  });
}

TEST(JsonFields, RefusesWhatIsMissingOrOutOfRange) {
  const json object{{"count", 0}, {"half", 1.5}, {"figure", 3.0}, {"choice", "swap"}, {"text", "a\"\x1b"}};
  const JsonFields fields(object, "r.json", "; give another");
  EXPECT_EQ(refusal<BadInput>([&] { fields.count("absent"); }), "r.json: 'absent' is missing; give another");
  EXPECT_EQ(fields.count("count", 0), 0u);
  expect_refusals<BadInput>({
      {[&] { fields.count("count"); }, "'count' must be a whole number above 0"},
      {[&] { fields.count("half", 0); }, "'half' must be a whole number"},
      {[&] { fields.number_within("figure", 0, 2); }, "'figure' is 3, and must be from 0 to 2"},
      {[&] { fields.choice<Adjacency>("choice"); }, "'choice' is \"swap\", which is unknown"},
  });
  EXPECT_EQ(fields.printable_text("text"), "a\\\"\\u001b");
}

TEST(JsonText, KeepsTheOrderOfKeysAndIndentsByLevel) {
  nlohmann::ordered_json line;
  line["schema"] = 2;
  line["kind"] = "end";
  EXPECT_EQ(json_text(line), R"({"schema":2,"kind":"end"})");
  EXPECT_EQ(json_text(nlohmann::json(line)), R"({"kind":"end","schema":2})");
  EXPECT_EQ(json_text({{"a", {1, 2}}}, 2), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST(JsonText, BytesThatAreNoTextAreRefusedOrReplacedAndWhatIsNoJsonIsDiscarded) {
  const nlohmann::json broken = std::string("a\xff");
  EXPECT_THROW(json_text(broken), nlohmann::json::type_error);
  EXPECT_EQ(readable_json_text(broken), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(ascii_json_text(broken), R"("a\ufffd")");
  EXPECT_EQ(ascii_json_text("\xc3\xa9"), R"("\u00e9")");
  EXPECT_TRUE(parse_json("{").is_discarded());
  EXPECT_EQ(parse_json("[1]"), nlohmann::json({1}));
  EXPECT_EQ(parse_json_up_to(2, "[[1]]"), nlohmann::json::parse("[[1]]"));
  EXPECT_EQ(parse_json_up_to(1, "[[[1]]]"), std::nullopt);
  EXPECT_TRUE(parse_json_up_to(2, "[")->is_discarded());
}

struct Part {
  std::string name;
  std::uint64_t size = 0;
};

void members_of(Part& part, JsonMembers& members) {
  members.text("name", part.name);
  members.count("size", part.size);
}

struct Whole {
  double share = 0.5;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<double> left_out;
  std::optional<double> null;
  std::vector<Part> parts;
  std::uint64_t depth = 0;
};

void members_of(Whole& whole, JsonMembers& members) {
  members.number("share", whole.share, 0.0, 1.0);
  members.choice("adjacency", whole.adjacency);
  members.optional("left_out", whole.left_out, 1.0, 2.0);
  members.nullable("null", whole.null, 1.0, 2.0);
  members.list("parts", whole.parts);
  members.object("inner", [&](JsonMembers& inner) { inner.count("depth", whole.depth, 0); });
  members.written_only("twice", 2.0 * whole.share);
}

TEST(JsonMembers, OneListWritesAndReads) {
  const Whole empty;
  EXPECT_EQ(json_of(empty), json::parse(R"({"share": 0.5, "adjacency": "add-remove", "null": null,
                                                      "parts": [], "inner": {"depth": 0}, "twice": 1.0})"));
  const Whole full{.share = 0.25,
                   .adjacency = Adjacency::kReplaceOne,
                   .left_out = 1.5,
                   .null = 2.0,
                   .parts = {{"a", 1}, {"b", 2}},
                   .depth = 3};
  const json written = json_of(full);
  EXPECT_EQ(written, json::parse(R"({"share": 0.25, "adjacency": "replace-one", "left_out": 1.5, "null": 2.0,
                "parts": [{"name": "a", "size": 1}, {"name": "b", "size": 2}], "inner": {"depth": 3}, "twice": 0.5})"));
  for (const json& of_one : {json_of(empty), written}) {
    EXPECT_EQ(json_of(read_members<Whole>(JsonFields(of_one, "file"))), of_one);
  }
}

TEST(JsonMembers, ReadingRefusesWhatIsMissingOrOutOfItsRange) {
  Whole whole;
  whole.parts = {{"a", 1}};
  const json good = json_of(whole);
  for (const auto& [change, fault] : std::vector<std::pair<const char*, const char*>>{
           {R"([{"op": "remove", "path": "/share"}])", "'share' is missing"},
           {R"([{"op": "replace", "path": "/share", "value": 2}])", "'share' is 2, and must be from 0 to 1"},
           {R"([{"op": "replace", "path": "/adjacency", "value": "x"}])", "'adjacency' is \"x\", which is unknown"},
           {R"([{"op": "add", "path": "/left_out", "value": 3}])", "'left_out' is 3, and must be from 1 to 2"},
           {R"([{"op": "replace", "path": "/null", "value": "1"}])", "'null' must be a number"},
           {R"([{"op": "replace", "path": "/parts/0/size", "value": 0}])", "'parts[0].size' must be a whole number"},
           {R"([{"op": "remove", "path": "/inner"}])", "'inner' is missing"},
           {R"([{"op": "replace", "path": "/inner/depth", "value": -1}])", "'inner.depth' must be a whole number"}}) {
    const json bad = good.patch(json::parse(change));
    EXPECT_THAT(refusal<BadInput>([&] { read_members<Whole>(JsonFields(bad, "file")); }), testing::HasSubstr(fault));
  }
}

}  // namespace dpreduce::json_fields_test
