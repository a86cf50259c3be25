// Chunks come in order, whole and once, whether one thread prepares them or another prepares the next meanwhile.
#include "worker/lattice_stream.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"

namespace dpreduce::lattice_stream_test {

constexpr std::size_t kRows = 500;
constexpr std::size_t kDim = 6;
constexpr std::size_t kClasses = 3;

class LatticeStreamTest : public testing::Test {
 protected:
  LatticeStreamTest() {
    std::mt19937 engine(1);
    x_ = normal_numbers<float>(engine, kRows * kDim);
    y_ = random_labels(engine, kRows, kClasses);
  }

  WorkerRows rows() const { return WorkerRows::in_memory(array_view(x_, kDim), array_view(y_), "x", "y"); }

  template <typename Visit>
  void pass(WorkerRows& stored, unsigned threads, const Visit& visit, const OnChunk& on_chunk = kUnwatched) const {
    for_each_lattice_chunk({stored, transform_, plan(threads), on_chunk}, visit);
  }

  // 60 rows a chunk.
  static StreamPlan plan(unsigned threads) {
    return {kClasses, BadRows::kFail, 60 * bytes_per_row(kDim, kDim, 1), threads};
  }

  static constexpr std::size_t kRowsOfChunk = 60;
  const RowTransform transform_{Preprocessing{.input_dim = kDim, .center = {}}};
  std::vector<float> x_;
  std::vector<std::int32_t> y_;
};

TEST_F(LatticeStreamTest, ThreadsDoNotMatterAndChunksAreVisitedOnThatOfTheCaller) {
  LatticeRows whole({1.0, kDim}, kRows);
  whole.assign(transform_, std::span<const float>(x_), y_, 1);
  const auto caller = std::this_thread::get_id();
  for (const unsigned threads : {1U, 2U, 5U}) {
    WorkerRows stored = rows();
    std::size_t first = 0;
    double done = 0.0;
    pass(
        stored, threads,
        [&](const LatticeRows& chunk) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          EXPECT_EQ(chunk.rows(), std::min(kRowsOfChunk, kRows - first));
          for (std::size_t row = 0; row < chunk.rows(); ++row) {
            EXPECT_TRUE(std::ranges::equal(chunk.row(row), whole.row(first + row)));
            EXPECT_EQ(chunk.labels()[row], y_[first + row]);
          }
          first += chunk.rows();
        },
        [&](double share) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          EXPECT_DOUBLE_EQ(share, static_cast<double>(first) / kRows);
          EXPECT_GT(share, done);
          done = share;
        });
    EXPECT_EQ(first, kRows);
    EXPECT_EQ(done, 1.0);
  }
}

TEST_F(LatticeStreamTest, KeptRowsAreThoseThatAreShownAlsoWhereTheyAreProjectedLater) {
  Preprocessing after = transform_.preprocessing();
  for (double entry = 0.0; entry < 2 * kDim; ++entry) after.projection.push_back(std::sin(1.0 + 3.0 * entry));
  const RowTransform projection(after);
  StreamPlan all = plan(2);
  all.memory_bytes =
      kMostRowsPerChunk * bytes_per_row(kDim, kDim + 1, 1) + kRows * bytes_per_kept_row(kDim + 1, 1, false);
  WorkerRows stored = rows();
  std::optional<KeptChunks> unprojected =
      keep_lattice_chunks({stored, transform_, all, kUnwatched}, KeptFor::kProjection);
  ASSERT_TRUE(unprojected);
  EXPECT_TRUE(unprojected->front().energies().of_rows.empty());
  const RowPass pass{stored, projection, all, kUnwatched};
  const KeptChunks projected = project_kept_chunks(std::move(*unprojected), pass);
  const std::optional<KeptChunks> read = keep_lattice_chunks(pass, KeptFor::kRounds);
  ASSERT_TRUE(read);
  std::size_t next = 0;
  for_each_lattice_chunk(pass, [&](const LatticeRows& chunk) {
    ASSERT_LT(next, projected.size());
    for (const LatticeRows& kept : {projected[next], (*read)[next]}) {
      ASSERT_EQ(kept.rows(), chunk.rows());
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        EXPECT_TRUE(std::ranges::equal(kept.row(row), chunk.row(row)));
        EXPECT_EQ(kept.labels()[row], chunk.labels()[row]);
      }
    }
    EXPECT_EQ(projected[next].energies().of_rows, (*read)[next].energies().of_rows);
    ++next;
  });
  EXPECT_EQ(next, projected.size());
  EXPECT_FALSE(keep_lattice_chunks({stored, transform_, plan(2), kUnwatched}, KeptFor::kRounds)) << "there is no room";
}

