#include "report/yaml_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

using ordered = nlohmann::ordered_json;

TEST(YamlText, KeepsOrderAndDepth) {
  EXPECT_EQ(yaml_text(ordered{{"z", "last"}, {"a", {{"b", 2.5}, {"list", {"x", "y"}}}}}),
            "z: \"last\"\na:\n  b: 2.5\n  list:\n    - \"x\"\n    - \"y\"\n");
}

TEST(YamlText, QuotesWhatCouldBeTakenForSomethingElse) {
  EXPECT_EQ(yaml_text(ordered{{"day", "2026-11-26"}, {"no", "no"}, {"q", "a \"b\" \\"}}),
            "day: \"2026-11-26\"\nno: \"no\"\nq: \"a \\\"b\\\" \\\\\"\n");
}

TEST(YamlText, NumbersHaveAPoint) {
  EXPECT_EQ(yaml_text(ordered{{"delta", 1e-6}, {"other", 2.5e-7}, {"tier", 3}}),
            "delta: 1.0e-06\nother: 2.5e-07\ntier: 3\n");
}

TEST(YamlText, LinesAreABlockWithoutTrailingSpace) {
  EXPECT_EQ(yaml_text(ordered{{"a", {{"t", "one: x\n\n- two\n"}}}}), "a:\n  t: |-\n    one: x\n\n    - two\n");
}

TEST(YamlText, LinesThatNoBlockCanHoldAreQuoted) {
  EXPECT_EQ(yaml_text(ordered{{"t", " led\nby a space"}}), "t: \" led\\nby a space\"\n");
  EXPECT_EQ(yaml_text(ordered{{"t", "a\x01\nb"}}), "t: \"a\\u0001\\nb\"\n");
}

}  // namespace
}  // namespace dpreduce
