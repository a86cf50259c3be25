#include "common/data/array_persons.hpp"

#include "common/data/array_file.hpp"
#include "common/data/memory_array.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::array_persons_test {

const std::vector<std::string> kNobody = {
    "",    "nan",  "NaN", "None", "NaT",  "NA",     "<NA>", "null", "NULL",       "N/A",
    "n/a", "#N/A", " ",   "\t",   "\n  ", "\u00a0", " NaN", "nan ", "\u3000None", "-9223372036854775808"};

// clang-format off
const std::vector<std::string> kSomebody = {
    "7", "-1", "0", "nana", "Nancy", "Nat Null", "NA1", "-nan-", "N.A.", "n", "<NA", "#1", "-9223372036854775807",
    "9223372036854775808", "\xff", "\u0144an", "None of them"};
// clang-format on

TEST(MissingPerson, IsWhatTablesWriteWhereNothingIs) {
  for (const std::string& word : kNobody) EXPECT_TRUE(names_no_person(word)) << "'" << word << "'";
  for (const std::string& word : kSomebody) EXPECT_FALSE(names_no_person(word)) << "'" << word << "'";
}

void visit_all(ArrayFile& array) {
  array.require_holds_persons();
  array.visit_persons(0, array.rows(), {[](auto) {}, [](auto) {}});
}

// "S24", as NumPy pads it.
std::string padded(const std::vector<std::string>& words) {
  std::string bytes;
  for (std::string word : words) {
    word.resize(24, '\0');
    bytes += word;
  }
  return bytes;
}

TEST(MissingPerson, IsRefusedWithFileAndRowOfText) {
  const TemporaryFolder folder;
  for (const std::string& word : kNobody) {
    SCOPED_TRACE(word);
    const std::string bytes = padded({"a", "b", word, "c"});
    write_bytes(folder / "p.npy", npy_header_bytes(npy_text("|S24", "(4,)")) + bytes);
    const auto array = open_array(folder / "p.npy");
    expect_bad_input([&] { visit_all(*array); }, {"p.npy: row 2 has ", "for the data's owner only"});
    if (!word.empty()) {
      expect_bad_input([&] { visit_all(*array); },
                       {"means a missing one", "give the row its person, or rename a person with that name"});
    }
    MemoryArray in_memory({.first = reinterpret_cast<const std::byte*>(bytes.data()),
                           .dtype = DType::kBytes,
                           .rows = 4,
                           .columns = 1,
                           .row_stride = 24,
                           .column_stride = 24,
                           .string_bytes = 24},
                          "identifiers");
    expect_bad_input([&] { visit_all(in_memory); }, {"identifiers: row 2 has "});
  }
  write_bytes(folder / "p.npy", npy_header_bytes(npy_text("|S24", "(17,)")) + padded(kSomebody));
  EXPECT_NO_THROW(visit_all(*open_array(folder / "p.npy")));
}

// In a later block than the first.
TEST(MissingPerson, IsRefusedWithFileAndRowOfIntegers) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> persons(100'000, 3);
  persons[70'000] = kNoPerson;
  const std::string header = npy_header_bytes(npy_text("<i8", "(100000,)"));
  write_bytes(folder / "p.npy", header + element_bytes(persons));
  expect_bad_input([&] { visit_all(*open_array(folder / "p.npy")); },
                   {"p.npy: row 70000 has the identifier \"-9223372036854775808\"", "missing"});
  // 2^63 without a sign has the same bits, and is a number like any other.
  write_bytes(folder / "u.npy", npy_header_bytes(npy_text("<u8", "(100000,)")) + element_bytes(persons));
  EXPECT_NO_THROW(visit_all(*open_array(folder / "u.npy")));
}

}  // namespace dpreduce::array_persons_test
