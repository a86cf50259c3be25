#include "worker/identified_rows.hpp"

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::identified_rows_test {

KeyedHash test_hash() {
  constexpr std::array<std::byte, 32> kKey{};
  return KeyedHash(std::span<const std::byte, 32>(kKey));
}

// Whose row each is, as the first row of that person.
std::vector<std::size_t> first_rows_of(const IdentifiedRows& rows) {
  std::vector<std::size_t> firsts;
  for (const std::uint32_t person : rows.of_rows) {
    firsts.push_back(static_cast<std::size_t>(std::ranges::find(rows.of_rows, person) - rows.of_rows.begin()));
  }
  return firsts;
}

// 7 and "7" are one person, in integers of any size, with and without sign, and in strings.
TEST(IdentifiedRows, APersonIsTheSameInFilesOfAnyType) {
  const TemporaryFolder folder;
  const std::uint64_t large = (std::uint64_t{1} << 63) + 5;  // no int64
  const std::string none(18, '\0');
  std::vector<std::string> files;
  for (const auto& [type, rows, elements] :
       {std::tuple{"<i8", 3, element_bytes(std::vector<std::int64_t>{7, -1, 7})},
        {"<u8", 3, element_bytes(std::vector<std::uint64_t>{large, 7, 255})},
        {"|i1", 2, std::string("\xff\x07", 2)},
        {"|S20", 3, std::string("9223372036854775813\0", 20) + "-1" + none + "07" + none},
        {"|u1", 1, std::string("\xff", 1)}}) {
    files.push_back(folder / numbered_npy("", files.size()));
    write_bytes(files.back(), npy_header_bytes(npy_text(type, fmt::format("({},)", rows))) + elements);
  }
  ShardedArray persons(files, ArrayRole::kPersons);
  const IdentifiedRows rows = identified(persons, {0, 12}, test_hash());
  EXPECT_EQ(first_rows_of(rows), (std::vector<std::size_t>{0, 1, 0, 3, 0, 5, 1, 0, 3, 1, 10, 5}));
  std::vector<std::uint64_t> counts = rows.persons.rows;
  std::ranges::sort(counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 2, 2, 3, 4}));
  EXPECT_TRUE(std::ranges::is_sorted(rows.persons.persons));
  EXPECT_EQ(rows.persons.rows[rows.of_rows[0]], 4u);
  EXPECT_EQ(rows.persons.rows_of(rows.persons.persons[rows.of_rows[10]]), 1u);
}

TEST(IdentifiedRows, ARangeIsOfItsRowsAlone) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> all;
  for (std::int64_t row = 0; row < 2000; ++row) all.push_back(row * row % 97);
  write_npy(folder / "p.npy", all);
  ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
  const IdentifiedRows rows = identified(persons, {100, 1500}, test_hash());
  ASSERT_EQ(rows.of_rows.size(), 1500u);
  const std::vector<std::int64_t> range(all.begin() + 100, all.begin() + 1600);
  const std::vector<std::size_t> firsts = first_rows_of(rows);
  for (std::size_t row = 0; row < range.size(); ++row) {
    EXPECT_EQ(firsts[row], static_cast<std::size_t>(std::ranges::find(range, range[row]) - range.begin())) << row;
    EXPECT_EQ(rows.persons.rows[rows.of_rows[row]], static_cast<std::uint64_t>(std::ranges::count(range, range[row])));
  }
  const std::vector<RowWeight> weights = rows.weights(2);
  EXPECT_EQ(weights[0], weight_of_rows(rows.persons.rows[rows.of_rows[0]], 2));
  EXPECT_TRUE(identified(persons, {0, 0}, test_hash()).of_rows.empty());
}

// Person 0 has 4 of 9 rows, person 1 has 3, person 2 has 2.
IdentifiedRows rows_of_three() {
  IdentifiedRows rows;
  rows.of_rows = {0, 1, 0, 2, 0, 1, 2, 0, 1};
  rows.persons = {.persons = {{1, 0}, {2, 0}, {3, 0}}, .rows = {4, 3, 2}, .first_rows = {10, 11, 13}};
  return rows;
}

TEST(IdentifiedRows, AreNumberedInTheOrderOfFirstRows) {
  const RowUnits numbered = rows_of_three().numbered();
  EXPECT_EQ(numbered.of_rows, (std::vector<std::uint32_t>{0, 1, 0, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(numbered.first_rows, (std::vector<std::uint64_t>{10, 11, 13}));
  EXPECT_FALSE(numbered.are_whole);
  EXPECT_FALSE(numbered.parts);
  EXPECT_EQ(rows_of_three().numbered_to_clip(4).of_rows, numbered.of_rows);
  EXPECT_TRUE(rows_of_three().numbered_to_clip(4).are_whole);
}

// Whoever has more rows than are clipped together: each is a person with a part, under the coin of the person.
TEST(IdentifiedRows, OfVeryManyAreNumberedOneByOne) {
  const RowUnits numbered = rows_of_three().numbered_to_clip(2);
  EXPECT_EQ(numbered.of_rows, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 3, 6, 7}));
  EXPECT_EQ(numbered.first_rows, (std::vector<std::uint64_t>{10, 11, 10, 13, 10, 11, 10, 11}));
  ASSERT_TRUE(numbered.parts);
  const UnitPart fourth{1, 4};
  const UnitPart third{1, 3};
  EXPECT_EQ(*numbered.parts, (UnitParts{fourth, third, fourth, {}, fourth, third, fourth, third}));
}

// Rows that count for more than these: by where they lie among silos, by all of them among ranks.
TEST(IdentifiedRows, OfVeryManyAreThoseThatWouldBeTogether) {
  IdentifiedRows rows = rows_of_three();
  rows.persons.rows = {8, 3, 2};
  EXPECT_EQ(*rows.numbered_to_clip(4).parts, (UnitParts{{1, 2}, {}, {}}));
  rows.persons.owners = {0, 0, 0};
  const RowUnits numbered = rows.numbered_to_clip(4);
  EXPECT_EQ(numbered.first_rows.size(), 6u);
  EXPECT_EQ(numbered.parts->front(), (UnitPart{1, 8}));
}

}  // namespace dpreduce::identified_rows_test