// A row that is not finite is refused all the same.
TEST_F(LatticeStreamTest, RowsOfLabelsThatAreNotListedCountNowhereWhereTheyAreTaken) {
  y_[7] = kClasses;
  y_[80] = -1;
  for (const unsigned threads : {1U, 2U}) {
    WorkerRows stored = rows();
    const auto read = [&] { pass(stored, threads, [](const LatticeRows&) {}); };
    EXPECT_THAT(read, ThrowsMessage<BadInput>(HasSubstr("row 7 has label 3")));
    stored.labels().set_unlisted_labels(UnlistedLabels::kTaken);
    std::size_t place = 0;
    pass(stored, threads, [&](const LatticeRows& chunk) {
      for (std::size_t row = 0; row < chunk.rows(); ++row, ++place) {
        const bool is_unlisted = place == 7 || place == 80;
        EXPECT_EQ(chunk.counts(row), !is_unlisted);
        EXPECT_EQ(chunk.squared_norm(row) == 0, is_unlisted);
        EXPECT_EQ(chunk.classes_of(row).empty(), is_unlisted);
      }
    });
    for (const std::size_t bad : {std::size_t{9}, std::size_t{80}}) {  // one of a class, one of none that is listed
      x_[bad * kDim] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_THAT(read, ThrowsMessage<BadInput>(HasSubstr("row " + std::to_string(bad))));
      x_[bad * kDim] = 1.0F;
    }
  }
}

// Though the third chunk is refused while the second is looked at.
TEST_F(LatticeStreamTest, ChunksBeforeABadRowAreVisited) {
  x_[2 * kRowsOfChunk * kDim + kDim + 1] = std::numeric_limits<float>::quiet_NaN();
  for (const unsigned threads : {1U, 2U}) {
    WorkerRows stored = rows();
    std::size_t visited = 0;
    const auto read = [&] { pass(stored, threads, [&](const LatticeRows& chunk) { visited += chunk.rows(); }); };
    EXPECT_THAT(read, ThrowsMessage<BadInput>(HasSubstr("row 121")));
    EXPECT_EQ(visited, 2 * kRowsOfChunk);
  }
}

TEST_F(LatticeStreamTest, WhoeverThrowsEndsThePass) {
  for (const unsigned threads : {1U, 2U}) {
    for (const bool visitor_throws : {false, true}) {
      WorkerRows stored = rows();
      std::size_t visits = 0;
      const auto third = [&](bool throws) {
        if (throws && visits == 3) throw std::runtime_error("enough");
      };
      const auto visit = [&](const LatticeRows&) {
        ++visits;
        third(visitor_throws);
      };
      EXPECT_THROW(pass(stored, threads, visit, [&](double) { third(!visitor_throws); }), std::runtime_error);
      EXPECT_EQ(visits, 3U);
    }
  }
}

// What is needed depends on no row.
TEST_F(LatticeStreamTest, ThereMustBeRoomForAsManyRowsAsAreClippedTogether) {
  for (const auto& [dim, together] : {std::pair<std::size_t, std::size_t>{kDim, 4096}, {2048, 2048}, {1 << 20, 256}}) {
    const Preprocessing preprocessing{.input_dim = dim, .center = {}};
    EXPECT_EQ(most_rows_clipped_together(dim), together);
    StreamPlan stated = plan(1);
    stated.memory_bytes = together * bytes_per_row(preprocessing);
    EXPECT_NO_THROW(require_room_for_units(preprocessing, stated));
    --stated.memory_bytes;
    EXPECT_THAT([&] { require_room_for_units(preprocessing, stated); },
                ThrowsMessage<UsageError>(HasSubstr("up to " + std::to_string(together) + " rows of a person")));
  }
}

}  // namespace dpreduce::lattice_stream_test
