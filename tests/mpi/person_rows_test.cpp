// Persons' rows over ranks: however they are spread, each weighs the same.
#include "fit/person_rows.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/data/memory_array.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce {
namespace person_rows_test {

constexpr std::size_t kRowsOfAll = 5000;

// A long tail: person 0 has half of the rows.
std::vector<std::int64_t> persons_of_all() {
  std::vector<std::int64_t> persons;
  for (std::size_t row = 0; row < kRowsOfAll; ++row) {
    const auto drawn = static_cast<std::int64_t>((row * 2654435761u) % 1009);
    persons.push_back(row % 2 == 0 ? 0 : drawn * drawn % 211 - 100);
  }
  return persons;
}

// The rows of this rank are those that `is_own` takes. As integers, or as the same digits in strings.
template <typename IsOwn>
std::vector<RowWeight> weights_of_own(const IsOwn& is_own, bool as_strings, std::uint64_t rows_per_person) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> own;
  std::string text;
  const std::vector<std::int64_t> all = persons_of_all();
  for (std::size_t row = 0; row < all.size(); ++row) {
    if (!is_own(row)) continue;
    own.push_back(all[row]);
    std::string digits = std::to_string(all[row]);
    digits.resize(8, '\0');
    text += digits;
  }
  const std::string n = std::to_string(own.size());
  write_bytes(folder / "p.npy", as_strings ? npy_header_bytes(npy_text("|S8", "(" + n + ",)")) + text
                                           : npy_header_bytes(npy_text("<i8", "(" + n + ",)")) + element_bytes(own));
  const std::vector<float> features(own.size(), 1.0F);
  WorkerRows rows = WorkerRows::in_memory(array_view(features), std::nullopt, "features");
  ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
  weigh_by_person(rows, persons, rows_per_person, test_ranks());
  std::vector<RowWeight> weights;
  for (std::uint64_t row = 0; row < rows.range().count; ++row) weights.push_back(rows.weight(row));
  return weights;
}

TEST(PersonRows, WeighWhatAllRowsOfTheirPersonSay) {
  const std::vector<std::int64_t> all = persons_of_all();
  std::map<std::int64_t, std::uint64_t> rows_of;
  for (const std::int64_t person : all) ++rows_of[person];
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  const auto is_cut = [&](std::size_t row) { return row * size / kRowsOfAll == rank; };
  const auto is_dealt = [&](std::size_t row) { return row % size == rank; };
  const auto is_of_the_last = [&](std::size_t) { return rank + 1 == size; };
  const auto check = [&](const auto& is_own, bool as_strings, std::uint64_t bound) {
    const std::vector<RowWeight> weights = weights_of_own(is_own, as_strings, bound);
    std::size_t next = 0;
    for (std::size_t row = 0; row < kRowsOfAll; ++row) {
      if (is_own(row)) {
        ASSERT_EQ(weights[next++], weight_of_rows(rows_of[all[row]], bound)) << row;
      }
    }
    EXPECT_EQ(next, weights.size());
  };
  for (const std::uint64_t bound : {1u, 4u}) {
    check(is_cut, false, bound);
    check(is_dealt, rank % 2 == 0, bound);  // an integer and its digits are one person
    check(is_of_the_last, true, bound);
  }
}

}  // namespace person_rows_test
}  // namespace dpreduce
