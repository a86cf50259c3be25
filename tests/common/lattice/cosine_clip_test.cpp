#include "common/lattice/cosine_clip.hpp"

#include "common/base/error.hpp"
#include "tests/testing.hpp"

namespace dpreduce::cosine_clip_test {

constexpr std::int64_t kSquaredNorm = kLatticeNorm * kLatticeNorm;

TEST(CosineClip, IsRoundedToTheLattice) {
  const CosineClip clip = cosine_clip(0.5, 1.25);
  EXPECT_EQ(clip.lower, (kSquaredNorm + 1) / 2);
  EXPECT_NEAR(static_cast<double>(clip.upper), 1.25 * static_cast<double>(kSquaredNorm), 0.5);
  EXPECT_EQ(clip.range(), static_cast<std::uint64_t>(clip.upper - clip.lower));
}

TEST(CosineClip, IsActiveUnlessItLetsEverythingThrough) {
  EXPECT_FALSE(CosineClip{}.is_active());
  EXPECT_FALSE(cosine_clip(0, 2).is_active());
  EXPECT_EQ(cosine_clip(0, 2).range(), static_cast<std::uint64_t>(2 * kSquaredNorm));
  EXPECT_TRUE(cosine_clip(0.1, 2).is_active());
  EXPECT_TRUE(cosine_clip(0, 1.9).is_active());
}

TEST(CosineClip, RefusesBoundsThatBoundNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(cosine_clip(-0.1, 1), UsageError);
  EXPECT_THROW(cosine_clip(0, 2.1), UsageError);
  EXPECT_THROW(cosine_clip(1, 1), UsageError);
  EXPECT_THROW(cosine_clip(1.5, 1), UsageError);
  EXPECT_THROW(cosine_clip(1, 1 + 1e-12), UsageError);  // apart, but not on the lattice
  EXPECT_THROW(cosine_clip(nan, 1), UsageError);
  EXPECT_THROW(cosine_clip(0, nan), UsageError);
}

}  // namespace dpreduce::cosine_clip_test
