// Persons' rows over ranks: however they are spread, each weighs the same.
#include "worker/person_rows.hpp"

#include "common/model/classifier_file.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/mpi/mpi_test.hpp"

namespace dpreduce::person_rows_test {

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

// Whether a row of all is this rank's: where ranks have consecutive ones, or one after the other in turn.
bool is_cut(std::size_t row) {
  return row * rank_count() / kRowsOfAll == own_rank();
}
bool is_dealt(std::size_t row) {
  return row % rank_count() == own_rank();
}

class PersonRows : public testing::Test {
 protected:
  PersonRows() {
    for (const std::int64_t person : all_) ++rows_of_[person];
  }

  void write_persons(const std::vector<std::int64_t>& persons) const { write_npy(folder_ / "p.npy", persons); }
  // So many rows of one feature, all alike.
  static WorkerRows equal_rows(std::size_t count) {
    static std::vector<float> x;
    static std::vector<std::int32_t> y;
    x.assign(count, 1.0F), y.assign(count, 0);
    return WorkerRows::in_memory(array_view(x), array_view(y), "x", "y");
  }
  // Those of the files.
  WorkerRows opened_rows() const { return WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1); }
  // By the persons of the file.
  void weigh_persons(WorkerRows& rows, std::uint64_t rows_per_person, const PersonNeeds& needs = {}) const {
    ShardedArray persons(std::vector<std::string>{folder_ / "p.npy"}, ArrayRole::kPersons);
    weigh(rows, &persons, rows_per_person, count_over_ranks, test_ranks(), needs);
  }

  // A row of rank 1 cannot be trained on: it ends all, or counts nowhere and all rows of the person come to rank 0.
  // Returns what is said at rank 1.
  std::string expect_bad_row_of_rank_1(PersonNeeds needs) const {
    needs.bad_rows = BadRows::kFail;
    const std::string said = expect_failure_of<BadInput>(1, [&] {
      WorkerRows refused = opened_rows();
      weigh_persons(refused, 1, needs);
    });
    needs.bad_rows = BadRows::kZero;
    WorkerRows moved = opened_rows();
    const std::uint64_t own = moved.range().count;
    weigh_persons(moved, 1, needs);
    EXPECT_EQ(moved.range().count, own_rank() == 0 ? own * rank_count() : 0u);
    return said;
  }

  // The rows of this rank are those that `is_own` takes. As integers, or as the same digits in strings.
  std::vector<RowWeight> weights_of_own(const std::function<bool(std::size_t)>& is_own, bool as_strings,
                                        std::uint64_t rows_per_person) const {
    std::vector<std::int64_t> own;
    std::string text;
    for (std::size_t row = 0; row < all_.size(); ++row) {
      if (!is_own(row)) continue;
      own.push_back(all_[row]);
      text += std::to_string(all_[row]);
      text.resize(8 * own.size(), '\0');
    }
    write_persons(own);
    if (as_strings) {
      write_bytes(folder_ / "p.npy", npy_header_bytes(npy_text("|S8", fmt::format("({},)", own.size()))) + text);
    }
    WorkerRows rows = equal_rows(own.size());
    weigh_persons(rows, rows_per_person);
    std::vector<RowWeight> weights;
    for (std::uint64_t row = 0; row < rows.range().count; ++row) weights.push_back(rows.weight(row));
    return weights;
  }

  // Rows of this rank that `is_own` takes, with a feature that says which they are, where persons are to be whole.
  WorkerRows gathered_rows(const std::function<bool(std::size_t)>& is_own, std::size_t label_columns) const {
    std::vector<std::int64_t> own;
    std::vector<float> x;
    std::vector<std::uint8_t> y;
    for (std::size_t row = 0; row < all_.size(); ++row) {
      if (!is_own(row)) continue;
      own.push_back(all_[row]);
      x.insert(x.end(), {static_cast<float>(row), 1.0F, 0.5F});
      if (label_columns == 1) y.push_back(static_cast<std::uint8_t>(row % 3));
      for (std::size_t c = 0; label_columns > 1 && c < label_columns; ++c) y.push_back((row >> c) % 2);
    }
    write_npy(folder_ / "x.npy", x, 3);
    write_npy(folder_ / "y.npy", y, label_columns);
    write_persons(own);
    WorkerRows gathered = opened_rows();
    weigh_persons(gathered, 2, {.coins = true, .whole = true, .classes = 3, .most_labels = 3});
    return gathered;
  }

