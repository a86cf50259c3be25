#include "common/base/error.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/utilities.hpp"

namespace dpreduce::prototype_utilities_test {

constexpr std::size_t kClasses = 4;  // class 2 has no rows
constexpr std::size_t kDim = 12;
constexpr std::size_t kRows = 150;
constexpr std::size_t kCandidates = 61;
constexpr std::size_t kAmple = std::size_t{1} << 22;
constexpr std::int64_t kSquaredNorm = kLatticeNorm * kLatticeNorm;

struct Row {
  std::vector<float> x;
  std::int32_t y = 0;
};
using Rows = std::vector<Row>;

const std::vector<CosineClip> kClips{CosineClip{}, cosine_clip(0.9, 1.1), cosine_clip(1.2, 2), cosine_clip(0, 0.5)};

class PrototypeUtilities : public testing::Test {
 protected:
  PrototypeUtilities() {
    for (std::size_t row = 0; row < kRows; ++row) rows_.push_back(random_row());
    for (std::size_t row = 0; row < kCandidates; ++row) {
      const Row made = random_row();
      candidates_.insert(candidates_.end(), made.x.begin(), made.x.end());
    }
    write_npy(folder_ / "p.npy", candidates_, kDim);
  }

  Row random_row() {
    Row row{.x = {}, .y = static_cast<std::int32_t>(engine_() % (kClasses - 1))};
    if (row.y == 2) row.y = 3;
    row.x = normal_numbers<float>(engine_, kDim);
    const unsigned kind = engine_() % 5;  // some zero, some along an axis, so that products come near to -S^2 and S^2
    if (kind == 0) std::fill(row.x.begin(), row.x.end(), 0.0F);
    if (kind == 1) {
      std::fill(row.x.begin(), row.x.end(), 0.0F);
      row.x[0] = engine_() % 2 == 0 ? 3.0F : -0.1F;
    }
    return row;
  }

  using Utilities = std::vector<std::int64_t>;  // classes x candidates

  Utilities utilities(const Rows& rows, const CosineClip& clip, std::size_t memory = kAmple, unsigned threads = 1,
                      BadRows bad_rows = BadRows::kFail) const {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (const Row& row : rows) {
      x.insert(x.end(), row.x.begin(), row.x.end());
      y.push_back(row.y);
    }
    write_npy(folder_ / "x.npy", x, kDim);
    write_npy(folder_ / "y.npy", y);
    WorkerRows worker = written_rows();
    WorkerRows candidates = public_rows();
    const StreamPlan plan{kClasses, bad_rows, memory, threads};
    const Statistic statistic =
        prototype_utilities(prototype_selection(kClasses, kCandidates, 1, clip, 1.0), clip,
                            {{worker, transform_, plan, kUnwatched}}, {{candidates, transform_, plan, kUnwatched}});
    const auto block = statistic.block(statistic.index_of("utilities"));
    return {block.begin(), block.end()};
  }

  // Those of the last utilities.
  WorkerRows written_rows() const { return WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1); }
  WorkerRows public_rows() const { return WorkerRows::open({folder_ / "p.npy"}, {}, 0, 1); }

  std::vector<std::int16_t> lattice_row(const float* x) const {
    std::vector<double> u(kDim);
    EXPECT_TRUE(transform_({x, kDim}, u));
    std::vector<std::int16_t> q(kDim);
    EXPECT_TRUE(quantize_row(u, {2.0, kDim}, q));
    return q;
  }

  // By the definition, pair by pair; n_c S^2 is left out where nothing is clipped.
  Utilities by_definition(const CosineClip& clip) const {
    Utilities sums(kClasses * kCandidates, 0);
    for (const Row& row : rows_) {
      const std::vector<std::int16_t> q = lattice_row(row.x.data());
      for (std::size_t z = 0; z < kCandidates; ++z) {
        const std::vector<std::int16_t> p = lattice_row(candidates_.data() + z * kDim);
        std::int64_t product = 0;
        for (std::size_t a = 0; a < kDim; ++a) product += std::int64_t{q[a]} * p[a];
        const std::int64_t clipped = std::clamp(kSquaredNorm + product, clip.lower, clip.upper) - clip.lower;
        sums[static_cast<std::size_t>(row.y) * kCandidates + z] += clip.is_active() ? clipped : product;
      }
    }
    return sums;
  }

  const TemporaryFolder folder_;
  std::mt19937 engine_{17};
  Rows rows_;
  std::vector<float> candidates_;
  const RowTransform transform_{{.input_dim = kDim, .clip_norm = 2.0, .center = {}}};
  const StreamPlan plan_{kClasses, BadRows::kFail, kAmple, 1};
};

TEST_F(PrototypeUtilities, AreTheSumsOverPairsOfRowsWhateverMemoryAndThreads) {
  const std::size_t row_bytes = bytes_per_row(transform_.preprocessing());
  for (const CosineClip& clip : kClips) {
    const Utilities expected = by_definition(clip);
    for (const std::size_t memory : {4 * row_bytes, 40 * row_bytes, kAmple}) {
      for (const unsigned threads : {1U, 3U}) EXPECT_EQ(utilities(rows_, clip, memory, threads), expected);
    }
  }
}

// The longest class sums: equal rows along one axis, with digits beyond the first.
TEST_F(PrototypeUtilities, AreExactWhereClassSumsPassSixteenBits) {
  Row axis{std::vector<float>(kDim, 0.0F), 1};
  axis.x[0] = -1.0F;
  const std::size_t many = 70000;  // 70000 S > 65535^2 / 2: three digits
  const Utilities sums = utilities(Rows(many, axis), CosineClip{});
  const std::vector<std::int16_t> q = lattice_row(axis.x.data());
  for (std::size_t z = 0; z < kCandidates; ++z) {
    const std::int64_t product = std::int64_t{q[0]} * lattice_row(candidates_.data() + z * kDim)[0];
    EXPECT_EQ(sums[kCandidates + z], static_cast<std::int64_t>(many) * product);
  }
}

