// Persons' rows over ranks: however they are spread, each weighs the same.
#include "worker/person_rows.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/error.hpp"
#include "common/data/memory_array.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/fit/fitted_rows.hpp"
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
  weigh(rows, &persons, rows_per_person, count_over_ranks, test_ranks());
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

// Rows of this rank that `is_own` takes, with a feature that says which they are, where persons are to be whole.
template <typename IsOwn>
WorkerRows gathered_rows(const IsOwn& is_own, const TemporaryFolder& folder, std::size_t label_columns) {
  std::vector<std::int64_t> own;
  std::vector<float> x;
  std::vector<std::uint8_t> y;
  const std::vector<std::int64_t> all = persons_of_all();
  for (std::size_t row = 0; row < all.size(); ++row) {
    if (!is_own(row)) continue;
    own.push_back(all[row]);
    x.insert(x.end(), {static_cast<float>(row), 1.0F, 0.5F});
    if (label_columns == 1) y.push_back(static_cast<std::uint8_t>(row % 3));
    for (std::size_t c = 0; label_columns > 1 && c < label_columns; ++c) y.push_back((row >> c) % 2);
  }
  const std::string n = std::to_string(own.size());
  write_bytes(folder / "x.npy", npy_header_bytes(npy_text("<f4", "(" + n + ", 3)")) + element_bytes(x));
  write_bytes(
      folder / "y.npy",
      npy_header_bytes(npy_text("|u1", "(" + n + ", " + std::to_string(label_columns) + ")")) + element_bytes(y));
  write_bytes(folder / "p.npy", npy_header_bytes(npy_text("<i8", "(" + n + ",)")) + element_bytes(own));
  WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
  ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
  weigh(rows, &persons, 2, count_over_ranks, test_ranks(),
        {.coins = true, .whole = true, .classes = 3, .most_labels = 3});
  return rows;
}

// Each row is on one rank still, with its classes and weight, and beside all rows of its person.
TEST(PersonRows, AreGatheredOnOneRank) {
  const std::vector<std::int64_t> all = persons_of_all();
  std::map<std::int64_t, std::uint64_t> rows_of;
  for (const std::int64_t person : all) ++rows_of[person];
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  for (const bool is_dealt : {false, true}) {
    for (const std::size_t columns : {1u, 3u}) {
      const TemporaryFolder folder;
      WorkerRows rows = gathered_rows(
          [&](std::size_t row) { return (is_dealt ? row % size : row * size / kRowsOfAll) == rank; }, folder, columns);
      std::vector<std::uint64_t> seen(kRowsOfAll, 0);
      std::vector<std::uint64_t> here(rows.units().first_rows.size(), 0);
      std::vector<std::int64_t> names(here.size(), -1000);
      std::vector<float> x(3);
      std::vector<std::int32_t> y(columns);
      for (std::uint64_t place = 0; place < rows.range().count; ++place) {
        rows.features().read_features(place, 1, x);
        rows.labels().read_labels(place, 1, 3, y);
        const auto row = static_cast<std::size_t>(x[0]);
        ++seen[row];
        if (columns == 1) {
          EXPECT_EQ(y[0], static_cast<std::int32_t>(row % 3));
        } else {
          std::size_t set = 0;
          for (const std::int32_t label : classes_in(y)) set |= std::size_t{1} << label;
          EXPECT_EQ(set, row % 8);
        }
        EXPECT_EQ(rows.weight(place), weight_of_rows(rows_of[all[row]], 2));
        const std::uint32_t person = rows.unit(place);
        EXPECT_TRUE(names[person] == -1000 || names[person] == all[row]);
        names[person] = all[row];
        ++here[person];
      }
      for (std::size_t person = 0; person < here.size(); ++person) {
        EXPECT_EQ(here[person], rows_of[names[person]]);
        if (is_dealt) continue;  // then rows stand in their order, rank after rank
        const auto first = std::find(all.begin(), all.end(), names[person]) - all.begin();
        EXPECT_EQ(rows.units().first_rows[person], static_cast<std::uint64_t>(first));
      }
      const std::vector<std::uint64_t>& by_unit = rows.by_unit();
      EXPECT_EQ(by_unit.size(), rows.range().count);
      for (std::size_t next = 1; next < by_unit.size(); ++next) {
        EXPECT_LE(rows.unit(by_unit[next - 1]), rows.unit(by_unit[next]));
      }
      test_ranks().sum_everywhere(seen);
      EXPECT_EQ(seen, std::vector<std::uint64_t>(kRowsOfAll, 1));
    }
  }
}

