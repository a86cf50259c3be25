#include "audit/field_table.hpp"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

PublicFields fields(const nlohmann::json& json) {
  PublicFields result;
  result.add_json("f", json);
  return result;
}

double entry(const FieldTable& table, const PublicFields& run, const std::string& column) {
  const auto found = std::find(table.columns().begin(), table.columns().end(), column);
  EXPECT_NE(found, table.columns().end()) << column;
  return table.row(run).at(static_cast<std::size_t>(found - table.columns().begin()));
}

TEST(FieldTable, SaysWhichWordsAreEqual) {
  const PublicFields equal = fields({{"a", "x"}, {"b", "x"}});
  const PublicFields unequal = fields({{"a", "x"}, {"b", "y"}});
  const FieldTable table({&equal});
  EXPECT_NE(entry(table, equal, "f/b: which field it equals"), entry(table, unequal, "f/b: which field it equals"));
  EXPECT_EQ(entry(table, equal, "how many words differ"), 1.0);
  EXPECT_EQ(entry(table, unequal, "how many words differ"), 2.0);
}

TEST(FieldTable, WordsThatAreNewInEveryRunChangeNothing) {
  const PublicFields one = fields({{"id", "3f"}, {"signature", "aa"}});
  const PublicFields other = fields({{"id", "7c"}, {"signature", "b0"}});
  const PublicFields third = fields({{"id", "90"}, {"signature", "c1"}});
  const FieldTable table({&one});
  EXPECT_EQ(table.row(other), table.row(third));
}

TEST(FieldTable, ShowsNumbersAndWhetherTheyAreThere) {
  const PublicFields with = fields({{"n", 17}});
  const PublicFields without = fields(nlohmann::json::object());
  const FieldTable table({&with});
  EXPECT_EQ(entry(table, with, "f/n"), 17.0);
  EXPECT_EQ(entry(table, with, "f/n: is there"), 1.0);
  EXPECT_EQ(entry(table, without, "f/n: is there"), 0.0);
}

TEST(FieldTable, CountsFieldsThatItDoesNotKnow) {
  const PublicFields known = fields({{"a", 1}});
  const FieldTable table({&known});
  EXPECT_EQ(entry(table, fields({{"a", 1}, {"b", 2}, {"c", "x"}}), "how many fields are new"), 2.0);
  EXPECT_EQ(table.row(known).size(), table.columns().size());
}

TEST(FieldTable, NeedsARun) {
  EXPECT_THROW(FieldTable({}), std::logic_error);
}

}  // namespace
}  // namespace dpreduce
