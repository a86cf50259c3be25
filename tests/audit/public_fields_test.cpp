#include "audit/public_fields.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/data/private_folder.hpp"
#include "common/model/safetensors.hpp"

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

TEST(PublicFields, WordsAndNumbersOfPrintedLinesAreThereButNoTimes) {
  PublicFields fields;
  fields.add_text("out", "privacy    epsilon 1 at delta 1e-05 (mu 0.27)\nseconds    solve 0.13\n");
  EXPECT_TRUE(has_number(fields, 1e-5));
  EXPECT_TRUE(has_number(fields, 0.27));
  EXPECT_TRUE(has_word(fields, "privacy"));
  EXPECT_FALSE(has_number(fields, 0.13));
  fields.add_json("report", {{"timings", {{"solve", 0.13}}}, {"time", "2026-01-31T23:59:59Z"}});
  EXPECT_FALSE(has_number(fields, 0.13));
  EXPECT_FALSE(has_word(fields, "2026-01-31T23:59:59Z"));
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