// A row that could not be trained on is told of where its file is.
TEST(PersonRows, ThatMoveAreReadByWhoHasTheirFile) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const std::vector<float> x{test_ranks().rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F, 2.0F};
  const std::vector<std::int32_t> y{1};
  const std::vector<std::int64_t> p{5};
  write_bytes(folder / "x.npy", npy_header_bytes(npy_text("<f4", "(1, 2)")) + element_bytes(x));
  write_bytes(folder / "y.npy", npy_header_bytes(npy_text("<i4", "(1,)")) + element_bytes(y));
  write_bytes(folder / "p.npy", npy_header_bytes(npy_text("<i8", "(1,)")) + element_bytes(p));
  for (const BadRows bad_rows : {BadRows::kFail, BadRows::kZero}) {
    WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
    ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
    const auto gather = [&] {
      weigh(rows, &persons, 1, count_over_ranks, test_ranks(), {.whole = true, .classes = 3, .bad_rows = bad_rows});
    };
    if (bad_rows == BadRows::kZero) {
      gather();
      EXPECT_EQ(rows.range().count, test_ranks().rank() == 0 ? static_cast<std::uint64_t>(test_ranks().size()) : 0u);
    } else if (test_ranks().rank() == 1) {
      EXPECT_THROW(gather(), BadInput);
    } else {
      EXPECT_THROW(gather(), PeerFailed);
    }
  }
}

TEST(PersonRows, ThatMoveWithTooManyLabelsAreNamedByTheirFile) {
  if (test_ranks().size() == 1) return;
  const TemporaryFolder folder;
  const bool is_bad = test_ranks().rank() == 1;
  write_bytes(folder / "x.npy",
              npy_header_bytes(npy_text("<f4", "(2, 2)")) + element_bytes(std::vector<float>(4, 1.0F)));
  write_bytes(folder / "y.npy", npy_header_bytes(npy_text("|i1", "(2, 3)")) +
                                    element_bytes(std::vector<std::int8_t>{1, 1, 0, 1, 1, is_bad}));
  write_bytes(folder / "p.npy",
              npy_header_bytes(npy_text("<i8", "(2,)")) + element_bytes(std::vector<std::int64_t>(2, 5)));
  for (const BadRows bad_rows : {BadRows::kFail, BadRows::kZero}) {
    WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
    ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
    const auto gather = [&] {
      weigh(rows, &persons, 1, count_over_ranks, test_ranks(),
            {.whole = true, .classes = 3, .most_labels = 2, .bad_rows = bad_rows});
    };
    if (bad_rows == BadRows::kZero) {
      gather();
    } else if (is_bad) {
      expect_bad_input(gather, {"y.npy: row 1: 3 labels, more than --max-labels 2", "correct the labels"});
    } else {
      EXPECT_THROW(gather(), PeerFailed);
    }
  }
}

// A fit of persons on all ranks, whose rows lie anywhere, and the same `rows` on one rank: equal bytes.
void expect_the_model_of_one_rank(std::size_t rows, const std::function<std::int64_t(std::size_t)>& person_of) {
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  const TemporaryFolder of_rank;
  const std::string folder = test_ranks().trusted().broadcast(of_rank / "");  // rank 0's
  constexpr std::size_t kDim = 6;
  const auto write = [&](const std::string& name, std::size_t first, std::size_t end) {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    std::vector<std::int64_t> p;
    for (std::size_t row = first; row < end; ++row) {
      std::mt19937 engine(static_cast<unsigned>(row));
      std::normal_distribution<float> normal;
      y.push_back(static_cast<std::int32_t>(row % 3));
      p.push_back(person_of(row));
      for (std::size_t a = 0; a < kDim; ++a) x.push_back(normal(engine) + (a == row % 3 ? 2.0F : 0.0F));
    }
    const std::string n = std::to_string(y.size());
    write_bytes(folder + name + "x.npy",
                npy_header_bytes(npy_text("<f4", "(" + n + ", " + std::to_string(kDim) + ")")) + element_bytes(x));
    write_bytes(folder + name + "y.npy", npy_header_bytes(npy_text("<i4", "(" + n + ",)")) + element_bytes(y));
    write_bytes(folder + name + "p.npy", npy_header_bytes(npy_text("<i8", "(" + n + ",)")) + element_bytes(p));
  };
  write("part" + std::to_string(rank), rows * rank / size, rows * (rank + 1) / size);
  if (rank == 0) write("all", 0, rows);
  test_ranks().max_everywhere(0.0);  // all files are there
  for (const std::pair<std::string, double>& setting : std::vector<std::pair<std::string, double>>{
           {"mean", 1.0}, {"ls", 1.0}, {"fc", 1.0}, {"fisher", 1.0}, {"newton", 1.0}, {"adam", 1.0}, {"adam", 0.4}}) {
    const std::string& method = setting.first;
    const double batch = setting.second;
    SCOPED_TRACE(method + " " + std::to_string(batch));
    const auto options_of = [&](const std::string& name) {
      FitOptions options = seeded_fit(method, of_rank);
      options.privacy.ledger.clear();
      options.data.train.x = {folder + name + "x.npy"};
      options.data.train.y = {folder + name + "y.npy"};
      options.data.train.person = {folder + name + "p.npy"};
      options.data.classes = 3;
      options.data.rows_per_person = 2;
      if (method == "adam" || method == "newton") options.method.rounds = 4;
      if (batch < 1.0) {
        options.method.batch = batch;
        options.privacy.budget.mu.reset();
        options.privacy.budget.epsilon = 2.0;
        options.privacy.budget.delta = 1e-5;
        options.privacy.budget.accountant = Accountant::kRdp;
      }
      return options;
    };
    FittedRun over_ranks = fit(options_of("part{rank}"), test_ranks(), Accounts::kElsewhere);
    over_ranks.finish();
    Communicator alone = Communicator::alone();
    FittedRun by_one = fit(options_of("all"), alone, Accounts::kElsewhere);
    by_one.finish();
    EXPECT_EQ(to_bytes(over_ranks.classifier), to_bytes(by_one.classifier));
  }
  test_ranks().max_everywhere(0.0);  // nobody reads any more
}

