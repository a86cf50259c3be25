#include "worker/class_grams.hpp"

#include "common/base/error.hpp"
#include "common/ledger/statistic.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::class_grams_test {

constexpr std::size_t kDim = 7;
constexpr std::size_t kClasses = 5;  // class 3 has no rows
constexpr std::size_t kRows = 90;
constexpr std::size_t kAmple = 1 << 20;

class ClassGramsTest : public testing::Test {
 protected:
  ClassGramsTest() {
    std::mt19937 engine(2);
    std::normal_distribution<float> normal;
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t a = 0; a < kDim; ++a) x_.push_back(normal(engine));
      const auto label = static_cast<std::int32_t>(engine() % (kClasses - 1));
      y_.push_back(label == 3 ? 4 : label);
    }
    write();
  }

  void write() const {
    write_npy(folder_ / "x.npy", x_, kDim);
    write_npy(folder_ / "y.npy", y_);
  }

  ReleaseRequest request(double alpha) const {
    return entry_.request({.classes = kClasses, .dim = kDim, .alpha = alpha}, 1.0);
  }

  WorkerRows open_rows() const { return WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1); }

  Statistic statistic(std::size_t memory, double alpha = 1.0) const {
    WorkerRows rows = open_rows();
    const StreamPlan plan{kClasses, BadRows::kFail, memory, 1};
    return entry_.compute(request(alpha), {{rows, transform_, plan, kUnwatched}});
  }

  // Of these rows, in that order of classes.
  ClassGrams grams(WorkerRows& rows, const std::vector<std::size_t>& order) const {
    return {request(1.0), {{rows, transform_, plan_, kUnwatched}}, hasher_, order};
  }

  const StatisticEntry& entry_ = registered_statistic("class_least_squares");
  TemporaryFolder folder_;
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
  const RowTransform transform_{
      {.input_dim = kDim, .pool = 1, .normalize = Normalize::kL2, .clip_norm = 1.0, .center = {}, .intercept = 0.0}};
  const StreamPlan plan_{kClasses, BadRows::kFail, kAmple, 1};
  const RowHasher hasher_{std::array<std::byte, 32>{}, kDim};
};

// Every block by its definition, row by row.
TEST_F(ClassGramsTest, AreSumsOverTheRowsOfTheirClass) {
  const Statistic found = statistic(kAmple);
  Statistic expected = empty_statistic(request(1.0));
  const std::size_t elements = triangle_elements(kDim);
  std::vector<double> u(kDim);
  std::vector<std::int16_t> q(kDim);
  for (std::size_t row = 0; row < kRows; ++row) {
    transform_(std::span(x_).subspan(row * kDim, kDim), u);
    quantize_row(u, {1.0, kDim}, q);
    const auto label = static_cast<std::size_t>(y_[row]);
    for (std::size_t i = 0; i < kDim; ++i) {
      expected.block(2)[label * kDim + i] += q[i];
      for (std::size_t j = i; j < kDim; ++j) {
        const std::int64_t product = std::int64_t{q[i]} * q[j];
        expected.block(0)[label * elements + triangle_row(i, kDim) + j - i] += product;
        expected.block(1)[triangle_row(i, kDim) + j - i] += product;
      }
    }
  }
  for (std::size_t block = 0; block < 3; ++block) {
    EXPECT_TRUE(std::ranges::equal(found.block(block), expected.block(block))) << block;
  }
}

// 300 bytes hold 13 rows of a batch: classes of about 20 rows are streamed, two rows at a time.
TEST_F(ClassGramsTest, AreTheSameWithAnyMemoryAndWithoutAlphaThereIsNoGramOfAllRows) {
  const Statistic expected = statistic(kAmple);
  for (const std::size_t memory : {300, 600, 900, 2000, 4000}) {
    EXPECT_TRUE(std::ranges::equal(statistic(memory).words(), expected.words())) << memory;
  }
  const Statistic some = statistic(kAmple, 0.0);
  ASSERT_EQ(some.shape().size(), 2U);
  EXPECT_TRUE(std::ranges::equal(some.block(0), expected.block(0)));
  EXPECT_TRUE(std::ranges::equal(some.block(1), expected.block(2)));
}

TEST_F(ClassGramsTest, RowsThatChangeBetweenPassesAreRefused) {
  std::vector<std::int64_t> triangle(triangle_elements(kDim));
  for (const bool is_label : {false, true}) {
    WorkerRows rows = open_rows();
    ClassGrams changed = grams(rows, {0, 1, 2, 3, 4});
    if (is_label) y_[20] = (y_[20] + 1) % 3;
    if (!is_label) x_[20 * kDim] += 1.0F;
    write();
    EXPECT_THROW(for (std::size_t j = 0; j < kClasses; ++j) changed.next(triangle), BadInput);
  }
}

TEST_F(ClassGramsTest, EveryClassComesOnce) {
  WorkerRows rows = open_rows();
  ClassGrams once = grams(rows, {4, 2, 0, 3, 1});
  std::vector<std::int64_t> triangle(triangle_elements(kDim));
  for (std::size_t j = 0; j < kClasses; ++j) once.next(triangle);
  EXPECT_THROW(once.next(triangle), std::logic_error);
}

}  // namespace dpreduce::class_grams_test
