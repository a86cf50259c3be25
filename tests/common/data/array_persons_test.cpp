#include "common/data/memory_array.hpp"
#include "common/data/row_units.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::array_persons_test {

const std::vector<std::string> kNobody = {
    "",    "nan",  "NaN", "None", "NaT",  "NA",     "<NA>", "null", "NULL",       "N/A",
    "n/a", "#N/A", " ",   "\t",   "\n  ", "\u00a0", " NaN", "nan ", "\u3000None", "-9223372036854775808"};

// clang-format off
const std::vector<std::string> kSomebody = {
    "7", "-1", "0", "nana", "Nancy", "Nat Null", "NA1", "-nan-", "N.A.", "n", "<NA", "#1", "-9223372036854775807",
    "9223372036854775808", "\xff", "\u0144an", "None of them"};
// clang-format on

// "S24", as NumPy pads it.
std::string padded(const std::vector<std::string>& words) {
  std::string bytes;
  for (const std::string& word : words) bytes.append(word).append(24 - word.size(), '\0');
  return bytes;
}

TEST(MissingPerson, IsRefusedWithFileAndRowOfText) {
  const TemporaryFolder folder;
  for (const std::string& word : kNobody) {
    SCOPED_TRACE(word);
    const std::string bytes = padded({"a", "b", word, "c"});
    write_bytes(folder / "p.npy", npy_header_bytes(npy_text("|S24", "(4,)")) + bytes);
    const auto array = open_array(folder / "p.npy");
    std::vector<std::string> parts = {"p.npy: row 2 has ", "for the data's owner only"};
    if (!word.empty()) {
      parts.insert(parts.end(), {"means a missing one", "give the row its person, or rename a person with that name"});
    }
    expect_bad_input([&] { all_persons(*array); }, parts);
    const ArrayView view{as_bytes_of(bytes).data(), DType::kBytes, 4, 1, 24, 24, kNativeByteOrder, 24};
    MemoryArray in_memory(view, "identifiers");
    expect_bad_input([&] { all_persons(in_memory); }, {"identifiers: row 2 has "});
  }
  write_bytes(folder / "p.npy", npy_header_bytes(npy_text("|S24", "(17,)")) + padded(kSomebody));
  EXPECT_NO_THROW(all_persons(*open_array(folder / "p.npy")));
}

// In a later block than the first.
TEST(MissingPerson, IsRefusedWithFileAndRowOfIntegers) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> persons(100'000, 3);
  persons[70'000] = std::numeric_limits<std::int64_t>::min();  // NumPy's NaT
  write_npy(folder / "p.npy", persons);
  expect_bad_input([&] { all_persons(*open_array(folder / "p.npy")); },
                   {"p.npy: row 70000 has the identifier \"-9223372036854775808\"", "missing"});
  // 2^63 without a sign has the same bits, and is a number like any other.
  write_npy(folder / "u.npy", std::vector<std::uint64_t>(persons.begin(), persons.end()));
  EXPECT_NO_THROW(all_persons(*open_array(folder / "u.npy")));
}

TEST(PartOfPerson, IsInLowestTerms) {
  const std::tuple<std::uint64_t, std::uint64_t, UnitPart> parts[] = {
      {7, 7, {}},    {4, 12, {1, 3}}, {6, 9, {2, 3}}, {70000, 5 * 70000, {1, 5}}, {65535, 65536, {65535, 65536}},
      {0, 3, {0, 1}}};
  for (const auto& [rows, all, part] : parts) EXPECT_EQ(part_of_unit(rows, all), part) << rows;
  EXPECT_THROW(part_of_unit(4, 3), std::logic_error);
}

// However large the numbers: parts of one person are at most 1 together, and lose less than their last digit.
TEST(PartOfPerson, PartsAreAtMostOneTogether) {
  std::mt19937_64 engine(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::uint64_t> here(1 + engine() % 5);
    for (std::uint64_t& rows : here) rows = 1 + (engine() >> (16 + engine() % 47));
    const std::uint64_t all = std::reduce(here.begin(), here.end());
    long double sum = 0.0L;
    for (const std::uint64_t rows : here) {
      const UnitPart part = part_of_unit(rows, all);
      EXPECT_LE(part.count, kMostCountOfPart);
      const long double exact = static_cast<long double>(rows) / static_cast<long double>(all);
      const long double value = static_cast<long double>(part.count) / part.of;
      EXPECT_LE(value, exact * (1.0L + 1e-18L));
      EXPECT_GE(value, exact * (1.0L - 0x1p-14L) - 0x1p-30L);
      sum += value;
    }
    EXPECT_LE(sum, 1.0L + 1e-17L);
  }
}

}  // namespace dpreduce::array_persons_test
