// The gradient of a Poisson sample is that of the drawn rows alone. However rows are read, kept and shared out, it is
// the same: tests/mpi/every_fit_test.cpp.

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::row_sample_test {

constexpr std::size_t kRows = 3000;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 9;

// How the rows of a gradient are read.
struct Reading {
  std::size_t memory = std::size_t{1} << 20;
  bool is_kept = false;
  std::optional<RowUnits> persons{};
  bool are_checked = false;
};

class RowSampleTest : public testing::Test {
 protected:
  RowSampleTest() {
    std::mt19937 engine(1);
    x_ = normal_numbers<float>(engine, kRows * kDim);
    y_ = random_labels(engine, kRows, kClasses);
    write("all", std::vector<bool>(kRows, true));
    weights_ = normal_numbers(engine, kClasses * kDim, 2.0);
  }

  static RowSample sample(double rate) { return {SecretVector<std::byte>(32, std::byte{7}), rate, 0}; }

  // Writes the taken rows.
  void write(const std::string& name, const std::vector<bool>& taken) const {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    for (std::size_t row = 0; row < kRows; ++row) {
      if (!taken[row]) continue;
      x.insert(x.end(), x_.begin() + static_cast<std::ptrdiff_t>(row * kDim),
               x_.begin() + static_cast<std::ptrdiff_t>((row + 1) * kDim));
      y.push_back(y_[row]);
    }
    write_npy(folder_ / (name + "_x.npy"), x, kDim);
    write_npy(folder_ / (name + "_y.npy"), y);
  }

  std::vector<std::int64_t> gradient(const std::string& name, std::optional<RowSample> sample = {},
                                     const Reading& reading = {}) const {
    WorkerRows rows = WorkerRows::open({folder_ / (name + "_x.npy")}, {folder_ / (name + "_y.npy")}, 0, 1);
    if (reading.persons) rows.set_units(*reading.persons);
    const RowTransform transform({kDim, 1, Normalize::kL2, 1.0, {}, 0.0});
    const StreamPlan plan{kClasses, BadRows::kFail, reading.memory, 2};
    const LatticeWeights weights(weights_, {1.0, kDim});
    const GradientPoint point{weights};
    std::optional<KeptChunks> kept;
    if (reading.is_kept) kept = keep_lattice_chunks({rows, transform, plan, kUnwatched}, KeptFor::kRounds);
    StatisticInputs inputs{{rows, transform, plan, kUnwatched}, point, std::move(sample)};
    if (kept) inputs.kept = *kept;
    inputs.are_checked = reading.are_checked;
    const StatisticEntry& registered = registered_statistic("gradient");
    ReleaseRequest request = registered.request({.classes = kClasses, .dim = kDim}, 1.0);
    request.clips_units = reading.persons && reading.persons->are_whole;
    const Statistic statistic = registered.compute(request, inputs);
    const auto block = statistic.block(0);
    return {block.begin(), block.end()};
  }

  const TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  std::vector<double> weights_;
};

TEST_F(RowSampleTest, RowsThatAreNotDrawnAddExactlyNothing) {
  constexpr std::size_t kFewRows = 7 * (6 * kDim + 8);
  for (const double rate : {0.7, 0.1, 0.01}) {
    const RowSample drawn = sample(rate);
    RowCoins coins = drawn.coins();
    std::vector<bool> taken;
    for (std::size_t row = 0; row < kRows; ++row) taken.push_back(coins.next());
    write("drawn", taken);
    const std::vector<std::int64_t> expected = gradient("drawn");
    EXPECT_EQ(gradient("all", drawn), expected) << rate;
    EXPECT_EQ(gradient("all", drawn, {.memory = kFewRows}), expected) << rate << ", in chunks";
    EXPECT_EQ(gradient("all", drawn, {.is_kept = true}), expected) << rate << ", of rows that are kept";
  }
  EXPECT_EQ(gradient("all", sample(1e-9)), std::vector<std::int64_t>(kClasses * kDim, 0)) << "an empty sample";
}

// Persons of one row and of many; with `whole` they are clipped to one row.
RowUnits persons_of_sample(const std::vector<bool>& taken, bool whole) {
  RowUnits persons{.of_rows = {}, .first_rows = {}, .are_whole = whole};
  std::vector<std::int64_t> numbers(kRows, -1);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t name = row % 3 == 0 ? row : row * row % 61;
    if (!taken[row]) continue;
    if (numbers[name] < 0) {
      numbers[name] = static_cast<std::int64_t>(persons.first_rows.size());
      persons.first_rows.push_back(row);
    }
    persons.of_rows.push_back(static_cast<std::uint32_t>(numbers[name]));
  }
  return persons;
}

// All rows of a person are in, or none: the gradient is that of the drawn persons alone.
TEST_F(RowSampleTest, APersonHasOneCoin) {
  const std::vector<bool> all(kRows, true);
  for (const bool whole : {false, true}) {
    const RowUnits persons = persons_of_sample(all, whole);
    for (const double rate : {0.7, 0.2}) {
      const RowSample of_sample = sample(rate);
      const std::vector<char> drawn = of_sample.drawn_units(persons.first_rows);
      std::vector<bool> taken(kRows);
      for (std::size_t row = 0; row < kRows; ++row) taken[row] = drawn[persons.of_rows[row]] != 0;
      write("drawn", taken);
      EXPECT_EQ(gradient("all", of_sample, {.is_kept = true, .persons = persons}),
                gradient("drawn", std::nullopt, {.persons = persons_of_sample(taken, whole)}));
      const auto count = static_cast<double>(std::count(drawn.begin(), drawn.end(), 1));
      const auto many = static_cast<double>(drawn.size());
      EXPECT_NEAR(count, rate * many, 6.0 * std::sqrt(many * rate * (1.0 - rate)));
    }
  }
}

TEST_F(RowSampleTest, PersonsOfOneRowHaveTheCoinsOfTheirRows) {
  RowUnits alone{
      .of_rows = std::vector<std::uint32_t>(kRows), .first_rows = std::vector<std::uint64_t>(kRows), .are_whole = true};
  std::iota(alone.of_rows.begin(), alone.of_rows.end(), 0U);
  std::iota(alone.first_rows.begin(), alone.first_rows.end(), 0U);
  EXPECT_EQ(gradient("all", sample(0.4), {.persons = alone}), gradient("all", sample(0.4)));
}

TEST_F(RowSampleTest, OnceRowsAreCheckedDrawnRowsAloneAreTouched) {
  constexpr std::size_t kFewRows = 7 * (10 * kDim + 8);
  for (const double rate : {0.6, 0.01}) {
    const RowSample drawn = sample(rate);
    const std::vector<std::int64_t> expected = gradient("all", drawn);
    EXPECT_EQ(gradient("all", drawn, {.are_checked = true}), expected) << rate;
    EXPECT_EQ(gradient("all", drawn, {.memory = kFewRows, .are_checked = true}), expected) << rate;
  }
  const RowSample drawn = sample(0.3);
  const std::vector<std::int64_t> expected = gradient("all", drawn);
  RowCoins coins = drawn.coins();
  std::size_t left_out = 0;
  while (coins.next()) ++left_out;
  x_[left_out * kDim] = std::numeric_limits<float>::quiet_NaN();
  write("bad", std::vector<bool>(kRows, true));
  EXPECT_EQ(gradient("bad", drawn, {.are_checked = true}), expected);
  EXPECT_THROW(gradient("bad", drawn), BadInput);
  EXPECT_THROW(gradient("bad"), BadInput);
}

}  // namespace dpreduce::row_sample_test
