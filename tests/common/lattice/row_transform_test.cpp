#include "dpreduce/lattice/row_transform.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

Preprocessing preprocessing(std::size_t input_dim, Normalize normalize, double clip_norm) {
  return {.input_dim = input_dim, .pool = 1, .normalize = normalize, .clip_norm = clip_norm, .center = {}};
}

std::vector<double> apply(const Preprocessing& p, std::vector<float> row) {
  const RowTransform transform(p);
  std::vector<double> out(transform.output_dim());
  EXPECT_TRUE(transform(row, out));
  return out;
}

double norm(const std::vector<double>& v) {
  return std::sqrt(squared_norm(v));
}

TEST(RowTransform, L2ScalesEveryRowToTheClipNorm) {
  EXPECT_EQ(apply(preprocessing(2, Normalize::kL2, 1.0), {3.0F, 4.0F}), (std::vector<double>{0.6000000000000001, 0.8}));
  EXPECT_DOUBLE_EQ(norm(apply(preprocessing(3, Normalize::kL2, 2.5), {1e-30F, 2e-30F, 0.0F})), 2.5);
}

TEST(RowTransform, NoneClipsOnlyLongerRows) {
  EXPECT_EQ(apply(preprocessing(2, Normalize::kNone, 10.0), {3.0F, 4.0F}), (std::vector<double>{3.0, 4.0}));
  EXPECT_DOUBLE_EQ(norm(apply(preprocessing(2, Normalize::kNone, 2.0), {3.0F, 4.0F})), 2.0);
}

TEST(RowTransform, ZeroRowStaysZero) {
  EXPECT_EQ(apply(preprocessing(3, Normalize::kL2, 1.0), {0.0F, -0.0F, 0.0F}), (std::vector<double>{0.0, 0.0, 0.0}));
}

TEST(RowTransform, LargestFloatsDoNotOverflow) {
  const float huge = std::numeric_limits<float>::max();
  EXPECT_DOUBLE_EQ(norm(apply(preprocessing(4, Normalize::kL2, 1.0), {huge, -huge, huge, huge})), 1.0);
}

TEST(RowTransform, PoolAveragesGroupsAndTheShorterLastOne) {
  Preprocessing p = preprocessing(5, Normalize::kNone, 100.0);
  p.pool = 2;
  EXPECT_EQ(p.dim(), 3U);
  EXPECT_EQ(apply(p, {1.0F, 3.0F, 5.0F, 5.0F, 7.0F}), (std::vector<double>{2.0, 5.0, 7.0}));
}

TEST(RowTransform, CentredRowsAreNormalisedAgain) {
  Preprocessing p = preprocessing(2, Normalize::kL2, 1.0);
  p.center = {0.5, 0.0};
  const std::vector<double> out = apply(p, {1.0F, 0.0F});
  EXPECT_EQ(out, (std::vector<double>{1.0, 0.0}));
  p.center = {1.0, 0.0};
  EXPECT_EQ(apply(p, {5.0F, 0.0F}), (std::vector<double>{0.0, 0.0})) << "a row at the centre stays zero";
}

TEST(RowTransform, CentredRowsAreClippedAgainWithoutNormalisation) {
  Preprocessing p = preprocessing(2, Normalize::kNone, 1.0);
  p.center = {-0.9, 0.0};
  EXPECT_DOUBLE_EQ(norm(apply(p, {0.9F, 0.0F})), 1.0);
}

TEST(RowTransform, NonFiniteRowsAreRefusedAndZeroed) {
  const RowTransform transform(preprocessing(11, Normalize::kL2, 1.0));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (std::size_t a = 0; a < 11; ++a) {
      std::vector<float> row(11, 1.0F);
      row[a] = bad;
      std::vector<double> out(11, 7.0);
      EXPECT_FALSE(transform(row, out));
      EXPECT_EQ(out, std::vector<double>(11, 0.0));
    }
  }
}

TEST(RowTransform, RefusesConstantsOutOfRange) {
  EXPECT_THROW(RowTransform(preprocessing(0, Normalize::kL2, 1.0)), UsageError);
  for (const double clip_norm :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(RowTransform(preprocessing(3, Normalize::kL2, clip_norm)), UsageError);
  }
  Preprocessing p = preprocessing(3, Normalize::kL2, 1.0);
  p.pool = 0;
  EXPECT_THROW(RowTransform{p}, UsageError);
  p.pool = 4;
  EXPECT_THROW(RowTransform{p}, UsageError);
  p.pool = 1;
  p.center = {0.0, 0.0};
  EXPECT_THROW(RowTransform{p}, UsageError);
}

TEST(SquaredNorm, SumsEveryEntryOnceForEveryLength) {
  std::vector<double> v;
  double expected = 0.0;
  for (int length = 0; length < 40; ++length) {
    EXPECT_EQ(squared_norm(v), expected);
    v.push_back(length + 1);
    expected += (length + 1.0) * (length + 1.0);
  }
}

}  // namespace
}  // namespace dpreduce