// One person has more rows than are clipped together: they stay where they are.
TEST(PersonRows, OfOnePersonWithVeryManyStay) {
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  const std::size_t most = most_rows_clipped_together(1);
  for (const std::size_t all : {most, most + 1}) {
    const std::size_t own = all * (rank + 1) / size - all * rank / size;
    const TemporaryFolder folder;
    const std::vector<std::int64_t> p(own, 5);
    write_bytes(folder / "p.npy",
                npy_header_bytes(npy_text("<i8", "(" + std::to_string(own) + ",)")) + element_bytes(p));
    const std::vector<float> x(own, 1.0F);
    const std::vector<std::int32_t> y(own, 0);
    WorkerRows rows = WorkerRows::in_memory(array_view(x), array_view(y), "x", "y");
    ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
    weigh(rows, &persons, 1, count_over_ranks, test_ranks(), {.whole = true, .classes = 2});
    if (all == most) {
      EXPECT_TRUE(rows.range().count == all || rows.range().count == 0);
      EXPECT_FALSE(rows.units().parts);
    } else {
      EXPECT_EQ(rows.range().count, own);
      EXPECT_EQ(rows.bytes_of_others(), 0u);
      EXPECT_EQ(*rows.units().parts, UnitParts(own, {1, static_cast<std::uint32_t>(all)}));
    }
  }
}

// To the model, too.
TEST(PersonRows, GiveTheModelOfOneRankWhereOnePersonHasVeryMany) {
  const std::size_t most = most_rows_clipped_together(6);
  expect_the_model_of_one_rank(most + 300, [&](std::size_t row) {
    return row % 16 == 0 && row / 16 < 250 ? static_cast<std::int64_t>(row % 7) : 1000;
  });
}

// More than 65,535 rows of a person on one rank are told in parts: to their weights it makes no difference.
TEST(PersonRows, WithMoreRowsOnARankThanOneMessageCountsWeighTheSame) {
  const auto rank = static_cast<std::size_t>(test_ranks().rank());
  const auto size = static_cast<std::size_t>(test_ranks().size());
  // Of the rows of all ranks, in their order, the persons of these numbers have so many: at the edges of a part and
  // past several.
  const std::vector<std::size_t> rows_of{3, 65535, 65536, 1, 131071, 131070, 4};
  std::vector<std::int64_t> p;
  for (std::size_t person = 0; person < rows_of.size(); ++person) {
    const std::size_t on_rank_0 = rows_of[person] - (size > 1 && person % 2 == 0 ? size - 1 : 0);
    if (rank == 0) p.insert(p.end(), on_rank_0, static_cast<std::int64_t>(person));
    if (rank != 0 && person % 2 == 0) p.push_back(static_cast<std::int64_t>(person));
  }
  const TemporaryFolder folder;
  write_bytes(folder / "p.npy",
              npy_header_bytes(npy_text("<i8", "(" + std::to_string(p.size()) + ",)")) + element_bytes(p));
  const std::vector<float> x(p.size(), 1.0F);
  const std::vector<std::int32_t> y(p.size(), 0);
  for (const bool has_coins : {false, true}) {
    WorkerRows rows = WorkerRows::in_memory(array_view(x), array_view(y), "x", "y");
    ShardedArray persons(std::vector<std::string>{folder / "p.npy"}, ArrayRole::kPersons);
    weigh(rows, &persons, 4, count_over_ranks, test_ranks(), {.coins = has_coins, .classes = 2});
    std::size_t wrong = 0;
    for (std::uint64_t row = 0; row < p.size(); ++row) {
      wrong += rows.weight(row) == weight_of_rows(rows_of[static_cast<std::size_t>(p[row])], 4) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U);
    if (!has_coins) continue;
    std::size_t first_row = 0;  // persons come one after the other on rank 0
    for (std::size_t person = 0, row = 0; person < rows_of.size() && rank == 0; ++person) {
      EXPECT_EQ(rows.units().first_rows[rows.unit(row)], first_row) << person;
      const std::size_t here = rows_of[person] - (size > 1 && person % 2 == 0 ? size - 1 : 0);
      first_row += here;
      row += here;
    }
  }
}

}  // namespace person_rows_test
}  // namespace dpreduce
