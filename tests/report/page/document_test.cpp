#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "report/page.hpp"
#include "tests/temporary_folder.hpp"

namespace dpreduce {
namespace {

// The refusal of a file with that text.
std::string refusal_of_file(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "some.file";
  write_bytes(path, text);
  try {
    document_of_file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DocumentOfFile, IsToldByContents) {
  EXPECT_THAT(refusal_of_file(R"({"method":"ls","privacy":{}})"), testing::HasSubstr("'private' is missing"));
  EXPECT_THAT(refusal_of_file("{\n\"runs\": [], \"methods\": [], \"epsilons\": []}"),
              testing::HasSubstr("give a report of fit or evaluate --private"));
  EXPECT_THAT(refusal_of_file("{\"schema\":2,\"kind\":\"ledger\"}\n{\"schema\":2}"),
              testing::HasSubstr("some.file:1: not a ledger line"));
}

TEST(DocumentOfFile, RefusesWhatIsNoneOfThemNamingTheFile) {
  for (const char* text : {"", "not JSON", "[1,2]", "{}", "{\"a\":1}\n{\"b\":2}", "\x93NUMPY"}) {
    EXPECT_THAT(refusal_of_file(text), testing::HasSubstr("some.file: ")) << text;
  }
}

TEST(DocumentOfFile, RefusesValuesTooDeepInOneAnother) {
  EXPECT_THAT(refusal_of_file(std::string(100000, '[') + std::string(100000, ']')),
              testing::HasSubstr("nested more than"));
}

}  // namespace
}  // namespace dpreduce