  const std::vector<std::int64_t> all_ = persons_of_all();
  std::map<std::int64_t, std::uint64_t> rows_of_;
  TemporaryFolder folder_;
};

TEST_F(PersonRows, WeighWhatAllRowsOfTheirPersonSay) {
  const auto check = [&](const std::function<bool(std::size_t)>& is_own, bool as_strings, std::uint64_t bound) {
    const std::vector<RowWeight> weights = weights_of_own(is_own, as_strings, bound);
    std::size_t next = 0;
    for (std::size_t row = 0; row < kRowsOfAll; ++row) {
      if (is_own(row)) {
        ASSERT_EQ(weights[next++], weight_of_rows(rows_of_[all_[row]], bound)) << row;
      }
    }
    EXPECT_EQ(next, weights.size());
  };
  const auto is_of_the_last = [](std::size_t) { return own_rank() + 1 == rank_count(); };
  for (const std::uint64_t bound : {1u, 4u}) {
    check(is_cut, false, bound);
    check(is_dealt, own_rank() % 2 == 0, bound);  // an integer and its digits are one person
    check(is_of_the_last, true, bound);
  }
}

// Each row is on one rank still, with its classes and weight, and beside all rows of its person.
TEST_F(PersonRows, AreGatheredOnOneRank) {
  for (const bool are_dealt : {false, true}) {
    for (const std::size_t columns : {1u, 3u}) {
      WorkerRows rows = gathered_rows(are_dealt ? is_dealt : is_cut, columns);
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
        EXPECT_EQ(rows.weight(place), weight_of_rows(rows_of_[all_[row]], 2));
        const std::uint32_t person = rows.unit(place);
        EXPECT_TRUE(names[person] == -1000 || names[person] == all_[row]);
        names[person] = all_[row];
        ++here[person];
      }
      for (std::size_t person = 0; person < here.size(); ++person) {
        EXPECT_EQ(here[person], rows_of_[names[person]]);
        if (are_dealt) continue;  // else rows stand in their order, rank after rank
        const auto first = std::find(all_.begin(), all_.end(), names[person]) - all_.begin();
        EXPECT_EQ(rows.units().first_rows[person], static_cast<std::uint64_t>(first));
      }
      const std::vector<std::uint64_t>& by_unit = rows.by_unit().places;
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
TEST_F(PersonRows, ThatMoveAreReadByWhoHasTheirFile) {
  if (test_ranks().size() == 1) return;
  write_npy(folder_ / "x.npy",
            std::vector{test_ranks().rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F, 2.0F}, 2);
  write_npy(folder_ / "y.npy", std::vector<std::int32_t>{1});
  write_persons({5});
  expect_bad_row_of_rank_1({.whole = true, .classes = 3});
}

TEST_F(PersonRows, ThatMoveWithTooManyLabelsAreNamedByTheirFile) {
  if (test_ranks().size() == 1) return;
  const bool is_bad = test_ranks().rank() == 1;
  write_npy(folder_ / "x.npy", std::vector<float>(4, 1.0F), 2);
  write_npy(folder_ / "y.npy", std::vector<std::int8_t>{1, 1, 0, 1, 1, is_bad}, 3);
  write_persons({5, 5});
  const std::string said = expect_bad_row_of_rank_1({.whole = true, .classes = 3, .most_labels = 2});
  if (is_bad) {
    EXPECT_THAT(said,
                AllOf(HasSubstr("y.npy: row 1: 3 labels, more than --max-labels 2"), HasSubstr("correct the labels")));
  }
}

// One person has more rows than are clipped together: they stay where they are.
TEST_F(PersonRows, OfOnePersonWithVeryManyStay) {
  const std::size_t most = most_rows_clipped_together(1);
  for (const std::size_t all : {most, most + 1}) {
    const std::size_t own = own_rows(all).end - own_rows(all).first;
    write_persons(std::vector<std::int64_t>(own, 5));
    WorkerRows rows = equal_rows(own);
    weigh_persons(rows, 1, {.whole = true, .classes = 2});
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

// To the model, too: a fit of persons on all ranks, whose rows lie anywhere, and the same rows on one rank give equal
// bytes.
TEST_F(PersonRows, GiveTheModelOfOneRankWhereOnePersonHasVeryMany) {
  constexpr std::size_t kDim = 6;
  const std::size_t rows = most_rows_clipped_together(kDim) + 300;
  const std::string folder = test_ranks().trusted().broadcast(folder_ / "");  // rank 0's
  const auto write = [&](const std::string& name, const OwnRows& written) {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    std::vector<std::int64_t> p;
    for (std::size_t row = written.first; row < written.end; ++row) {
      std::mt19937 engine(static_cast<unsigned>(row));
      std::normal_distribution<float> normal;
      y.push_back(static_cast<std::int32_t>(row % 3));
      p.push_back(row % 16 == 0 && row / 16 < 250 ? static_cast<std::int64_t>(row % 7) : 1000);
      for (std::size_t a = 0; a < kDim; ++a) x.push_back(normal(engine) + (a == row % 3 ? 2.0F : 0.0F));
    }
    write_npy(folder + name + "x.npy", x, kDim);
    write_npy(folder + name + "y.npy", y);
    write_npy(folder + name + "p.npy", p);
  };
  write(fmt::format("part{}", own_rank()), own_rows(rows));
  if (test_ranks().is_coordinator()) write("all", {0, rows});
  test_ranks().max_everywhere(0.0);  // all files are there
  for (const std::string what : {"mean", "ls", "fc", "fisher", "newton", "adam", "adam on samples"}) {
    SCOPED_TRACE(what);
    const std::string method = what.substr(0, what.find(' '));
    const auto options_of = [&](const std::string& name) {
      FitOptions options = seeded_fit(method, folder_);
      options.privacy.ledger.clear();
      options.data.train.x = {folder + name + "x.npy"};
      options.data.train.y = {folder + name + "y.npy"};
      options.data.train.person = {folder + name + "p.npy"};
      options.data.classes = 3;
      options.data.rows_per_person = 2;
      if (method == "adam" || method == "newton") options.method.rounds = 4;
      if (what != method) {
        options.method.batch = 0.4;
        options.privacy.budget = {{.epsilon = 2.0, .delta = 1e-5}, Accountant::kRdp};
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

// More than 65,535 rows of a person on one rank are told in parts: to their weights it makes no difference.
TEST_F(PersonRows, WithMoreRowsOnARankThanOneMessageCountsWeighTheSame) {
  // Of the rows of all ranks, in their order, the persons of these numbers have so many: at the edges of a part and
  // past several.
  const std::vector<std::size_t> rows_of{3, 65535, 65536, 1, 131071, 131070, 4};
  const auto on_rank_0 = [&](std::size_t person) {
    return rows_of[person] - (rank_count() > 1 && person % 2 == 0 ? rank_count() - 1 : 0);
  };
  std::vector<std::int64_t> p;
  for (std::size_t person = 0; person < rows_of.size(); ++person) {
    if (own_rank() == 0) p.insert(p.end(), on_rank_0(person), static_cast<std::int64_t>(person));
    if (own_rank() != 0 && person % 2 == 0) p.push_back(static_cast<std::int64_t>(person));
  }
  write_persons(p);
  for (const bool has_coins : {false, true}) {
    WorkerRows rows = equal_rows(p.size());
    weigh_persons(rows, 4, {.coins = has_coins, .classes = 2});
    std::size_t wrong = 0;
    for (std::uint64_t row = 0; row < p.size(); ++row) {
      wrong += rows.weight(row) == weight_of_rows(rows_of[static_cast<std::size_t>(p[row])], 4) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U);
    if (!has_coins || own_rank() != 0) continue;
    std::size_t first_row = 0;  // persons come one after the other on rank 0
    for (std::size_t person = 0; person < rows_of.size(); ++person) {
      EXPECT_EQ(rows.units().first_rows[rows.unit(first_row)], first_row) << person;
      first_row += on_rank_0(person);
    }
  }
}

}  // namespace dpreduce::person_rows_test