// What workers do that share the public rows: class sums first, then each its part.
TEST_F(PrototypeUtilities, ByClassSumsAreThoseOfEachPartOfThePublicRows) {
  const Utilities expected = utilities(rows_, CosineClip{});  // writes the rows, too
  WorkerRows worker = written_rows();
  WorkerRows candidates = public_rows();
  const SecretVector<std::int64_t> sums = exact_class_sums({{worker, transform_, plan_, kUnwatched}});
  for (const std::size_t workers : {std::size_t{1}, std::size_t{3}, kCandidates + 2}) {
    std::size_t candidates_seen = 0;
    for (std::size_t w = 0; w < workers; ++w) {
      candidates.keep_share(w, workers);
      const RowRange range = candidates.range();
      EXPECT_EQ(range.first, candidates_seen);
      const auto part = utilities_by_class_sums(sums, {{candidates, transform_, plan_, kUnwatched}});
      ASSERT_EQ(part.size(), kClasses * range.count);
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t z = 0; z < range.count; ++z) {
          EXPECT_EQ(part[c * range.count + z], expected[c * kCandidates + range.first + z]);
        }
      }
      candidates_seen += range.count;
    }
    EXPECT_EQ(candidates_seen, kCandidates);
  }
}

TEST_F(PrototypeUtilities, ClassSumsWhoseUtilitiesCouldWrapAreRefused) {
  WorkerRows candidates = public_rows();
  const auto utilities_of = [&](std::int64_t one, std::int64_t other) {
    SecretVector<std::int64_t> sums(kClasses * kDim, 0);
    sums[kDim] = one;
    sums[kDim + 1] = other;
    return utilities_by_class_sums(sums, {{candidates, transform_, plan_, kUnwatched}});
  };
  constexpr std::int64_t kTwoTo48 = std::int64_t{1} << 48;
  const std::vector<std::int16_t> q = lattice_row(candidates_.data());
  EXPECT_EQ(utilities_of(kTwoTo48 - 1, 0)[kCandidates], (kTwoTo48 - 1) * q[0]);
  for (const std::int64_t large : {kTwoTo48, -kTwoTo48, std::numeric_limits<std::int64_t>::min()}) {
    expect_bad_input([&] { utilities_of(large, 0); }, {"may not fit into 64 bits"});
  }
  expect_bad_input([&] { utilities_of(kTwoTo48 - 1, kTwoTo48 / 1000); }, {"may not fit into 64 bits"});
}

// One row more: nothing moves in other classes; in its own what it adds to any two candidates differs by at most the
// declared sensitivity, and comes near to it. Where pairs are clipped no utility falls.
TEST_F(PrototypeUtilities, AnotherRowMovesItsClassAloneAndNoFurtherThanDeclared) {
  for (const CosineClip& clip : kClips) {
    const Utilities fewer = utilities(rows_, clip);
    std::uint64_t widest = 0;
    for (int trial = 0; trial < 40; ++trial) {
      Rows neighbor = rows_;
      const Row row = random_row();
      neighbor.insert(neighbor.begin() + trial % 5, row);
      const Utilities more = utilities(neighbor, clip);
      Utilities rises;
      for (std::size_t e = 0; e < more.size(); ++e) {
        if (e / kCandidates == static_cast<std::size_t>(row.y)) {
          rises.push_back(more[e] - fewer[e]);
        } else {
          ASSERT_EQ(more[e], fewer[e]);
        }
      }
      const auto [least, most] = std::minmax_element(rises.begin(), rises.end());
      if (clip.is_active()) {
        EXPECT_GE(*least, 0);
      }
      const auto width = static_cast<std::uint64_t>(*most - *least);
      EXPECT_LE(width, prototype_selection(kClasses, kCandidates, 1, clip, 1.0).terms.sensitivity);
      widest = std::max(widest, width);
    }
    EXPECT_GE(static_cast<double>(widest), 0.99 * static_cast<double>(clip.range()));
  }
}

TEST_F(PrototypeUtilities, ARowThatCountsNowhereAddsNothingAndAloneAllAreZero) {
  Rows rows = rows_;
  rows.push_back(rows_.front());
  rows.back().x[3] = std::numeric_limits<float>::quiet_NaN();
  Row infinite = rows_.front();
  infinite.x[0] = std::numeric_limits<float>::infinity();
  for (const CosineClip& clip : kClips) {
    EXPECT_EQ(utilities(rows, clip, kAmple, 1, BadRows::kZero), utilities(rows_, clip));
    expect_bad_input([&] { utilities(rows, clip); }, {"x.npy: row 150", "not a finite number"});
    EXPECT_THAT(utilities({infinite}, clip, kAmple, 1, BadRows::kZero), testing::Each(0));
  }
}

TEST_F(PrototypeUtilities, APublicRowThatIsNoneIsNamed) {
  std::vector<float> features = candidates_;
  features[5 * kDim] = std::numeric_limits<float>::infinity();
  write_npy(folder_ / "p.npy", features, kDim);
  for (const CosineClip& clip : kClips) {
    expect_bad_input([&] { utilities(rows_, clip); }, {"p.npy: row 5", "not a finite number"});
  }
}

}  // namespace dpreduce::prototype_utilities_test
